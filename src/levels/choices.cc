#include "levels/choices.h"

#include <algorithm>
#include <numeric>

#include "pack/placing.h"

namespace stowage::levels {

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

}  // namespace stowage::levels
