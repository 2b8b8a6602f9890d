/// Networks over rows. Example:
///
///     RowSketch sketch;
///     const TensorId a = sketch.convolve(sketch.input("x", {4, 2}), 0, 4, {.offset = -1, .taps = 3});
///     sketch.pool(a, 0);
///     sketch.finish();
///     validate(sketch.graph);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/random_graph.h"
#include "stowage/graph.h"

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

}  // namespace stowage::cases
