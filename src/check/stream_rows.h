#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

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
  Bytes bytes = 0;         ///< Of a row.
  std::int64_t outer = 1;  ///< As many runs of bytes is a row where the whole tensor lies in row-major order.
};

/// The rows of every tensor: along the axis that its writer runs along, its rows arrive or leave along, or
/// its views are in rows along, all the same; else along that of the first who reads rows of it. Who reads
/// rows along another axis is taken to read all of it.
[[nodiscard]] std::vector<TensorRows> rows_of_tensors(const Streamed& it, Faults& faults);

/// Tensors that steps write and read: neither constants, nor state, nor without bytes.
[[nodiscard]] bool is_variable(const Tensor& tensor);

/// The operator of a step, if it is one of the network's main subgraph.
[[nodiscard]] const Operator* operator_of(const Graph& graph, const Run& run);

/// What is wrong with a step by itself, whatever runs before: the network has no such operator, input or
/// output, or not these rows of it. None: nothing.
[[nodiscard]] std::optional<Fault> fault_in_step(const Streamed& it, Position at);

/// How many rows the operator has that the step runs some of: of its outputs, or with sums of its first
/// input. None if it cannot run such rows.
[[nodiscard]] std::optional<std::int64_t> rows_to_run(const Graph& graph, const Operator& op, const Run& run);

/// Rows [begin, end) of a tensor.
using Rows = std::pair<std::int64_t, std::int64_t>;

/// The rows, of `count`, that rows [begin, end) are made of, in ascending order. None if that takes more than
/// `budget` single rows and taps, which it is less by then.
[[nodiscard]] std::optional<std::vector<Rows>> rows_read(const RowMap& map, std::int64_t count,
                                                         const Rows& rows, std::int64_t& budget);

/// Rows of a tensor that are written, and read for the last time, in the same steps. Rows that the caller
/// gives before the first step live from -1.
struct RowLife {
  Rows rows{};
  Lifetime life{};
};

/// The rows of a tensor that are there, since when and until when.
class PresentRows {
 public:
  /// What is there of these rows is over.
  void end(const Rows& rows);

  /// They begin a life; that of what is there of these rows is over.
  void write(const Rows& rows, const Lifetime& life);

  /// They live at least until then. Says the first of them that is not there, if any.
  std::optional<std::int64_t> read(const Rows& rows, Position until);

  /// All lives, in the order of time, and as few as say it.
  [[nodiscard]] std::vector<RowLife> take();

 private:
  struct Entry {
    std::int64_t end = 0;
    Lifetime life{};
  };

  void cut(std::int64_t row);

  std::map<std::int64_t, Entry> entries_;  ///< By their first row.
  std::vector<RowLife> past_;
};

/// Rows of an output that are added up, from the first part to the last.
struct AddedRows {
  RowRange rows{};
  Position since = 0;
  std::vector<Rows> missing{};  ///< Of the input, ascending.
  std::int64_t next = 0;        ///< Rows of the input before this one were in a part.

  /// Whether a part begins with the first row that is missing, and has none that was in a part.
  [[nodiscard]] bool is_next(const Rows& part) const;

  /// What was missing of the rows up to the end of the part.
  [[nodiscard]] std::vector<Rows> take(const Rows& part);
};

}  // namespace stowage::check
