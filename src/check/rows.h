#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::check {

struct NetworkSteps;

/// Rows [begin, end) of a tensor.
using Rows = std::pair<std::int64_t, std::int64_t>;

/// The rows of a tensor in a plan.
struct TensorRows {
  std::optional<std::size_t> axis{};  ///< Their axis; none: the whole tensor is one row.
  std::int64_t count = 1;
  Bytes bytes = 0;         ///< Bytes of a row.
  std::int64_t outer = 1;  ///< Number of runs of bytes of a row if the tensor is stored in row-major order.
};

/// The rows of every tensor; empty if the plan has none. They run along the axis along which its writer runs, its rows arrive, leave or are copied,
/// or its views have rows, which must agree; otherwise along the axis of the last reader of rows. Readers of
/// rows along another axis count as readers of the whole tensor.
[[nodiscard]] std::vector<TensorRows> rows_of_tensors(const NetworkSteps& part, Faults& faults);

/// True for tensors that steps write and read: not constants, state or tensors without bytes.
[[nodiscard]] bool is_variable(const Tensor& tensor);

/// The operator of a step; null if it is not in the network's main subgraph.
[[nodiscard]] const Operator* operator_of(const Graph& graph, const Run& run);

/// The fault in a step by itself, whatever runs before: the network lacks the operator, input, output or
/// rows. None if it is correct.
[[nodiscard]] std::optional<Fault> fault_in_step(const NetworkSteps& part, Position at);

/// The number of rows of the operator in a step: rows of its outputs or, with sums, of its first input. None
/// if it cannot run such rows.
[[nodiscard]] std::optional<std::int64_t> rows_to_run(const Graph& graph, const Operator& op, const Run& run);

/// True if the step computes rows with a buffer that the operator carries from row to row.
[[nodiscard]] bool is_carried_step(const Operator& op, const Run& run);

/// The rows, of `count`, from which rows [begin, end) are computed, in ascending order. Subtracts single rows
/// and taps from `budget`; none if it is exceeded.
[[nodiscard]] std::optional<std::vector<Rows>> rows_read(const RowMap& map, std::int64_t count,
                                                         const Rows& rows, std::int64_t& budget);

/// How an output that bodies make gets its value.
enum class Handing : std::uint8_t {
  none,     ///< It is no such output, or it is not known which tensor of a body it is.
  by_body,  ///< A body hands it over behind the step at `life.lower`.
  done      ///< The bodies have run: it is there before the step at `life.lower`.
};

/// Rows of a tensor that are written, and read for the last time, in the same steps.
struct RowLife {
  Rows rows{};
  Lifetime life{};
  bool is_given = false;  ///< By the caller, before the step at `life.lower`.
  Handing handing = Handing::none;
  bool is_read = false;
  bool is_last = false;  ///< Present when the steps end.
  /// The last step that reads them, if it may write over them; before `take`, the last that may, even if others
  /// read them later.
  std::optional<Position> written_over{};

  bool operator==(const RowLife&) const = default;
};

/// The present rows of a tensor, with their live ranges.
class PresentRows {
 public:
  /// Ends the live ranges of these rows.
  void end(const Rows& rows);

  /// Begins a live range of these rows; rows already present are ended first.
  void write(const Rows& rows, const Lifetime& life, bool is_given = false, Handing handing = Handing::none);

  /// A read by an operator that may write over the rows while it reads them.
  struct MayWriteOver {
    Position at = 0;
  };
  using Until = std::variant<Position, MayWriteOver>;

  /// Extends their live ranges. Returns the first row that is not present, if any.
  std::optional<std::int64_t> read(const Rows& rows, Until until);

  /// Extends live ranges of those that are present and were written up to that position.
  void keep(Position until, Position written_until);

  /// Removes and returns all live ranges, in time order, merged as far as possible.
  [[nodiscard]] std::vector<RowLife> take();

 private:
  void cut(std::int64_t row);

  std::map<std::int64_t, RowLife> entries_;  ///< By their first row.
  std::vector<RowLife> past_;
};

/// Rows of an output that are accumulated, from the first part to the last.
struct AddedRows {
  RowRange rows{};
  Position since = 0;
  std::vector<Rows> missing{};  ///< Rows of the input, ascending.
  std::int64_t next = 0;        ///< Lower rows of the input were in a part.

  /// True if a part begins with the first missing row and repeats no row.
  [[nodiscard]] bool is_next(const Rows& part) const;

  /// Removes and returns the missing rows up to the end of the part.
  [[nodiscard]] std::vector<Rows> take(const Rows& part);
};

}  // namespace stowage::check
