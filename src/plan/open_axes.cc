// Which tensors depend on the size, along which axis, and which operators run behind the last row:
//
//     x [1, 4, n] -conv-> a [1, 8, n] -conv-> b [1, 8, n] -mean-> m [1, 8] -product-> y [1, 3]
//     open                open               open        sums up          tail
//
// A tensor is open along the axis whose extents differ between readings of the model; it must have one. Its rows must be
// along this axis, and no operator may need all of them at once. What is complete only with the last row, as a mean,
// is read by the tail alone; where an operator reads it for each row (a gate made of the mean), all rows would wait.
//
// Cost: about eight readings of the model; operators * operands.

#include "plan/open_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "plan/context.h"
#include "plan/row_placing.h"
#include "plan/row_rounds.h"
#include "stream/axes.h"
#include "stream/instances.h"

namespace stowage::plan {
namespace {

void note_open(const Graph& first, const Graph& other, TensorId t, std::set<std::size_t>& open) {
  const Shape& a = *first.tensors[t].shape;
  const auto& b = other.tensors[t].shape;
  if (!b || b->size() != a.size())
    throw NoOpenRows(fmt::format("{} has another rank at other sizes", describe(first, t)));
  for (std::size_t axis = 0; axis < a.size(); ++axis)
    if (a[axis] != (*b)[axis]) open.insert(axis);
}

void find_tail(const stream::RowModel& model, OpenAnalysis& analysis) {
  analysis.in_tail = analysis.is_late;
  std::vector<bool> is_read_before(model.tensors.size(), false);  // by one that is not in the tail
  for (std::size_t op = model.operators.size(); op-- > 0;) {
    const stream::Operator& it = model.operators[op];
    const bool is_needed = std::ranges::any_of(it.writes, [&](std::size_t t) { return is_read_before[t]; });
    if (!analysis.is_open[op] && !is_needed) analysis.in_tail[op] = true;
    if (analysis.in_tail[op]) continue;
    for (const stream::Access& access : it.reads) is_read_before[access.tensor] = true;
  }
}

}  // namespace

std::string OpenReadings::word(std::int64_t size) const { return fmt::format("{}={}", range_.name, size); }

const Input* OpenReadings::read(std::int64_t size) {
  const auto known = known_.find(size);
  if (known != known_.end()) return known->second ? &*known->second : nullptr;
  auto& reading = known_[size];
  try {
    reading = read_(size);
    reading->info.ranges.clear();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    if (rejected_.empty()) rejected_ = error.what();
  }
  return reading ? &*reading : nullptr;
}

OpenAxes::OpenAxes(OpenReadings& readings, const PlanOptions& options, OpenSchedule& schedule)
    : readings_(readings), options_(options), schedule_(schedule) {
  find_axes();
  put_tail_behind();
}

OpenAnalysis OpenAxes::analyse() {
  const Graph& small = readings_.graph(*probes_.begin());
  const Graph& large = readings_.graph(*probes_.rbegin());
  const stream::RowModel a = model_at(small, schedule_);
  const stream::RowModel b = model_at(large, schedule_);
  expect_rows_of_open_tensors(b);
  const bool are_alike = a.operators.size() == b.operators.size() && a.tensors.size() == b.tensors.size();
  OpenAnalysis result;
  std::vector<std::optional<std::size_t>> writers(b.tensors.size());
  for (std::size_t op = 0; op < b.operators.size(); ++op) {
    const stream::Operator& it = b.operators[op];
    result.is_open.push_back(are_alike ? a.operators[op].rows != it.rows : it.rows > 1);
    if (it.backward)
      throw NoOpenRows(fmt::format("{} runs from the last row to the first", described(it, large)));
    bool is_late = std::ranges::any_of(
        it.after, [&](std::size_t earlier) { return result.is_open[earlier] || result.is_late[earlier]; });
    std::string of =
        it.reads.empty() ? "an operator" : fmt::format("'{}'", b.tensors[it.reads[0].tensor].name);
    for (const stream::Access& access : it.reads) {
      const auto writer = writers[access.tensor];
      if (!writer) continue;
      const bool at_the_end = b.operators[*writer].writing_of(access.tensor) == stream::Writing::at_the_end;
      if (!result.is_late[*writer] && !(at_the_end && result.is_open[*writer])) continue;
      is_late = true;
      of = fmt::format("'{}'", b.tensors[access.tensor].name);
    }
    if (is_late && result.is_open[op])
      throw NoOpenRows(
          fmt::format("{} makes its rows only when all rows of {} have been read", described(it, large), of));
    result.is_late.push_back(is_late);
    for (const std::size_t t : it.writes) writers[t] = op;
  }
  if (!are_alike) throw NoOpenRows("the network has other operators by rows at other sizes");
  find_tail(b, result);
  return result;
}

void OpenAxes::find_axes() {
  constexpr std::int64_t farthest = 255;
  std::vector<const Graph*> graphs;
  for (std::int64_t index = 0; index <= std::min(readings_.last(), farthest) && graphs.size() < 4; ++index)
    add_probe(index, graphs);
  for (std::int64_t index = std::min(readings_.last(), farthest); index > 0 && graphs.size() < 8; --index)
    add_probe(index, graphs);
  if (graphs.size() < 2)
    throw NoOpenRows(fmt::format("the model rejects most sizes: {}", readings_.rejected()));
  const Graph& first = *graphs[0];
  if (const std::string why = stream::obstacle_to_streaming(first); !why.empty()) throw NoOpenRows(why);
  for (const Graph* const graph : graphs) {
    if (graph->tensors.size() != first.tensors.size() || graph->subgraphs.size() != 1 ||
        graph->subgraphs[0].operators.size() != first.subgraphs[0].operators.size())
      throw NoOpenRows("the network has bodies, or other operators at other sizes");
  }
  for (TensorId t = 0; t < first.tensors.size(); ++t) {
    if (!stream::is_passed_on(first.tensors[t].kind) || !first.tensors[t].shape) continue;
    std::set<std::size_t> open;
    for (const Graph* const graph : graphs) note_open(first, *graph, t, open);
    if (open.size() > 1)
      throw NoOpenRows(fmt::format("several axes of {} depend on the size", describe(first, t)));
    if (open.empty()) continue;
    if (!bytes_of_row(graphs.back()->tensors[t], *open.begin()))
      throw NoOpenRows(fmt::format("{} has no rows along axis {}", describe(first, t), *open.begin()));
    schedule_.axes.emplace(t, *open.begin());
  }
  if (schedule_.axes.empty()) throw NoOpenRows("nothing depends on the size");
  is_folded_.clear();
  for (const Operator& op : first.subgraphs[0].operators) is_folded_.push_back(op.folded);
}

void OpenAxes::add_probe(std::int64_t index, std::vector<const Graph*>& graphs) {
  const Input* const input = readings_.read(readings_.size_of(index));
  if (input == nullptr) return;
  graphs.push_back(&std::get<Graph>(input->content));
  probes_.insert(readings_.size_of(index));
}

void OpenAxes::put_tail_behind() {
  const Input& input = *readings_.read(*probes_.begin());
  schedule_.alignment = alignment_in(options_, input.info.format);
  schedule_.keeps_state = keeps_state(input);
  schedule_.granule = granule_of(*options_.stream);
  const std::size_t operators = std::get<Graph>(input.content).subgraphs[0].operators.size();
  for (const bool folded : {true, false})
    for (std::size_t op = 0; op < operators; ++op)
      if (is_folded_[op] == folded) schedule_.order.push_back(op);
  if (options_.alias == Alias::none)
    for (TensorId t = 0; t < std::get<Graph>(input.content).tensors.size(); ++t) schedule_.apart.insert(t);
  const OpenAnalysis analysis = analyse();
  const stream::RowModel model = model_at(readings_.graph(*probes_.begin()), schedule_);
  std::set<std::size_t> tail;
  for (std::size_t op = 0; op < model.operators.size(); ++op)
    if (model.operators[op].source && analysis.in_tail[op])
      tail.insert(schedule_.order[*model.operators[op].source]);
  std::ranges::stable_partition(schedule_.order, [&](std::size_t op) { return !tail.contains(op); });
}

std::string OpenAxes::described(const stream::Operator& op, const Graph& graph) const {
  return op.source ? describe(graph, 0, schedule_.order[*op.source]) : fmt::format("input '{}'", op.name);
}

/// All that depends on the size must come and go by rows along its axis.
void OpenAxes::expect_rows_of_open_tensors(const stream::RowModel& model) {
  const Graph& large = readings_.graph(*probes_.rbegin());
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    const stream::Tensor& tensor = model.tensors[t];
    if (!tensor.source || !schedule_.axes.contains(*tensor.source)) continue;
    const std::string name = describe(large, *tensor.source);
    if (tensor.axis != schedule_.axes.at(*tensor.source))
      throw NoOpenRows(fmt::format("{} has no rows along its open axis", name));
    if (!tensor.is_whole && !tensor.stays) continue;
    for (const stream::Operator& op : model.operators) {
      for (const stream::Access& access : op.reads)
        if (access.tensor == t && access.rows.scale == 0)
          throw NoOpenRows(fmt::format("{} reads all rows of {} at once", described(op, large), name));
      const bool writes = std::ranges::find(op.writes, t) != op.writes.end();
      if (writes && op.writing_of(t) == stream::Writing::at_the_end)
        throw NoOpenRows(fmt::format("{} makes all rows of {} at once", described(op, large), name));
    }
    throw NoOpenRows(fmt::format("{} is whole in memory", name));
  }
}

}  // namespace stowage::plan
