#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stowage/graph.h"

/// Streaming: operators run row by row, each as far as what it reads is there, and rows go as soon as they
/// are read for the last time.
namespace stowage::stream {

/// Which rows of a tensor an operator's row reads. All of a tensor is scale 0, offset 0, and as many taps as
/// it has rows.
struct Access {
  std::size_t tensor = 0;  ///< Index in RowModel::tensors.
  RowMap rows{};
  /// Of a tensor whose rows are computed again: those that each instance reads.
  std::vector<std::vector<std::int64_t>> listed{};

  bool operator==(const Access&) const = default;
};

/// A tensor whose rows lie inside those of another, which is written over them: row r in row r + shift, from
/// that byte of it on.
struct TakenOver {
  std::size_t tensor = 0;  ///< Index in RowModel::tensors.
  std::int64_t shift = 0;  ///< A multiple of the granule.
  Bytes offset = 0;
  bool by_rows = false;  ///< The bytes come back where both are stored row by row, not where both are whole.

  bool operator==(const TakenOver&) const = default;
};

/// Data that operators hand on. Its rows are along one axis; a row may be scattered in memory.
struct Tensor {
  std::string name{};
  std::int64_t rows = 1;
  Bytes bytes_per_row = 0;
  std::int64_t granule = 1;           ///< Rows that come to be and go together.
  bool stays = false;                 ///< Needed after the last operator: an output.
  bool leaves = false;                ///< The caller takes each row when it is there: an output.
  bool is_whole = false;              ///< Somebody wants all of it in row-major order.
  std::int64_t runs = 1;              ///< Of bytes that a row consists of in row-major order.
  std::optional<std::size_t> axis{};  ///< Of the source: what rows are along; none: it has no rows.
  /// What its operator writes over, row by row; that does not stay, and every operator that reads it reads
  /// the same rows and stands in front of this one.
  std::optional<TakenOver> takes_over{};
  /// Where rows are computed again: what rows of the source those are that stand here for `rows` rows.
  std::vector<std::int64_t> again{};
  std::optional<TensorId> source{};

  bool operator==(const Tensor&) const = default;
};

/// When an operator's outputs are there: each row with the row of the operator, or all with the last one.
enum class Writing : std::uint8_t { row_by_row, at_the_end };

/// An operator over rows, of which each of its instances runs some: [i * granule, (i + 1) * granule) as far
/// as there are any. Instances of one operator run in ascending order.
struct Operator {
  std::string name{};
  std::int64_t rows = 1;
  std::int64_t granule = 1;
  std::vector<Access> reads{};
  std::vector<std::size_t> after{};   ///< Operators that run before it, all of their instances.
  std::vector<std::size_t> writes{};  ///< Tensors, of as many rows if they are written row by row.
  Writing writing = Writing::row_by_row;
  std::int64_t multiplies = 0;  ///< Of all its rows.
  /// Where rows are computed again: the row that each of its instances computes, in place of all rows once.
  std::vector<std::int64_t> again{};
  /// Then, where the instances begin that belong together, and where they end: the first waits for what any
  /// of them reads, so that no row of theirs stands about meanwhile.
  std::vector<std::size_t> rounds{};
  bool can_add_rows = false;  ///< Rows of its only read can be added to its rows one by one.
  /// Instances of a round add up one granule of what it writes, each a row of what is computed again.
  bool adds_rows = false;
  /// Reads whose rows it may write over, where that is not decided: indices in `reads`.
  std::vector<std::size_t> may_overwrite{};
  Bytes accumulator = 0;  ///< Held from the first instance to the last: sums that are not there yet.
  std::optional<std::size_t> source{};  ///< Index in the subgraph; none: the arrival of an input.

  [[nodiscard]] std::int64_t instances() const { return (rows + granule - 1) / granule; }
  /// Instances that have run when a granule of what it writes row by row is there.
  [[nodiscard]] std::int64_t instances_for(std::int64_t granules) const {
    return adds_rows ? static_cast<std::int64_t>(rounds[static_cast<std::size_t>(granules)]) : granules;
  }
  /// The granule that an instance writes row by row, or adds to.
  [[nodiscard]] std::int64_t granule_of(std::int64_t instance) const {
    if (!adds_rows) return instance;
    const auto next = std::upper_bound(rounds.begin(), rounds.end(), static_cast<std::size_t>(instance));
    return next - rounds.begin() - 1;
  }
  bool operator==(const Operator&) const = default;
};

/// A network, ready to be streamed: each tensor is written by one operator at most, operators stand behind
/// those they read from. Tensors that none writes are there from the start.
struct RowModel {
  std::vector<Tensor> tensors{};
  std::vector<Operator> operators{};

  bool operator==(const RowModel&) const = default;
};

/// Calls `visit(row)` for every row of the tensor that an instance of the operator reads; some come twice.
template <typename Visit>
void for_each_read(const RowModel& model, const Operator& op, const Access& access, std::int64_t instance,
                   Visit visit) {
  const Tensor& tensor = model.tensors[access.tensor];
  if (!access.listed.empty()) {
    for (const std::int64_t row : access.listed[static_cast<std::size_t>(instance)]) visit(row);
    return;
  }
  if (!tensor.again.empty()) {  // both are computed again, row by row
    visit(instance);
    return;
  }
  const std::int64_t end = std::min(op.rows, (instance + 1) * op.granule);
  for (std::int64_t r = instance * op.granule; r < end; ++r) {
    const std::int64_t row = op.again.empty() ? r : op.again[static_cast<std::size_t>(r)];
    for_each_row(access.rows, tensor.rows, row, visit);
  }
}

}  // namespace stowage::stream
