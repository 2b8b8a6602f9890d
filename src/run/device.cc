#include "run/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "check/against.h"
#include "check/form.h"
#include "check/matching.h"
#include "check/states.h"
#include "run/parts.h"
#include "stowage/run.h"

namespace stowage::run {
namespace {

void refuse_first(const Faults& faults) {
  if (!faults.empty()) throw RunFault{faults.front().what};
}

}  // namespace

std::vector<std::size_t> first_tensors(std::span<const Graph* const> graphs) {
  std::vector<std::size_t> first;
  std::size_t next = 0;
  for (const Graph* const graph : graphs) {
    first.push_back(next);
    next += graph->tensors.size();
  }
  return first;
}

void expect_plan_of(std::span<const Graph* const> graphs, const Plan& plan) {
  refuse_first(check::check_form(plan));
  if (plan.models.size() != graphs.size())
    throw RunFault{fmt::format("the plan has {} models, expected {}", plan.models.size(), graphs.size())};
  Faults faults;
  const std::vector<std::size_t> bases = first_tensors(graphs);
  for (std::size_t m = 0; m < graphs.size(); ++m) {
    const auto matched = check::match_tensors(plan, *graphs[m], m, faults);
    refuse_first(faults);
    for (TensorId t = 0; t < matched.size(); ++t) {
      check::check_tensor(*graphs[m], t, matched[t]->tensor, faults);
      if (matched[t] != &plan.tensors[bases[m] + t])
        throw RunFault{
            fmt::format("{} comes in another order in the plan", stowage::describe(*graphs[m], t))};
    }
  }
  for (const Feed& feed : plan.feeds) {
    const std::size_t from = plan.tensors[feed.output].model;
    const std::size_t to = plan.tensors[feed.input].model;
    check::check_feed(*graphs[from], feed.output - bases[from], *graphs[to], feed.input - bases[to], faults);
  }
  check::Ids ids(plan.tensors.size());
  for (std::size_t t = 0; t < ids.size(); ++t) ids[t] = t - bases[plan.tensors[t].model];
  check::check_states_of(plan, graphs, ids, faults);
  refuse_first(faults);
  if (is_streamed(plan)) refuse_first(check::check_tasks(plan, graphs));
}

std::string of_model(const Plan& plan, std::size_t model) {
  return plan.models.size() == 1 ? "" : fmt::format(" of model {}", base::quoted(plan.models[model].name));
}

Device::Device(std::span<const Graph* const> graphs, const Plan& plan, const model::ClockTree& clocks)
    : graphs_(graphs.begin(), graphs.end()),
      bases_(first_tensors(graphs)),
      plan_(plan),
      clocks_(clocks),
      at_(clocks.size()),
      is_done_(clocks.size(), false) {
  for (std::size_t m = 0; m < plan.memories.size(); ++m) arenas_.emplace_back(plan, clocks, m);
}

void Device::move_to(std::size_t clock, Position at) {
  at_[clock] = at;
  for (Arena& arena : arenas_) lose(arena, arena.move_to(clock, at));
}

void Device::leave(std::size_t clock) {
  at_[clock].reset();
  is_done_[clock] = true;
  for (Arena& arena : arenas_) lose(arena, arena.leave(clock));
}

void Device::lose(const Arena& arena, std::span<const Arena::GivenBack> given_back) {
  for (const auto& [buffer, begin, end] : given_back) contents_.remove(arena.bytes() + begin, end - begin);
}

double Device::progress() const {
  double done = 0;
  double all = 1;  // avoids a division by zero
  for (std::size_t clock = 0; clock < plan_.clocks.size(); ++clock) {
    const auto steps = static_cast<double>(plan_.clocks[clock].steps.size());
    all += steps;
    done += is_done_[clock] ? steps : at_[clock] ? static_cast<double>(*at_[clock] + 1) : 0;
  }
  return std::min(1.0, done / all);
}

std::size_t Device::value_of_sums(std::size_t model, std::size_t op) const {
  std::size_t value = plan_.tensors.size() + op;
  for (std::size_t m = 0; m < model; ++m) value += graphs_[m]->subgraphs[0].operators.size();
  return value;
}

void Device::begin_step(const std::string& what, std::size_t clock) {
  steps_.push_back(fmt::format("{} at {}", what, clocks_.describe(clock, at_[clock].value_or(0))));
}

void Device::expect_unspoilt(const std::string& who, const std::string& when) const {
  for (const Arena& arena : arenas_) {
    if (const auto byte = arena.first_spoilt())
      throw RunFault{fmt::format("{} wrote to byte {} of memory {}, which nobody holds at {}", who, *byte,
                                 base::quoted(arena.name()), when)};
  }
}

Bytes Device::live() const {
  Bytes live = 0;
  for (const Arena& arena : arenas_) live += arena.live();
  return live;
}

std::string Device::describe(std::size_t tensor) const {
  const std::size_t model = plan_.tensors[tensor].model;
  return stowage::describe(*graphs_[model], tensor - bases_[model]) + of_model(model);
}

std::string Device::describe(const Contents::Name& name) const {
  const auto written = [&](const std::string& what) {
    return fmt::format("{}, written by {}", what, steps_[name.step]);
  };
  if (name.value >= plan_.tensors.size()) {
    std::size_t op = name.value - plan_.tensors.size();
    std::size_t model = 0;
    while (op >= graphs_[model]->subgraphs[0].operators.size())
      op -= graphs_[model++]->subgraphs[0].operators.size();
    return written("the sums of " + stowage::describe(*graphs_[model], 0, op) + of_model(model));
  }
  const PlannedTensor& tensor = plan_.tensors[name.value];
  for (const View& view : tensor.views) {
    if (!view.ring && !view.rows) continue;
    const std::size_t axis = view.ring ? view.ring->axis : view.rows->axis;
    const std::int64_t row = name.offset / inner_bytes(tensor.tensor, axis) % (*tensor.tensor.shape)[axis];
    return written(fmt::format("row {} of {}", row, describe(name.value)));
  }
  return written(describe(name.value));
}

std::string Device::describe_byte(const std::byte* address) const {
  for (const Arena& arena : arenas_) {
    const Bytes byte = address - arena.bytes();
    if (byte >= 0 && byte < arena.size())
      return fmt::format("byte {} of memory {}, held by {}", byte, base::quoted(arena.name()),
                         arena.holder_of(byte));
  }
  return "a byte outside all memories of the plan";
}

std::string Device::describe(const std::byte* address) const {
  std::string text = describe_byte(address);
  for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
    const auto is_or_was_there = [&](const View& view) {
      const Place& place = plan_.places[view.buffer];
      const Bytes byte = address - arenas_[place.memory].bytes() - place.offset - view.offset;
      return byte >= 0 && byte < bytes_in(view, plan_.tensors[t].tensor) &&
             view.life.lower <= at_[plan_.buffers[view.buffer].clock].value_or(-1);
    };
    if (std::ranges::any_of(plan_.tensors[t].views, is_or_was_there))
      text += ", where " + describe(t) + " is or was";
  }
  return text;
}

}  // namespace stowage::run
