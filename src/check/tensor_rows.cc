#include "check/tensor_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <variant>

#include "base/checked.h"

namespace stowage::check {
namespace {

class RowAxes {
 public:
  RowAxes(const Streamed& it, Faults& faults) : it_(it), faults_(faults), axes_(it.graph.tensors.size()) {}

  std::vector<TensorRows> run() {
    for (const Step& step : it_.plan.clocks[0].steps) note(step);
    for (TensorId t = 0; t < axes_.size(); ++t) {
      if (it_.matched[t] != nullptr) note_views(t, *it_.matched[t]);
    }
    const auto& steps = it_.plan.clocks[0].steps;
    // Rows go along the axis of the last readers; who reads along another axis reads all of the tensor.
    std::for_each(steps.rbegin(), steps.rend(), [&](const Step& step) { note_reads(step); });
    std::vector<TensorRows> rows;
    for (TensorId t = 0; t < axes_.size(); ++t) rows.push_back(rows_of(t));
    return rows;
  }

 private:
  void must_be(TensorId t, std::size_t axis) {
    if (!axes_[t]) axes_[t] = axis;
    if (axes_[t] == axis) return;
    faults_.push_back(
        {FaultKind::format,
         fmt::format("{} has rows along axis {} and along axis {}; this version understands one",
                     describe(it_.graph, t), *axes_[t], axis)});
  }

  void note(const Step& step) {
    if (const auto* const run = std::get_if<Run>(&step)) {
      const Operator* const op = operator_of(it_.graph, *run);
      if (op == nullptr || !run->rows || run->sums) return;
      for (const auto& output : op->outputs) {
        if (output) must_be(*output, run->rows->axis);
      }
    } else if (const auto* const arrive = std::get_if<Arrive>(&step)) {
      note_passage(it_.ids[arrive->tensor], arrive->rows);
    } else if (const auto* const leave = std::get_if<Leave>(&step)) {
      note_passage(it_.ids[leave->tensor], leave->rows);
    }
  }

  void note_passage(const std::optional<TensorId>& t, const std::optional<RowRange>& rows) {
    if (t && rows) must_be(*t, rows->axis);
  }

  void note_views(TensorId t, const PlannedTensor& tensor) {
    for (const View& view : tensor.views) {
      if (view.ring) must_be(t, view.ring->axis);
      if (view.rows) must_be(t, view.rows->axis);
    }
  }

  void note_reads(const Step& step) {
    const auto* const run = std::get_if<Run>(&step);
    const Operator* const op = run != nullptr ? operator_of(it_.graph, *run) : nullptr;
    if (op == nullptr || !run->rows) return;
    const auto may_be = [&](const std::optional<TensorId>& t, std::size_t axis) {
      if (t && !axes_[*t]) axes_[*t] = axis;
    };
    if (run->sums) {
      if (!op->inputs.empty()) may_be(op->inputs[0], run->rows->axis);
    } else if (const RowAxis* const along = row_axis(*op, run->rows->axis)) {
      for (const RowRead& read : along->reads) may_be(op->inputs[read.input], read.axis);
    }
  }

  TensorRows rows_of(TensorId t) {
    const Tensor& tensor = it_.graph.tensors[t];
    const TensorRows whole{.bytes = tensor.bytes};
    if (!axes_[t] || tensor.bytes == 0) return whole;
    if (!tensor.shape || *axes_[t] >= tensor.shape->size()) {
      fault(t, "which it does not have");
      return whole;
    }
    const auto bytes = bytes_of_row(tensor, *axes_[t]);
    if (!bytes) {
      fault(t, "which are no whole bytes");
      return whole;
    }
    std::int64_t outer = 1;
    for (std::size_t d = 0; d < *axes_[t]; ++d) outer *= (*tensor.shape)[d];
    const std::int64_t count = (*tensor.shape)[*axes_[t]];
    return {axes_[t], count, *bytes, count == 1 ? 1 : outer};
  }

  void fault(TensorId t, const std::string& what) {
    faults_.push_back({FaultKind::format, fmt::format("{} has rows along axis {}, {}", describe(it_.graph, t),
                                                      *axes_[t], what)});
  }

  const Streamed& it_;
  Faults& faults_;
  std::vector<std::optional<std::size_t>> axes_;
};

/// Where the rows begin that row r is made of.
std::int64_t first_row(const RowMap& map, std::int64_t r) {
  const std::int64_t dividend = map.scale * r + map.offset;
  return dividend / map.divisor - (dividend % map.divisor < 0 ? 1 : 0);
}

}  // namespace

std::vector<TensorRows> rows_of_tensors(const Streamed& it, Faults& faults) {
  return RowAxes(it, faults).run();
}

bool is_variable(const Tensor& tensor) {
  return !is_constant(tensor.kind) && tensor.kind != TensorKind::state && tensor.bytes > 0;
}

bool can_sum_up(const Operator& op, std::size_t axis) {
  return std::find(op.sums_over.begin(), op.sums_over.end(), axis) != op.sums_over.end();
}

const RowAxis* row_axis(const Operator& op, std::size_t axis) {
  const auto found = std::find_if(op.row_axes.begin(), op.row_axes.end(),
                                  [&](const RowAxis& along) { return along.axis == axis; });
  return found == op.row_axes.end() ? nullptr : &*found;
}

std::optional<std::int64_t> rows_to_run(const Graph& graph, const Operator& op, const Run& run) {
  const std::size_t axis = run.rows->axis;
  if (run.sums ? !can_sum_up(op, axis) || op.outputs.size() != 1 : row_axis(op, axis) == nullptr)
    return std::nullopt;
  const auto of = run.sums ? std::vector{op.inputs[0]} : op.outputs;
  std::optional<std::int64_t> extent;
  for (const auto& tensor : of) {
    if (!tensor) continue;
    const auto& shape = graph.tensors[*tensor].shape;
    if (!shape || axis >= shape->size() || extent.value_or((*shape)[axis]) != (*shape)[axis])
      return std::nullopt;
    extent = (*shape)[axis];
  }
  return extent;
}

const RowRead* row_read(const RowAxis& along, std::size_t input) {
  const auto found = std::find_if(along.reads.begin(), along.reads.end(),
                                  [&](const RowRead& read) { return read.input == input; });
  return found == along.reads.end() ? nullptr : &*found;
}

const Operator* operator_of(const Graph& graph, const Run& run) {
  const auto& operators = graph.subgraphs[0].operators;
  if (run.path.size() != 2 || run.path[0] != 0 || run.path[1] >= operators.size()) return nullptr;
  return &operators[run.path[1]];
}

std::optional<std::vector<Rows>> rows_read(const RowMap& map, std::int64_t count, const Rows& rows,
                                           std::int64_t& budget) {
  std::vector<Rows> read;
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    if (!read.empty() && read.back().first <= begin && begin <= read.back().second) {
      read.back().second = std::max(read.back().second, end);
    } else {
      read.emplace_back(begin, end);
    }
  };
  const bool is_window = map.dilation == 1 || map.taps == 1;
  if (is_window && map.taps >= (std::abs(map.scale) + map.divisor - 1) / map.divisor) {
    const auto [first, last] = std::minmax({first_row(map, rows.first), first_row(map, rows.second - 1)});
    const std::int64_t begin = std::max<std::int64_t>(first, 0);
    const std::int64_t end = std::min(last + map.taps, count);
    if (begin < end) add(begin, end);
    return read;
  }
  const auto work = base::checked_multiply(rows.second - rows.first, map.taps);
  if (!work || *work > budget) return std::nullopt;
  budget -= *work;
  for (std::int64_t r = rows.first; r < rows.second; ++r)
    for_each_row(map, count, r, [&](std::int64_t row) { add(row, row + 1); });
  std::sort(read.begin(), read.end());
  std::vector<Rows> sorted;
  std::swap(read, sorted);
  for (const Rows& it : sorted) add(it.first, it.second);
  return read;
}

}  // namespace stowage::check
