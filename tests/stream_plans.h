/// Networks over rows, and naive streamed plans for them. Example:
///
///     oracle::Choices choices(17);
///     const Graph graph = random_row_graph(choices);
///     const Plan plan = naive_stream_plan(graph, choices);
///     EXPECT_TRUE(check_plan(plan, {&graph, 1}).empty());
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/random_graph.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::cases {

/// A network written down operator by operator. All elements are bytes.
class RowSketch {
 public:
  Graph graph{};

  RowSketch();
  TensorId input(const std::string& name, const Shape& shape);
  /// An operator of that type; its one output has the operator's name in small letters and a number.
  Operator& add(const std::string& type, const std::vector<TensorId>& inputs, const Shape& output);
  [[nodiscard]] TensorId last() const { return graph.tensors.size() - 1; }
  [[nodiscard]] const Shape& shape(TensorId t) const { return *graph.tensors[t].shape; }
  /// Tensors that nobody reads are the network's outputs.
  void finish();

  /// Row r of the output is made of row r of every input.
  TensorId elementwise(const std::string& type, const std::vector<TensorId>& inputs, std::size_t axis);
  /// Windows of rows.
  TensorId convolve(TensorId input, std::size_t axis, std::int64_t rows, const RowMap& map);
  /// Rows of zeros in front and behind, and elements in front of and behind every row.
  TensorId pad(TensorId input, std::size_t axis, std::int64_t rows, std::int64_t elements);
  /// A first dimension of one is added, or taken away.
  TensorId reshape(TensorId input, std::size_t axis);
  /// One row of sums, over all rows along the axis.
  TensorId pool(TensorId input, std::size_t axis);
};

/// A few operators of any kind.
[[nodiscard]] Graph random_row_graph(oracle::Choices& choices);

/// Steps of a few rows in some order that works, and every tensor somewhere: whole, in a ring, or in views of
/// a few rows; some rows run again, some written over the rows they are made of, where that may be right.
/// Mostly right, but not always.
[[nodiscard]] Plan naive_stream_plan(const Graph& graph, oracle::Choices& choices);

}  // namespace stowage::cases
