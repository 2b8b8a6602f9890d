#include "pack/score.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace stowage::pack {

Bytes capacity_of(const Memory& memory) { return memory.capacity.value_or(largest_value); }

std::int64_t cost_in(const Problem& problem, std::size_t buffer, std::size_t memory) {
  const std::int64_t most = largest_value / std::max<std::int64_t>(1, std::ssize(problem.buffers));
  const auto cost =
      base::checked_multiply(problem.buffers[buffer].traffic, problem.memories[memory].cost).value_or(most);
  return std::min(cost, most);
}

Score score_of(const Problem& problem, std::span<const Place> places, const std::optional<SlotPool>& slots) {
  Score score{.peaks = std::vector<Bytes>(problem.memories.size())};
  for (std::size_t b = 0; b < places.size(); ++b) {
    Bytes& peak = score.peaks[problem.memories.size() - 1 - places[b].memory];
    peak = std::max(peak, places[b].offset + problem.buffers[b].size);
    score.cost += cost_in(problem, b, places[b].memory);
  }
  if (slots) {
    Bytes& peak = score.peaks[problem.memories.size() - 1 - slots->place.memory];
    peak = std::max(peak, slots->end());
  }
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    const Bytes peak = score.peaks[problem.memories.size() - 1 - m];
    score.excess += std::max<Bytes>(0, peak - capacity_of(problem.memories[m]));
  }
  return score;
}

Bytes total_peak(const Score& score) {
  return std::accumulate(score.peaks.begin(), score.peaks.end(), Bytes{0});
}

}  // namespace stowage::pack
