#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

/// Streaming: operators run row by row, each as far as its inputs are written. Rows are freed after their
/// last reading.
namespace stowage::stream {

/// The rows of a tensor that an operator's row reads. A whole tensor has scale 0, offset 0, and as many taps
/// as rows.
struct Access {
  std::size_t tensor = 0;  ///< Index in RowModel::tensors.
  RowMap rows{};
  /// Of a tensor with recomputed rows: the rows that each iteration reads.
  std::vector<std::vector<std::int64_t>> listed{};
  /// If the tensor is computed again as a whole: for every so many rows of the operator.
  std::optional<std::int64_t> tile{};

  bool operator==(const Access&) const = default;
};

/// A tensor whose rows lie inside those of another, which is written over them: row r in row r + shift, from
/// byte `offset` of it on.
struct TakenOver {
  std::size_t tensor = 0;  ///< Index in RowModel::tensors.
  std::int64_t shift = 0;  ///< A multiple of the granule.
  Bytes offset = 0;
  bool by_rows = false;  ///< The bytes match if both are stored row by row, but not if both are whole.

  bool operator==(const TakenOver&) const = default;
};

/// Data that operators pass on. Its rows are along one axis; a row may be scattered in memory.
struct Tensor {
  std::string name{};
  std::int64_t rows = 1;
  Bytes bytes_per_row = 0;
  std::int64_t granule = 1;           ///< Rows that come and go together.
  bool stays = false;                 ///< Needed after the last operator: an output.
  bool leaves = false;                ///< The caller takes each row once it is written: an output.
  bool is_whole = false;              ///< Must be stored as a whole in row-major order.
  std::int64_t runs = 1;              ///< Runs of bytes in a row, in row-major order.
  std::optional<std::size_t> axis{};  ///< Of rows, in the source; none: it has no rows.
  /// The tensor that its operator writes over, row by row. That tensor does not stay. All its readers come
  /// before this operator, and read the same rows unless the tensor is there from the start.
  std::optional<TakenOver> takes_over{};
  /// If rows are recomputed: for each of the `rows` rows here, the row of the source.
  std::vector<std::int64_t> again{};
  /// If it is recomputed as a whole: how often. Rows of one copy follow each other.
  std::int64_t copies = 1;
  std::optional<TensorId> source{};  ///< None: what bodies of an operator need while it runs.

  bool operator==(const Tensor&) const = default;
};

/// When an operator's outputs are written: each row with its own row, or all with the last one.
enum class Writing : std::uint8_t { row_by_row, at_the_end };

/// What an operator over rows keeps in its accumulator.
enum class Carrying : std::uint8_t {
  sums,  ///< Unfinished sums of an output, complete after its last iteration. Without accumulator: nothing.
  first_pass,   ///< The sums of all rows, for the second pass.
  second_pass,  ///< Nothing of its own: it uses the sums of the first pass.
  state         ///< What each of its rows leaves for the next one.
};

/// An operator over rows. Iteration i runs rows [i * granule, (i + 1) * granule), as far as they exist; one that
/// runs backward begins with its last rows. Iterations of one operator run in ascending order.
struct Operator {
  std::string name{};
  std::int64_t rows = 1;
  std::int64_t granule = 1;
  std::vector<Access> reads{};
  std::vector<std::size_t> after{};   ///< Operators that end before it begins.
  std::vector<std::size_t> writes{};  ///< Tensors; if written row by row, with as many rows.
  Writing writing = Writing::row_by_row;
  std::int64_t multiplies = 0;  ///< Of all its rows.
  bool runs_once = false;       ///< Its multiplies are unknown, so its rows are never computed again.
  /// If rows are recomputed: the row that each iteration computes, instead of all rows once.
  std::vector<std::int64_t> again{};
  /// Then, where rounds of iterations begin and end. The first of a round waits for what any of them reads,
  /// so that none of their rows waits in memory meanwhile.
  std::vector<std::size_t> rounds{};
  std::int64_t together = 1;  ///< Readers wait for whole rounds of so many of its granules.
  bool can_add_rows = false;  ///< Rows of its only read can be added to its rows one by one.
  /// The iterations of a round add up one granule of its output, each from one recomputed row.
  bool adds_rows = false;
  /// Indices in `reads` of rows that it may write over, if that is not decided.
  std::vector<std::size_t> may_overwrite{};
  Bytes accumulator =
      0;  ///< Held from the first iteration to the last; of a first pass, to the second's last.
  Carrying carrying = Carrying::sums;
  bool sums_one_row = false;            ///< It keeps the sums of a single iteration, too.
  std::size_t passed = 0;               ///< Of a second pass: the first one.
  bool backward = false;                ///< Its rows run from the last to the first.
  std::vector<std::size_t> ends{};      ///< Of `writes`, those that its last iteration writes, as a whole.
  std::vector<Step> inside{};           ///< Steps of its bodies, which follow its only iteration.
  std::optional<std::size_t> source{};  ///< Index in the subgraph; none: the arrival of an input.

  [[nodiscard]] std::int64_t instances() const { return (rows + granule - 1) / granule; }
  /// Sums of a single iteration are made and used up in it, unless a second pass needs them, or all lengths shall run
  /// alike.
  [[nodiscard]] bool keeps_accumulator() const {
    return accumulator > 0 && (instances() > 1 || carrying != Carrying::sums || sums_one_row);
  }
  [[nodiscard]] Writing writing_of(std::size_t tensor) const {
    return std::find(ends.begin(), ends.end(), tensor) == ends.end() ? writing : Writing::at_the_end;
  }
  /// Iterations that must run to write that many granules row by row, the first that it writes.
  [[nodiscard]] std::int64_t instances_for(std::int64_t granules) const {
    return adds_rows ? static_cast<std::int64_t>(rounds[static_cast<std::size_t>(granules)]) : granules;
  }
  /// The granule that an iteration writes row by row, or adds to.
  [[nodiscard]] std::int64_t granule_of(std::int64_t instance) const {
    if (backward) return instances() - 1 - instance;
    if (!adds_rows) return instance;
    const auto next = std::upper_bound(rounds.begin(), rounds.end(), static_cast<std::size_t>(instance));
    return next - rounds.begin() - 1;
  }
  bool operator==(const Operator&) const = default;
};

/// A network, ready to stream. At most one operator writes each tensor, and operators come after those that
/// they read from. Tensors without a writer are there from the start.
struct RowModel {
  std::vector<Tensor> tensors{};
  std::vector<Operator> operators{};
  std::int64_t row_reads = 0;  ///< About as many as its iterations have: rows that they read.
  bool has_too_many = false;   ///< An operator would read too many rows to unroll, and runs as a whole.
  /// Some iterations read a whole tensor here of which they need nothing: orders of fewer bytes than of this model may
  /// exist.
  bool reads_more = false;

  bool operator==(const RowModel&) const = default;
};

/// Calls `visit(row)` for every row of the tensor that an iteration of the operator reads; some come twice.
template <typename Visit>
void for_each_read(const RowModel& model, const Operator& op, const Access& access, std::int64_t instance,
                   Visit visit) {
  const Tensor& tensor = model.tensors[access.tensor];
  if (!access.listed.empty()) {
    for (const std::int64_t row : access.listed[static_cast<std::size_t>(instance)]) visit(row);
    return;
  }
  const std::int64_t begin = (op.backward ? op.granule_of(instance) : instance) * op.granule;
  const std::int64_t end = std::min(op.rows, begin + op.granule);
  if (access.tile) {
    const std::int64_t copy = begin / *access.tile * access.rows.taps;
    for (std::int64_t row = copy; row < copy + access.rows.taps; ++row) visit(row);
    return;
  }
  if (!tensor.again.empty()) {  // both are recomputed row by row
    for (std::int64_t r = begin; r < end; ++r) visit(r);
    return;
  }
  const std::int64_t different = access.rows.scale == 0 ? begin + 1 : end;  // all rows may read the same
  for (std::int64_t r = begin; r < different; ++r) {
    const std::int64_t row = op.again.empty() ? r : op.again[static_cast<std::size_t>(r)];
    for_each_row(access.rows, tensor.rows, row, visit);
  }
}

}  // namespace stowage::stream
