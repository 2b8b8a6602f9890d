#include "run/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "check/form.h"
#include "check/matching.h"
#include "stowage/run.h"

namespace stowage::run {
namespace {

/// The index of each graph's first tensor in Plan::tensors.
std::vector<std::size_t> first_tensors(std::span<const Graph* const> graphs) {
  std::vector<std::size_t> first;
  std::size_t next = 0;
  for (const Graph* const graph : graphs) {
    first.push_back(next);
    next += graph->tensors.size();
  }
  return first;
}

void refuse_first(const Faults& faults) {
  if (!faults.empty()) throw RunFault{faults.front().what};
}

}  // namespace

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
  refuse_first(faults);
}

Device::Device(std::span<const Graph* const> graphs, const Plan& plan, const model::ClockTree& clocks)
    : graphs_(graphs.begin(), graphs.end()),
      bases_(first_tensors(graphs)),
      plan_(plan),
      clocks_(clocks),
      at_(clocks.size()),
      is_done_(clocks.size(), false),
      spots_(plan.tensors.size()),
      tensors_of_(plan.buffers.size()) {
  for (std::size_t m = 0; m < plan.memories.size(); ++m) arenas_.emplace_back(plan, clocks, m);
}

std::vector<Arena::GivenBack> Device::move_to(std::size_t clock, Position at) {
  at_[clock] = at;
  std::vector<Arena::GivenBack> all;
  for (Arena& arena : arenas_) {
    const auto given_back = arena.move_to(clock, at);
    lose(given_back);
    all.insert(all.end(), given_back.begin(), given_back.end());
  }
  return all;
}

void Device::leave(std::size_t clock) {
  at_[clock].reset();
  is_done_[clock] = true;
  for (Arena& arena : arenas_) lose(arena.leave(clock));
}

void Device::lose(std::span<const Arena::GivenBack> given_back) {
  for (const auto& [buffer, begin, end] : given_back) {
    for (const std::size_t tensor : tensors_of_[buffer]) {
      for (Spot& spot : spots_[tensor]) {
        if (spot.buffer == buffer && spot.begin < end && begin < spot.begin + size_of(tensor))
          spot.has_value = false;
      }
    }
  }
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

Spot& Device::spot_at(std::size_t tensor, const View& view) {
  const Place& place = plan_.places[view.buffer];
  const Bytes begin = place.offset + view.offset;
  std::vector<Spot>& spots = spots_[tensor];
  const auto known = std::ranges::find_if(
      spots, [&](const Spot& spot) { return spot.buffer == view.buffer && spot.begin == begin; });
  if (known != spots.end()) return *known;
  std::vector<std::size_t>& neighbours = tensors_of_[view.buffer];
  if (std::ranges::find(neighbours, tensor) == neighbours.end()) neighbours.push_back(tensor);
  return spots.emplace_back(Spot{place.memory, view.buffer, begin});
}

void Device::overwrite(const std::byte* begin, Bytes size, std::span<const std::size_t> own,
                       const std::string& who) {
  for (const Arena& arena : arenas_) {
    const Bytes first = begin - arena.bytes();
    if (first < 0 || first >= arena.size()) continue;
    // Live buffers do not overlap, so only tensors of one buffer can be there.
    const auto buffer = arena.buffer_at(first);
    if (!buffer) continue;
    for (const std::size_t tensor : tensors_of_[*buffer]) {
      if (std::ranges::find(own, tensor) != own.end()) continue;
      for (Spot& spot : spots_[tensor]) {
        if (!spot.has_value || spot.buffer != *buffer || spot.begin >= first + size ||
            first >= spot.begin + size_of(tensor))
          continue;
        spot.has_value = false;
        spot.lost_to = who;
      }
    }
  }
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

std::string Device::of_model(std::size_t model) const {
  return plan_.models.size() == 1 ? "" : fmt::format(" of model {}", base::quoted(plan_.models[model].name));
}

std::string Device::describe(std::size_t tensor) const {
  const std::size_t model = plan_.tensors[tensor].model;
  return stowage::describe(*graphs_[model], tensor - bases_[model]) + of_model(model);
}

std::string Device::describe(const std::byte* address) const {
  for (std::size_t m = 0; m < arenas_.size(); ++m) {
    const Bytes byte = address - arenas_[m].bytes();
    if (byte < 0 || byte >= arenas_[m].size()) continue;
    std::string text = fmt::format("byte {} of memory {}, held by {}", byte, base::quoted(arenas_[m].name()),
                                   arenas_[m].holder_of(byte));
    for (std::size_t t = 0; t < spots_.size(); ++t) {
      for (const Spot& spot : spots_[t]) {
        if (spot.memory == m && spot.begin <= byte && byte < spot.begin + size_of(t))
          text += ", where " + describe(t) + " is or was";
      }
    }
    return text;
  }
  return "a byte outside all memories of the plan";
}

}  // namespace stowage::run
