// An operator may put an output row in the place of an input row that it reads for the
// last time, if one of these holds:
//
//   - it computes each element from the same element of the input, and row r lies exactly where row r of the
//     input does, run of bytes by run of bytes;
//   - the output row repeats the input row unchanged (RowRead::kept_at), and already contains it in place:
//
//       input row          |a a a a|
//       output row       |0|a a a a|0|       first byte of the output's row + kept_at
//
//   - it runs as a whole, both tensors are whole and in one place, and either case holds for all elements.
//
// All other reads of that input by the operator must be of the same kind. The rows then live up to that step,
// not through it, and any remaining overlap is a fault. Two runs of rows that advance by the same number of
// bytes coincide everywhere or nowhere; any others coincide in one row at most. Cost: n log n in runs of
// rows.

#include "check/stream_updates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/checked.h"

namespace stowage::check {
namespace {

/// Places of a step's output rows, and of input rows that end with the step.
struct Pair {
  const TensorRows& out_rows;
  const TensorRows& in_rows;
  const PlacedRows& out;
  const PlacedRows& in;
};

/// True if the bytes of a row are consecutive.
bool is_one_run(const TensorRows& rows, const PlacedRows& placed) { return rows.bytes == placed.run; }

/// No rows.
Rows nothing() { return {0, 0}; }

class RowUpdates {
 public:
  RowUpdates(const Streamed& it, const std::vector<TensorRows>& rows, std::vector<PlacedRows>& placed)
      : it_(it), rows_(rows), placed_(placed), written_(rows.size()), read_(rows.size()) {
    for (std::size_t p = 0; p < placed.size(); ++p) {
      written_[placed[p].tensor].push_back(p);
      read_[placed[p].tensor].push_back(p);
    }
    const auto sort = [&](std::vector<std::vector<std::size_t>>& index, Position Lifetime::*end) {
      for (auto& of_tensor : index) {
        std::sort(of_tensor.begin(), of_tensor.end(), [&](std::size_t a, std::size_t b) {
          return std::tie(placed[a].life.*end, placed[a].rows) <
                 std::tie(placed[b].life.*end, placed[b].rows);
        });
      }
    };
    sort(written_, &Lifetime::lower);
    sort(read_, &Lifetime::upper);
  }

  /// Must be called in time order, because it changes where live ranges end.
  void update(const RowStep& step) {
    const Operator& op = it_.graph.subgraphs[0].operators[step.op];
    if (op.outputs.size() != 1 || !op.outputs[0]) return;
    std::vector<TensorId> inputs;
    for (const auto& input : op.inputs) {
      if (input && is_variable(it_.graph.tensors[*input])) inputs.push_back(*input);
    }
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    std::map<std::size_t, std::vector<std::size_t>> written;  // by buffer
    for (const std::size_t p : those(written_[*op.outputs[0]], &Lifetime::lower, step.at))
      written[placed_[p].view->buffer].push_back(p);
    for (const TensorId input : inputs) {
      for (const std::size_t p : those(read_[input], &Lifetime::upper, step.at + 1)) {
        const auto over = written.find(placed_[p].view->buffer);
        if (over != written.end() && placed_[p].life.lower < step.at) update(step, op, over->second, p);
      }
    }
  }

 private:
  /// The rows of a tensor whose live range begins, or ends, at that position, by their first row.
  [[nodiscard]] std::vector<std::size_t> those(const std::vector<std::size_t>& index, Position Lifetime::*end,
                                               Position at) const {
    const auto first =
        std::lower_bound(index.begin(), index.end(), at,
                         [&](std::size_t p, Position position) { return placed_[p].life.*end < position; });
    std::vector<std::size_t> found;
    for (auto it = first; it != index.end() && placed_[*it].life.*end == at; ++it) found.push_back(*it);
    return found;
  }

  void update(const RowStep& step, const Operator& op, const std::vector<std::size_t>& written,
              std::size_t p) {
    const PlacedRows& in = placed_[p];
    if (!step.axis && is_over_whole(op, pair_of(written[0], p))) {
      placed_[p].life.upper = step.at;
      return;
    }
    const std::int64_t ahead = rows_ahead(step, op, pair_of(written[0], p));
    const auto first = std::partition_point(written.begin(), written.end(), [&](std::size_t w) {
      return placed_[w].rows.second + ahead <= in.rows.first;
    });
    std::vector<Rows> over;
    for (auto w = first; w != written.end() && placed_[*w].rows.first + ahead < in.rows.second; ++w) {
      const Rows rows = rows_over(step, op, pair_of(*w, p));
      if (rows.first < rows.second) over.push_back(rows);
    }
    for (const Rows& rows : over) end_early(p, rows, step.at);
  }

  [[nodiscard]] Pair pair_of(std::size_t out, std::size_t in) const {
    return {rows_[placed_[out].tensor], rows_[placed_[in].tensor], placed_[out], placed_[in]};
  }

  /// How the operator reads its input i along its own axis; null: it reads the input whole.
  [[nodiscard]] const RowRead* read_of(const RowStep& step, const Operator& op, std::size_t i,
                                       const Pair& pair) const {
    const auto axis = step.axis ? step.axis : pair.out_rows.axis;
    const RowAxis* const along = axis ? row_axis(op, *axis) : nullptr;
    const RowRead* const read = along != nullptr ? row_read(*along, i) : nullptr;
    return read != nullptr && read->axis == pair.in_rows.axis ? read : nullptr;
  }

  /// Offset from an output row to the input row that it reads; 0 if no input has one.
  [[nodiscard]] std::int64_t rows_ahead(const RowStep& step, const Operator& op, const Pair& pair) const {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const RowRead* const read = op.inputs[i] == pair.in.tensor ? read_of(step, op, i, pair) : nullptr;
      if (read != nullptr) return read->rows.offset;
    }
    return 0;
  }

  /// The input rows that the output rows overwrite, as far as all reads of the input allow it.
  [[nodiscard]] Rows rows_over(const RowStep& step, const Operator& op, const Pair& pair) const {
    Rows rows = pair.in.rows;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] != pair.in.tensor) continue;
      const Rows allowed = rows_over(read_of(step, op, i, pair), op, i, pair);
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
    const auto runs = [](const PlacedRows& rows) {
      return std::tie(rows.step, rows.run, rows.stride, rows.outer);
    };
    return in_place_output(it_.graph, op, i) == pair.out.tensor &&
           pair.out_rows.bytes == pair.in_rows.bytes && runs(pair.out) == runs(pair.in);
  }

  [[nodiscard]] bool is_over_whole(const Operator& op, const Pair& pair) const {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == pair.in.tensor && !is_over_whole(op, i, pair)) return false;
    }
    return true;
  }

  [[nodiscard]] bool is_over_whole(const Operator& op, std::size_t i, const Pair& pair) const {
    const Tensor& in = it_.graph.tensors[pair.in.tensor];
    const Tensor& out = it_.graph.tensors[pair.out.tensor];
    if (!pair.in.is_whole() || !pair.out.is_whole() || pair.in.view->offset != pair.out.view->offset ||
        in.bytes != out.bytes)
      return false;
    if (in_place_output(it_.graph, op, i) == pair.out.tensor) return true;
    return std::any_of(op.row_axes.begin(), op.row_axes.end(), [&](const RowAxis& along) {
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
    const Bytes apart = pair.in.at(begin) - (pair.out.at(begin - ahead) + from);
    const Bytes wider = pair.out.step - pair.in.step;  // how far each further row closes the gap
    if (apart == 0 && (wider == 0 || end - begin == 1)) return {begin, end};
    if (wider == 0 || apart % wider != 0) return nothing();
    const std::int64_t row = begin + apart / wider;
    return row >= begin && row < end ? Rows{row, row + 1} : nothing();
  }

  /// Cuts the rows, and those before them, off the placed rows.
  void end_early(std::size_t p, const Rows& rows, Position at) {
    const PlacedRows all = placed_[p];
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      PlacedRows some = all;
      some.rows = {begin, end};
      some.first = all.at(begin);
      return some;
    };
    if (all.rows.first < rows.first) placed_.push_back(part(all.rows.first, rows.first));
    PlacedRows over = part(rows.first, rows.second);
    over.life.upper = at;
    placed_.push_back(over);
    placed_[p] = part(rows.second, all.rows.second);
  }

  const Streamed& it_;
  const std::vector<TensorRows>& rows_;
  std::vector<PlacedRows>& placed_;
  std::vector<std::vector<std::size_t>> written_;  ///< Per tensor: its rows, by write position.
  std::vector<std::vector<std::size_t>> read_;     ///< Per tensor: its rows, by last read position.
};

}  // namespace

void end_rows_written_over(const Streamed& it, const std::vector<TensorRows>& rows,
                           std::span<const RowStep> steps, std::vector<PlacedRows>& placed) {
  RowUpdates updates(it, rows, placed);
  for (const RowStep& step : steps) updates.update(step);
}

}  // namespace stowage::check
