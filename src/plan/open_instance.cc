// A plan by rows at any size of its open axis. An affine schedule says when step i of an operator runs: at scale * i +
// shift. With another number of rows there are more or fewer steps, all else is the same:
//
//     at 4 rows                      at 6 rows
//     x  0 1 2 3                     x  0 1 2 3 4 5
//     y    1 2 3 4                   y    1 2 3 4 5 6
//     m (of all rows)  5             m                7     later by as much as all others end later
//
// So a schedule, rings and offsets make the plan at every size. The schedule is found in the plan for one size: the
// order of operators and their times are in `streaming.affine`, axes and slots in the views.
//
// Cost: that of unrolling the network at the size.

#include "plan/open_instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "base/checked.h"
#include "plan/draft.h"
#include "stowage/error.h"
#include "stream/instances.h"
#include "stream/repeat.h"
#include "stream/replay.h"

namespace stowage::plan {
namespace {

/// When the last of the operators whose steps depend on the size ends.
std::int64_t end_of(const OpenSchedule& schedule, const std::vector<std::int64_t>& counts) {
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  for (std::size_t op = 0; op < counts.size(); ++op) {
    const stream::AffineTime& time = schedule.times[op];
    if (schedule.is_open[op] && counts[op] > 0)
      end = std::max(end, time.scale * (counts[op] - 1) + time.shift);
  }
  return end;
}

std::vector<stream::AffineTime> times_at(const OpenSchedule& schedule, const stream::RowProgram& program) {
  std::vector<std::int64_t> counts;
  for (std::size_t op = 0; op < program.operators(); ++op) counts.push_back(program.count(op));
  const std::int64_t end = end_of(schedule, schedule.counts);
  const std::int64_t later = end_of(schedule, counts) - end;
  std::vector<stream::AffineTime> times = schedule.times;
  for (std::size_t op = 0; op < times.size(); ++op)
    if (!schedule.is_open[op] && times[op].shift > end) times[op].shift += later;
  return times;
}

void reject_open_rows(const std::string& problem) { throw Error("open rows", problem); }

void note_axes(const Plan& plan, stream::ChosenAxes& axes) {
  for (TensorId t = 0; t < plan.tensors.size(); ++t)
    for (const View& view : plan.tensors[t].views)
      if (view.ring) axes.emplace(t, view.ring->axis);
}

}  // namespace

stream::RowModel model_at(const Graph& at, const OpenSchedule& schedule) {
  return stream::instances_of(stream::in_order(at, schedule.order).graph,
                              {.granule = schedule.granule,
                               .io = Io::rows,
                               .in_place = stream::InPlace::same_size,
                               .axes = schedule.axes,
                               .apart = schedule.apart,
                               .carries_one_row = true});
}

std::optional<OpenInstance> instance_at(const Graph& at, const OpenSchedule& schedule) {
  if (at.subgraphs[0].operators.size() != schedule.order.size()) return std::nullopt;
  OpenInstance instance;
  RowNetwork& network = instance.network;
  network.network = stream::in_order(at, schedule.order);
  network.model = model_at(at, schedule);
  network.once = network.model;
  if (network.model.operators.size() != schedule.times.size()) return std::nullopt;
  network.program = stream::unroll(network.model);
  for (std::size_t op = 0; op < network.program.operators(); ++op)
    if (!schedule.is_open[op] && network.program.count(op) != schedule.counts[op]) return std::nullopt;
  stream::AffineOrder affine{.times = times_at(schedule, network.program)};
  affine.steps = stream::order_of(network.program, affine.times);
  const stream::RowReplay replayed = stream::replay(network.program, affine.steps);
  if (replayed.fault) return std::nullopt;
  affine.peak = replayed.peak;
  affine.regions = {{0, network.program.operators()}};
  instance.order = {.steps = affine.steps, .forms = {stream::Form::rings}, .regions = affine.regions};
  network.affine = std::move(affine);
  return instance;
}

std::optional<PlacedRows> lay_instance(const OpenInstance& instance, const OpenSchedule& schedule,
                                       const stream::ChosenSlots& slots,
                                       const std::vector<Memory>& memories) {
  PlanOptions options{.memories = memories, .io = Io::rows};
  options.stream = StreamOptions{.granule = schedule.granule};
  const Around around{.alignment = schedule.alignment, .keeps_state = schedule.keeps_state, .slots = slots};
  auto placed = lay_rows(instance.network, instance.order, stream::Form::rings,
                         {.plan = options, .strategy = options.solve.strategy, .around = around});
  if (placed)
    placed->streaming = streaming_of(instance.network, instance.order, *options.stream, schedule.alignment);
  return placed;
}

stream::ChosenSlots slots_in(const std::vector<PlannedTensor>& tensors) {
  stream::ChosenSlots slots;
  for (TensorId t = 0; t < tensors.size(); ++t)
    for (const View& view : tensors[t].views)
      if (view.ring) slots[t] = std::max(slots[t], view.ring->count);
  return slots;
}

OpenSchedule schedule_in(const Plan& plan, const OpenRows& rows) {
  if (plan.models.size() != 1 || plan.clocks.size() != 1 || plan.memories.size() != 1 ||
      plan.buffers.empty() || !plan.streaming || !plan.streaming->affine ||
      !plan.streaming->affine->is_followed)
    reject_open_rows("the plan is not of one network in one memory, in the order of an affine schedule");
  const std::vector<TimedSteps>& all = plan.streaming->affine->operators;
  if (all.size() != rows.steps.size())
    reject_open_rows("the plan has other operators in its affine schedule");
  OpenSchedule schedule{.granule = plan.streaming->granule,
                        .alignment = plan.buffers[0].alignment,
                        .keeps_state = std::ranges::any_of(plan.tensors, [](const PlannedTensor& it) {
                          return it.tensor.kind == TensorKind::state && !it.views.empty();
                        })};
  for (std::size_t op = 0; op < all.size(); ++op) {
    if (all[op].op) schedule.order.push_back(*all[op].op);
    constexpr std::int64_t largest = std::int64_t{1} << 30;  // so that times do not overflow
    if (all[op].scale < 1 || all[op].scale > largest || all[op].count > largest ||
        std::abs(all[op].shift) > largest * largest)
      reject_open_rows("the plan has a scale, a shift or a number of steps that is too large");
    schedule.times.push_back({all[op].scale, all[op].shift, all[op].position});
    schedule.counts.push_back(all[op].count);
    schedule.is_open.push_back(rows.steps[op].has_value());
  }
  note_axes(plan, schedule.axes);
  std::map<std::size_t, std::size_t> in_buffer;
  for (const PlannedTensor& tensor : plan.tensors)
    for (const View& view : tensor.views) ++in_buffer[view.buffer];
  for (TensorId t = 0; t < plan.tensors.size(); ++t)
    for (const View& view : plan.tensors[t].views)
      if (in_buffer[view.buffer] == 1) schedule.apart.insert(t);
  return schedule;
}

}  // namespace stowage::plan

namespace stowage {

std::int64_t steps_at(const StepCount& count, std::int64_t size) {
  const auto product = base::checked_multiply(count.times, size);
  const auto sum = product ? base::checked_add(*product, count.plus) : std::nullopt;
  if (!sum) return largest_value;
  const std::int64_t dividend = *sum;
  return dividend / count.over - (dividend % count.over < 0 ? 1 : 0);
}

Plan plan_at(const Plan& plan, const OpenRows& rows, std::int64_t size, const Graph& at) {
  const SizeSymbol& range = rows.size;
  if (size < range.least || size > range.most || (size - range.least) % range.step != 0)
    throw UsageError(fmt::format("{}={} is not in the range of the plan, {} to {} in steps of {}", range.name,
                                 size, range.least, range.most, range.step));
  const auto reject = [&](const std::string& problem) {
    throw Error(fmt::format("{}={}", range.name, size), problem);
  };
  plan::OpenSchedule schedule = plan::schedule_in(plan, rows);
  const auto& operators = at.subgraphs[0].operators;
  if (at.tensors.size() != plan.tensors.size()) reject("the network has other tensors than the plan");
  std::vector<std::size_t> order;  // folded ones first
  for (std::size_t op = 0; op < operators.size(); ++op)
    if (std::ranges::find(schedule.order, op) == schedule.order.end()) order.push_back(op);
  order.insert(order.end(), schedule.order.begin(), schedule.order.end());
  if (order.size() != operators.size()) reject("the network has other operators than the plan");
  schedule.order = std::move(order);
  const auto instance = plan::instance_at(at, schedule);
  if (!instance) reject("the steps of the plan are not in a legal order");
  for (std::size_t op = 0; op < rows.steps.size(); ++op)
    if (rows.steps[op] && instance->network.program.count(op) != steps_at(*rows.steps[op], size))
      reject(fmt::format("{} has {} steps, the plan says {}", instance->network.model.operators[op].name,
                         instance->network.program.count(op), steps_at(*rows.steps[op], size)));
  std::vector<Memory> memories{plan.memories[0].memory};
  auto laid = plan::lay_instance(*instance, schedule, plan::slots_in(plan.tensors), memories);
  if (!laid) reject("rows cannot be laid out as in the plan");
  std::map<std::string, std::size_t> known;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) known.emplace(plan.buffers[b].id, b);
  plan::Draft draft{.plan = plan, .order = plan.summary.order};
  Plan& own = draft.plan;
  own.buffers = std::move(laid->problem.buffers);
  for (Buffer& buffer : own.buffers) {
    const auto there = known.find(buffer.id);
    if (there == known.end() || buffer.size > plan.buffers[there->second].size)
      reject(
          fmt::format("buffer '{}' needs {} bytes, more than the plan has for it", buffer.id, buffer.size));
    buffer.size = plan.buffers[there->second].size;
    buffer.traffic = plan.buffers[there->second].traffic;
    draft.placement.places.push_back({0, plan.places[there->second].offset});
  }
  own.clocks[0].steps = std::move(laid->steps);
  own.tensors = std::move(laid->tensors);
  own.streaming = std::move(laid->streaming);
  own.memories.clear();
  own.savings.reset();
  draft.placement.strategy = plan.summary.strategy;
  draft.alignments = {schedule.alignment};
  const double seconds = plan.summary.seconds;
  Plan finished = plan::finish(std::move(draft), memories);
  finished.summary.seconds = seconds;
  return finished;
}

}  // namespace stowage
