// Several memories raise two questions. Which memories may take a buffer, and at what cost (Choices)? And
// does a set of buffers fit into one memory? The packers of one memory answer the second.

#include "pack/memories/memories.h"

#include <algorithm>
#include <numeric>

#include "pack/bounds.h"
#include "pack/placing.h"
#include "pack/portfolio.h"

namespace stowage::memories {

Choices::Choices(const Problem& problem) {
  std::vector<std::size_t> every(problem.memories.size());
  std::iota(every.begin(), every.end(), std::size_t{0});
  for (const Memory& memory : problem.memories) capacities.push_back(pack::capacity_of(memory));
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    auto& memories = allowed.emplace_back(buffer.memories.empty() ? every : buffer.memories);
    std::sort(memories.begin(), memories.end());
    std::stable_sort(memories.begin(), memories.end(), [&](std::size_t m, std::size_t n) {
      return problem.memories[m].cost < problem.memories[n].cost;
    });
    auto& row = costs.emplace_back();
    for (const std::size_t m : every) row.push_back(pack::cost_in(problem, b, m));
    const Lifetime life = pack::life_of(buffer);
    is_ever_alive.push_back(life.lower < life.upper);
  }
}

std::int64_t Choices::saving(std::size_t buffer) const {
  return costs[buffer][allowed[buffer].back()] - costs[buffer][allowed[buffer].front()];
}

bool holds(const Choices& choices, std::size_t memory, const Buffer& buffer) {
  return buffer.pinned.value_or(0) + buffer.size <= choices.capacities[memory];
}

// The buffers of one memory are a problem of one memory. Here the packers decide whether a set fits, and
// lower its peak. Cost: that of the packers.

namespace {

Problem alone(const Problem& problem, std::span<const std::size_t> set) {
  Problem one{.memories = {{.name = "one"}}};
  for (const std::size_t b : set) {
    one.buffers.push_back(problem.buffers[b]);
    one.buffers.back().memories.clear();
  }
  return one;
}

/// The user's options, but quiet, with no more threads, and with short tuning.
pack::Control control_of_part(const pack::Control& control, std::int64_t rounds) {
  pack::Control part = control;
  part.options.progress = nullptr;
  part.options.threads = 1;
  part.rounds = rounds;
  return part;
}

Bytes peak_of_one(const Problem& one, std::span<const Place> places) {
  Bytes peak = 0;
  for (std::size_t b = 0; b < places.size(); ++b)
    peak = std::max(peak, places[b].offset + one.buffers[b].size);
  return peak;
}

}  // namespace

std::vector<std::size_t> set_of(std::span<const Place> places, std::size_t memory) {
  std::vector<std::size_t> set;
  for (std::size_t b = 0; b < places.size(); ++b) {
    if (places[b].memory == memory) set.push_back(b);
  }
  return set;
}

std::optional<std::vector<Bytes>> pack_within(const Problem& problem, std::span<const std::size_t> set,
                                              Bytes capacity, const pack::Control& control) {
  const Problem one = alone(problem, set);
  if (pack::lower_bound_of(one.buffers) > capacity) return std::nullopt;
  const pack::Control part = control_of_part(control, 0);
  for (const pack::Strategy& packer : pack::packers()) {
    if (!packer.info.is_in_auto || packer.obstacle(one) || part.is_time_up()) continue;
    const pack::Placing placing = pack::run(packer, one, part);
    if (placing.places.size() != set.size() || peak_of_one(one, placing.places) > capacity) continue;
    std::vector<Bytes> offsets;
    for (const Place& place : placing.places) offsets.push_back(place.offset);
    return offsets;
  }
  return std::nullopt;
}

void lower_peaks(const Problem& problem, std::vector<Place>& places, const pack::Control& control) {
  constexpr std::size_t few = 40;  // tuning more buffers takes longer than everything else
  for (std::size_t m = problem.memories.size(); m-- > 0;) {
    const std::vector<std::size_t> set = set_of(places, m);
    if (set.empty() || control.is_time_up()) continue;
    const Problem one = alone(problem, set);
    std::vector<Place> before;
    for (const std::size_t b : set) before.push_back({0, places[b].offset});
    const Bytes peak = peak_of_one(one, before);
    if (peak == pack::lower_bound_of(one.buffers)) continue;
    std::vector<const pack::Strategy*> chosen;
    for (const pack::Strategy& packer : pack::packers()) {
      if (packer.info.is_in_auto && !packer.obstacle(one)) chosen.push_back(&packer);
    }
    const Solution found = pack::best_of(one, chosen, control_of_part(control, set.size() <= few ? 1 : 0));
    if (peak_of_one(one, found.places) >= peak) continue;
    for (std::size_t i = 0; i < set.size(); ++i) places[set[i]].offset = found.places[i].offset;
  }
}

}  // namespace stowage::memories
