// Rows in a plan and its network: the axis of each tensor's rows, the rows that a step runs and reads, and the rows
// present at a time.

#include "check/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "check/replay.h"

namespace stowage::check {
namespace {

class RowAxes {
 public:
  RowAxes(const NetworkSteps& part, Faults& faults)
      : part_(part), graph_(*part.graph), faults_(faults), axes_(graph_.tensors.size()) {}

  std::vector<TensorRows> run() {
    for (const Step& step : part_.steps()) note(step);
    for (TensorId t = 0; t < axes_.size(); ++t) {
      if (part_.matched[t] != nullptr) note_views(t, *part_.matched[t]);
    }
    const auto steps = part_.steps();
    // Rows run along the axis of the last readers; a reader along another axis reads the whole tensor.
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
                     describe(graph_, t), *axes_[t], axis)});
  }

  void note(const Step& step) {
    if (const auto* const run = std::get_if<Run>(&step)) {
      const Operator* const op = operator_of(graph_, *run);
      if (op == nullptr || !run->rows || run->sums) return;
      const bool is_carried = is_carried_step(*op, *run);
      for (const auto& output : op->outputs) {
        if (output && (!is_carried || output == op->outputs[0])) must_be(*output, run->rows->axis);
      }
    } else if (const auto* const arrive = std::get_if<Arrive>(&step)) {
      note_passage(part_.id_of(arrive->tensor), arrive->rows);
    } else if (const auto* const leave = std::get_if<Leave>(&step)) {
      note_passage(part_.id_of(leave->tensor), leave->rows);
    } else if (const auto* const copy = std::get_if<Copy>(&step)) {
      note_passage(part_.id_of(copy->tensor), copy->rows);
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
    const Operator* const op = run != nullptr ? operator_of(graph_, *run) : nullptr;
    if (op == nullptr || !run->rows) return;
    const auto may_be = [&](const std::optional<TensorId>& t, std::size_t axis) {
      if (t && !axes_[*t]) axes_[*t] = axis;
    };
    if (run->sums) {
      if (!op->inputs.empty()) may_be(op->inputs[0], run->rows->axis);
    } else if (is_carried_step(*op, *run)) {
      may_be(op->inputs[0], carried_axis(*op, run->rows->axis)->input_axis);
    } else if (const RowAxis* const along = row_axis(*op, run->rows->axis)) {
      for (const RowRead& read : along->reads) may_be(op->inputs[read.input], read.axis);
    }
  }

  TensorRows rows_of(TensorId t) {
    const Tensor& tensor = graph_.tensors[t];
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
    faults_.push_back({FaultKind::format,
                       fmt::format("{} has rows along axis {}, {}", describe(graph_, t), *axes_[t], what)});
  }

  const NetworkSteps& part_;
  const Graph& graph_;
  Faults& faults_;
  std::vector<std::optional<std::size_t>> axes_;
};

/// The fault in where a step has its sums, or the buffer that it carries.
std::optional<Fault> fault_in_carrying(const Graph& graph, const Operator& op, const Run& run, Position at) {
  const CarriedAxis* const along = carried_axis(op, run.rows->axis);
  const bool wants_carry = is_carried_step(op, run) && along->carried > 0;
  if (run.carry.has_value() == wants_carry) return std::nullopt;
  return Fault{
      FaultKind::accounting,
      fmt::format("step {} runs rows of {} along axis {} {} a buffer that it carries from row to row", at,
                  describe(graph, 0, run.path[1]), run.rows->axis,
                  wants_carry ? "and does not say where it has" : "and has")};
}

std::optional<Fault> fault_in_run(const Graph& graph, const Run& run, Position at) {
  if (run.path.size() > 2 && !run.rows) return std::nullopt;  // of a body
  const Operator* const op = operator_of(graph, run);
  if (op == nullptr) {
    return Fault{FaultKind::order,
                 fmt::format("step {} is not an operator of the network's main subgraph", at)};
  }
  const auto name = [&] { return describe(graph, 0, run.path[1]); };
  if (op->folded)
    return Fault{FaultKind::order, fmt::format("{} runs at step {} though it is folded", name(), at)};
  if (!run.rows) return std::nullopt;
  const RowRange& rows = *run.rows;
  const std::optional<std::int64_t> extent = rows_to_run(graph, *op, run);
  const RowAxis* const along = row_axis(*op, rows.axis);
  if (run.part && (!extent || run.sums || along == nullptr || !along->adds_rows ||
                   along->reads[0].axis != run.part->axis)) {
    return Fault{FaultKind::format,
                 fmt::format("step {} adds rows along axis {} for {}, which does not add rows along it", at,
                             run.part->axis, name())};
  }
  if (const auto fault = fault_in_carrying(graph, *op, run, at)) return fault;
  if (!extent && !run.sums && can_sum_up(*op, rows.axis)) {
    return Fault{FaultKind::accounting,
                 fmt::format("step {} sums up rows of {} but has no sums", at, name())};
  }
  if (!extent) {
    return Fault{FaultKind::format,
                 fmt::format("step {} runs rows of {} along axis {}, along which it cannot run by rows", at,
                             name(), rows.axis)};
  }
  if (rows.end > *extent) {
    return Fault{FaultKind::order, fmt::format("step {} runs rows {} to {} of {}, which has {}", at,
                                               rows.begin, rows.end, name(), *extent)};
  }
  return std::nullopt;
}

/// The fault in rows that arrive or leave.
std::optional<Fault> fault_in_passage(const NetworkSteps& part, std::size_t tensor,
                                      const std::vector<TensorId>& those, Position at,
                                      std::string_view what) {
  const auto t = part.id_of(tensor);
  if (!t) return std::nullopt;  // outside of the network, which is a fault of its own
  if (std::find(those.begin(), those.end(), *t) != those.end() && is_variable(part.graph->tensors[*t]))
    return std::nullopt;
  return Fault{FaultKind::order,
               fmt::format("step {}: rows of {} {} with bytes", at, describe(*part.graph, *t), what)};
}

}  // namespace

std::vector<TensorRows> rows_of_tensors(const NetworkSteps& part, Faults& faults) {
  return part.is_by_rows ? RowAxes(part, faults).run() : std::vector<TensorRows>();
}

bool is_variable(const Tensor& tensor) {
  return !is_constant(tensor.kind) && tensor.kind != TensorKind::state && tensor.bytes > 0;
}

bool is_carried_step(const Operator& op, const Run& run) {
  return run.rows && !run.sums && carried_axis(op, run.rows->axis) != nullptr;
}

std::optional<std::int64_t> rows_to_run(const Graph& graph, const Operator& op, const Run& run) {
  const std::size_t axis = run.rows->axis;
  const bool is_first_pass = run.sums && summed_first(op, axis) != nullptr;
  const bool is_carried = is_carried_step(op, run);
  const bool is_known = run.sums ? is_first_pass || (can_sum_up(op, axis) && op.outputs.size() == 1)
                                 : is_carried || row_axis(op, axis) != nullptr;
  if (!is_known) return std::nullopt;
  const auto of = run.sums ? std::vector{op.inputs[0]} : is_carried ? std::vector{op.outputs[0]} : op.outputs;
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

const Operator* operator_of(const Graph& graph, const Run& run) {
  const auto& operators = graph.subgraphs[0].operators;
  if (run.path.size() != 2 || run.path[0] != 0 || run.path[1] >= operators.size()) return nullptr;
  return &operators[run.path[1]];
}

std::optional<Fault> fault_in_step(const NetworkSteps& part, Position at) {
  const Step& step = part.step(at);
  if (const auto* const run = std::get_if<Run>(&step)) return fault_in_run(*part.graph, *run, at);
  const Subgraph& main = part.graph->subgraphs[0];
  if (const auto* const arrive = std::get_if<Arrive>(&step))
    return fault_in_passage(part, arrive->tensor, main.inputs, at, "arrive, which is not an input");
  if (const auto* const leave = std::get_if<Leave>(&step))
    return fault_in_passage(part, leave->tensor, main.outputs, at, "leave, which is not an output");
  return std::nullopt;
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

// Present rows. Rows that one step writes and one step reads last are one entry:
//
//   rows       0 . . 3 . . 6 . . 9
//   written    |  1  |  4  |  7  |
//   last read  |  5  |  8  |  8  |
//
// A step that reads rows 2 to 5 cuts the entries at 2 and at 5. A step that writes rows again ends the live
// ranges of the old rows. So the cost grows with the steps, not with the rows.

void PresentRows::end(const Rows& rows) {
  cut(rows.first);
  cut(rows.second);
  const auto begin = entries_.lower_bound(rows.first);
  const auto end = entries_.lower_bound(rows.second);
  for (auto it = begin; it != end; ++it) past_.push_back(it->second);
  entries_.erase(begin, end);
}

void PresentRows::write(const Rows& rows, const Lifetime& life, bool is_given, Handing handing) {
  end(rows);
  entries_.emplace(rows.first, RowLife{.rows = rows, .life = life, .is_given = is_given, .handing = handing});
}

std::optional<std::int64_t> PresentRows::read(const Rows& rows, Until until) {
  cut(rows.first);
  cut(rows.second);
  std::int64_t there = rows.first;
  std::optional<std::int64_t> missing;
  for (auto it = entries_.lower_bound(rows.first); it != entries_.end() && it->first < rows.second; ++it) {
    RowLife& entry = it->second;
    if (it->first > there && !missing) missing = there;
    there = entry.rows.second;
    entry.is_read = true;
    if (const auto* const over = std::get_if<MayWriteOver>(&until)) {
      entry.written_over = over->at;
    } else {
      entry.life.upper = std::max(entry.life.upper, std::get<Position>(until));
    }
  }
  if (!missing && there < rows.second) missing = there;
  return missing;
}

void PresentRows::keep(Position until, Position written_until) {
  for (auto& [row, entry] : entries_) {
    if (entry.life.lower <= written_until) entry.life.upper = std::max(entry.life.upper, until);
  }
}

std::vector<RowLife> PresentRows::take() {
  for (auto& [begin, entry] : entries_) {
    entry.is_last = true;
    past_.push_back(entry);
  }
  entries_.clear();
  std::sort(past_.begin(), past_.end(), [](const RowLife& a, const RowLife& b) {
    return std::tie(a.life.lower, a.life.upper, a.rows) < std::tie(b.life.lower, b.life.upper, b.rows);
  });
  std::size_t count = 0;
  for (const RowLife& it : past_) {
    RowLife* const last = count > 0 ? &past_[count - 1] : nullptr;
    RowLife alike = last != nullptr ? *last : it;
    alike.rows = it.rows;
    if (last != nullptr && last->rows.second == it.rows.first && alike == it) {
      last->rows.second = it.rows.second;
    } else {
      past_[count++] = it;
    }
  }
  past_.resize(count);
  return std::move(past_);
}

/// No entry contains rows on both sides of this row's start.
void PresentRows::cut(std::int64_t row) {
  auto it = entries_.lower_bound(row);
  if (it == entries_.begin()) return;
  --it;
  if (it->second.rows.second <= row) return;
  RowLife upper = it->second;
  upper.rows.first = row;
  it->second.rows.second = row;
  entries_.emplace(row, upper);
}

bool AddedRows::is_next(const Rows& part) const {
  return !missing.empty() && next <= part.first && part.first <= missing[0].first &&
         missing[0].first < part.second;
}

std::vector<Rows> AddedRows::take(const Rows& part) {
  std::vector<Rows> taken;
  std::vector<Rows> left;
  for (const auto& [first, last] : missing) {
    if (first < part.second) taken.emplace_back(first, std::min(last, part.second));
    if (part.second < last) left.emplace_back(std::max(first, part.second), last);
  }
  missing = std::move(left);
  next = part.second;
  return taken;
}

}  // namespace stowage::check
