// An operator may put an output row in the place of an input row that it reads for the last time, if one of
// these holds:
//
//   - it computes each element from the same element of the input, and row r lies exactly where row r of the
//     input does, run of bytes by run of bytes;
//   - the output row repeats the input row unchanged (RowRead::kept_at), and already contains it in place:
//
//       input row          |a a a a|
//       output row       |0|a a a a|0|       first byte of the output's row + kept_at
//
//   - it runs as a whole, both tensors are whole and in one place, and either case holds for all elements;
//   - the output is the new state, the input the old one, and the operator updates in place, or the new one begins
//     with the old one.
//
// In a plan of whole operators repeated bytes are content that two tensors may share (content.cc), so only the other
// cases count there.
//
// All other reads of that input by the operator must be of the same kind. The rows then live up to that step,
// not through it, and any remaining overlap is a fault. Two runs of rows that advance by the same number of
// bytes coincide everywhere or nowhere; any others coincide in one row at most. Cost: n log n in runs of
// rows.

#include "check/updates.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "check/views.h"

namespace stowage::check {
namespace {

/// Places of a task's output rows, and of input rows that end with it.
struct Pair {
  TensorRows out_rows;
  TensorRows in_rows;
  const KeptBytes& out;
  const KeptBytes& in;
};

/// True if the bytes of a row are consecutive.
bool is_one_run(const TensorRows& rows, const KeptBytes& placed) { return rows.bytes == placed.step; }

/// Whether both move alike with open extents, if they move.
bool move_alike(const KeptBytes& a, const KeptBytes& b) {
  return a.view == nullptr || b.view == nullptr || a.view->moves == b.view->moves;
}

/// No rows.
Rows nothing() { return {0, 0}; }

class Updates {
 public:
  Updates(const NetworkSteps& part, const model::ClockTree& tree, const Played& played, Needs& needs)
      : part_(part),
        tree_(tree),
        played_(played),
        graph_(*part.graph),
        placed_(needs.all),
        first_(needs.first) {
    for (std::size_t p = 0; p < placed_.size(); ++p) {
      lives_.push_back(placed_[p].life);
      by_write_.push_back(p);
      by_read_.push_back(p);
    }
    for (std::size_t t = 0; t + 1 < first_.size(); ++t) {
      sort(t, by_write_, &Lifetime::lower);
      sort(t, by_read_, &Lifetime::upper);
    }
  }

  /// Tasks on rows must come in time order, because needs are cut; whole operators in reverse order, because the view of
  /// an output may depend on the operator that writes over it.
  void update(const Task& task) {
    const auto& inputs = task.op->inputs;
    for (auto input = inputs.begin(); input != inputs.end(); ++input) {
      const bool is_new = std::find(inputs.begin(), input, *input) == input;
      if (*input && is_new && is_variable(graph_.tensors[**input])) update(task, **input);
    }
  }

 private:
  void sort(TensorId t, std::vector<std::size_t>& index, Position Lifetime::*end) const {
    const auto begin = index.begin() + static_cast<std::ptrdiff_t>(first_[t]);
    const auto behind = index.begin() + static_cast<std::ptrdiff_t>(first_[t + 1]);
    std::sort(begin, behind, [&](std::size_t a, std::size_t b) {
      return std::tie(placed_[a].life.*end, placed_[a].rows) <
             std::tie(placed_[b].life.*end, placed_[b].rows);
    });
  }

  void update(const Task& task, TensorId input) {
    std::span<const std::size_t> written;
    for (const std::size_t p : those(by_read_, input, &Lifetime::upper, task.at + 1)) {
      const KeptBytes& need = placed_[p];
      const bool is_there_before = need.is_given || need.handing == Handing::done;
      if (!need.may_end_early || (!is_there_before && need.life.lower >= task.at)) continue;
      if (written.empty()) {
        const auto output = output_over(*task.op, input);
        if (output) written = those(by_write_, *output, &Lifetime::lower, task.at);
        if (written.empty()) return;
      }
      if (need.has_other_views) prefer(written[0], placed_[p]);
      update(task, written, p);
    }
  }

  /// Where the tensor has several views, the one in the place of the output counts.
  void prefer(std::size_t output, KeptBytes& need) const {
    const KeptBytes& over = placed_[output];
    for (const View& view : part_.matched[need.tensor]->views) {
      if (view.buffer != over.buffer || view.offset != over.view->offset || view.moves != over.view->moves)
        continue;
      const std::size_t clock = part_.plan->buffers[view.buffer].clock;
      const auto life = life_on(clock, part_, played_, need, need.life.upper - 1, tree_);
      if (!life || life->lower < view.life.lower || view.life.upper < life->upper) continue;
      put_in_whole(view, part_.rows_of(need.tensor), need);
      return;
    }
  }

  /// The output that may take the place of the input.
  [[nodiscard]] std::optional<TensorId> output_over(const Operator& op, TensorId input) const {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const auto output = op.inputs[i] == input ? written_over(part_, op, i) : std::nullopt;
      if (output) return output;
    }
    return op.outputs.size() == 1 ? op.outputs[0] : std::nullopt;
  }

  /// The needs of a tensor that begin, or end, at that position, by their first row.
  [[nodiscard]] std::span<const std::size_t> those(const std::vector<std::size_t>& index, TensorId t,
                                                   Position Lifetime::*end, Position at) const {
    const auto begin = index.begin() + static_cast<std::ptrdiff_t>(first_[t]);
    const auto behind = index.begin() + static_cast<std::ptrdiff_t>(first_[t + 1]);
    const auto first = std::lower_bound(
        begin, behind, at, [&](std::size_t p, Position position) { return lives_[p].*end < position; });
    auto last = first;
    while (last != behind && lives_[*last].*end == at) ++last;
    return {first, last};
  }

  void update(const Task& task, std::span<const std::size_t> written, std::size_t p) {
    const KeptBytes& in = placed_[p];
    if (!axis_of(task) && is_over_whole(*task.op, pair_of(written[0], p))) {
      placed_[p].life.upper = task.at;
      placed_[p].is_written_over = true;
      return;
    }
    const std::int64_t ahead = rows_ahead(task, pair_of(written[0], p));
    const auto first = std::partition_point(written.begin(), written.end(), [&](std::size_t w) {
      return placed_[w].rows.second + ahead <= in.rows.first;
    });
    std::vector<Rows> over;
    for (auto w = first; w != written.end() && placed_[*w].rows.first + ahead < in.rows.second; ++w) {
      const bool is_near = placed_[*w].buffer == in.buffer && move_alike(placed_[*w], in);
      const Rows rows = is_near ? rows_over(task, pair_of(*w, p)) : nothing();
      if (rows.first < rows.second) over.push_back(rows);
    }
    for (const Rows& rows : over) end_early(p, rows, task.at);
  }

  [[nodiscard]] Pair pair_of(std::size_t out, std::size_t in) const {
    return {part_.rows_of(placed_[out].tensor), part_.rows_of(placed_[in].tensor), placed_[out], placed_[in]};
  }

  /// Axis of the rows that it runs; none: it runs as a whole.
  [[nodiscard]] std::optional<std::size_t> axis_of(const Task& task) const {
    const auto& rows = std::get<Run>(part_.step(task.at)).rows;
    return rows ? std::optional(rows->axis) : std::nullopt;
  }

  /// How the operator reads its input i along its own axis; null: it reads the input whole.
  [[nodiscard]] const RowRead* read_of(const Task& task, std::size_t i, const Pair& pair) const {
    const auto of_task = axis_of(task);
    const auto axis = of_task ? of_task : pair.out_rows.axis;
    const RowAxis* const along = axis ? row_axis(*task.op, *axis) : nullptr;
    const RowRead* const read = along != nullptr ? row_read(*along, i) : nullptr;
    return read != nullptr && read->axis == pair.in_rows.axis ? read : nullptr;
  }

  /// Offset from an output row to the input row that it reads; 0 if no input has one.
  [[nodiscard]] std::int64_t rows_ahead(const Task& task, const Pair& pair) const {
    for (std::size_t i = 0; i < task.op->inputs.size(); ++i) {
      const RowRead* const read = task.op->inputs[i] == pair.in.tensor ? read_of(task, i, pair) : nullptr;
      if (read != nullptr) return read->rows.offset;
    }
    return 0;
  }

  /// The input rows that the output rows overwrite, as far as all reads of the input allow it.
  [[nodiscard]] Rows rows_over(const Task& task, const Pair& pair) const {
    Rows rows = pair.in.rows;
    for (std::size_t i = 0; i < task.op->inputs.size(); ++i) {
      if (task.op->inputs[i] != pair.in.tensor) continue;
      const Rows allowed = rows_over(read_of(task, i, pair), *task.op, i, pair);
      rows = {std::max(rows.first, allowed.first), std::min(rows.second, allowed.second)};
    }
    return rows;
  }

  [[nodiscard]] Rows rows_over(const RowRead* read, const Operator& op, std::size_t i,
                               const Pair& pair) const {
    if (read == nullptr) return nothing();
    const Rows replaced =
        read->rows == RowMap{} && is_replaced(op, i, pair) ? coinciding(pair, 0, 0) : nothing();
    if (replaced.first < replaced.second || !read->kept_at) return replaced;
    const bool are_runs = is_one_run(pair.out_rows, pair.out) && is_one_run(pair.in_rows, pair.in);
    return are_runs ? coinciding(pair, read->rows.offset, *read->kept_at) : nothing();
  }

  /// True if it is replaced element by element, in runs of bytes of equal layout.
  [[nodiscard]] bool is_replaced(const Operator& op, std::size_t i, const Pair& pair) const {
    const std::int64_t outer = part_.outer_of(pair.in);
    const bool are_alike = pair.in.step == pair.out.step && outer == part_.outer_of(pair.out) &&
                           (outer == 1 || pair.in_rows.count == pair.out_rows.count);
    return are_alike && pair.out_rows.bytes == pair.in_rows.bytes &&
           written_over(part_, op, i) == pair.out.tensor;
  }

  [[nodiscard]] bool is_over_whole(const Operator& op, const Pair& pair) const {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == pair.in.tensor && !is_over_whole(op, i, pair)) return false;
    }
    return true;
  }

  [[nodiscard]] bool is_over_whole(const Operator& op, std::size_t i, const Pair& pair) const {
    const Tensor& in = graph_.tensors[pair.in.tensor];
    const Tensor& out = graph_.tensors[pair.out.tensor];
    if (!pair.in.is_in_whole_view || !pair.out.is_in_whole_view || pair.in.buffer != pair.out.buffer ||
        pair.in.view->offset != pair.out.view->offset || !move_alike(pair.in, pair.out))
      return false;
    if (written_over(part_, op, i) == pair.out.tensor) return true;
    return in.bytes == out.bytes && are_open_alike(in, out) &&
           std::any_of(op.row_axes.begin(), op.row_axes.end(), [&](const RowAxis& along) {
             const RowRead* const read = row_read(along, i);
             return read != nullptr && read->kept_at == 0 && read->rows == RowMap{} &&
                    shape_around(in, read->axis) == shape_around(out, along.axis);
           });
  }

  /// The number of elements before the axis, and its extent.
  static std::pair<std::optional<std::int64_t>, std::int64_t> shape_around(const Tensor& tensor,
                                                                           std::size_t axis) {
    std::optional<std::int64_t> outer = 1;
    for (std::size_t d = 0; d < axis && outer; ++d)
      outer = base::checked_multiply(*outer, (*tensor.shape)[d]);
    return {outer, (*tensor.shape)[axis]};
  }

  /// Input rows, each `ahead` of its output row, that begin `from` bytes after the start of the output row.
  static Rows coinciding(const Pair& pair, std::int64_t ahead, Bytes from) {
    const std::int64_t begin = std::max(pair.in.rows.first, pair.out.rows.first + ahead);
    const std::int64_t end = std::min(pair.in.rows.second, pair.out.rows.second + ahead);
    if (begin >= end) return nothing();
    const Bytes apart = pair.in.at_row(begin) - (pair.out.at_row(begin - ahead) + from);
    const Bytes wider = pair.out.step - pair.in.step;  // how far each further row closes the gap
    if (apart == 0 && (wider == 0 || end - begin == 1)) return {begin, end};
    if (wider == 0 || apart % wider != 0) return nothing();
    const std::int64_t row = begin + apart / wider;
    return row >= begin && row < end ? Rows{row, row + 1} : nothing();
  }

  /// Cuts the rows, and those before them, off the need.
  void end_early(std::size_t p, const Rows& rows, Position at) {
    const KeptBytes all = placed_[p];
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      KeptBytes some = all;
      some.rows = {begin, end};
      some.first = all.at_row(begin);
      return some;
    };
    if (all.rows.first < rows.first) placed_.push_back(part(all.rows.first, rows.first));
    KeptBytes over = part(rows.first, rows.second);
    over.life.upper = at;
    over.is_written_over = true;
    placed_.push_back(std::move(over));
    placed_[p] = part(rows.second, all.rows.second);
  }

  const NetworkSteps& part_;
  const model::ClockTree& tree_;
  const Played& played_;
  const Graph& graph_;
  AllKeptBytes& placed_;
  const std::vector<std::size_t>& first_;  ///< Of each tensor, in both indexes.
  std::vector<Lifetime> lives_;            ///< Of each need, before any update.
  std::vector<std::size_t> by_write_;      ///< Of each tensor: its needs, by write position.
  std::vector<std::size_t> by_read_;       ///< Of each tensor: its needs, by last read position.
};

}  // namespace

void end_written_over(const NetworkSteps& part, const model::ClockTree& tree, const Played& played,
                      Needs& needs) {
  Updates updates(part, tree, played, needs);
  const auto update = [&](const Task& task) { updates.update(task); };
  if (part.is_by_rows) {
    std::for_each(played.tasks.begin(), played.tasks.end(), update);
  } else {
    std::for_each(played.tasks.rbegin(), played.tasks.rend(), update);
  }
}

}  // namespace stowage::check
