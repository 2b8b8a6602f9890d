#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::check {

/// A streamed plan and the network it is of.
struct Streamed {
  const Plan& plan;
  const Graph& graph;
  std::vector<const PlannedTensor*> matched;  ///< For each tensor of the graph.
  std::vector<std::optional<TensorId>> ids;   ///< For each tensor of the plan.
};

/// The rows that a streamed plan has of a tensor.
struct TensorRows {
  std::optional<std::size_t> axis{};  ///< What they are along; none: all of the tensor is one row.
  std::int64_t count = 1;
  Bytes bytes = 0;  ///< Of a row.
  std::int64_t outer =
      1;  ///< As many runs of bytes is a row where all of the tensor lies in row-major order.
};

/// The rows of every tensor: along the axis that its writer runs along, its rows arrive or leave along, or
/// its views are in rows along, all the same; else along that of the first who reads rows of it. Who reads
/// rows along another axis is taken to read all of it.
[[nodiscard]] std::vector<TensorRows> rows_of_tensors(const Streamed& it, Faults& faults);

/// Tensors that steps write and read: neither constants, nor state, nor without bytes.
[[nodiscard]] bool is_variable(const Tensor& tensor);

/// Whether the operator can sum up rows of its first input along that axis.
[[nodiscard]] bool can_sum_up(const Operator& op, std::size_t axis);

/// How the operator runs rows along that axis; null if it does not.
[[nodiscard]] const RowAxis* row_axis(const Operator& op, std::size_t axis);

/// How many rows the operator has that the step runs some of: of its outputs, or with sums of its first
/// input. None if it cannot run such rows.
[[nodiscard]] std::optional<std::int64_t> rows_to_run(const Graph& graph, const Operator& op, const Run& run);

/// What it reads by rows of an input; null: all of it.
[[nodiscard]] const RowRead* row_read(const RowAxis& along, std::size_t input);

/// The operator of a step, if it is one of the network's main subgraph.
[[nodiscard]] const Operator* operator_of(const Graph& graph, const Run& run);

/// Rows [begin, end) of a tensor.
using Rows = std::pair<std::int64_t, std::int64_t>;

/// The rows, of `count`, that rows [begin, end) are made of, in ascending order. None if that takes more than
/// `budget` single rows and taps, which it is less by then.
[[nodiscard]] std::optional<std::vector<Rows>> rows_read(const RowMap& map, std::int64_t count,
                                                         const Rows& rows, std::int64_t& budget);

}  // namespace stowage::check
