#include "oracle/naive_levels.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "oracle/naive_pack.h"

namespace stowage::oracle {
namespace {

/// Whether these buffers fit into so many bytes, asked once for each set.
class Fits {
 public:
  explicit Fits(const Problem& problem) : problem_(problem) {}

  bool operator()(const std::vector<std::size_t>& set, const std::optional<Bytes>& capacity) {
    if (!capacity) return true;
    const auto known = least_peaks_.find(set);
    if (known != least_peaks_.end()) return known->second <= *capacity;
    Problem one{.memories = {{.name = "one"}}};
    for (const std::size_t b : set) one.buffers.push_back(problem_.buffers[b]);
    return least_peaks_.emplace(set, optimal_peak(one)).first->second <= *capacity;
  }

 private:
  const Problem& problem_;
  std::map<std::vector<std::size_t>, Bytes> least_peaks_;
};

}  // namespace

Objective objective_of(const Problem& problem, std::span<const Place> places) {
  Objective objective;
  for (std::size_t m = problem.memories.size(); m-- > 0;) {
    Bytes peak = 0;
    for (std::size_t b = 0; b < places.size(); ++b) {
      if (places[b].memory != m) continue;
      peak = std::max(peak, places[b].offset + problem.buffers[b].size);
      objective.cost += problem.buffers[b].traffic * problem.memories[m].cost;
    }
    objective.peaks.push_back(peak);
    if (const auto capacity = problem.memories[m].capacity)
      objective.excess += std::max<Bytes>(0, peak - *capacity);
  }
  return objective;
}

std::optional<std::int64_t> least_cost(const Problem& problem) {
  Fits fits(problem);
  std::vector<std::size_t> chosen(problem.buffers.size(), 0);
  std::optional<std::int64_t> least;
  const auto is_allowed = [&](std::size_t b) {
    const auto& allowed = problem.buffers[b].memories;
    return allowed.empty() || std::count(allowed.begin(), allowed.end(), chosen[b]) > 0;
  };
  for (bool is_over = false; !is_over;) {
    std::int64_t cost = 0;
    bool is_valid = true;
    for (std::size_t b = 0; b < chosen.size(); ++b) {
      is_valid = is_valid && is_allowed(b);
      cost += problem.buffers[b].traffic * problem.memories[chosen[b]].cost;
    }
    for (std::size_t m = 0; m < problem.memories.size() && is_valid && (!least || cost < *least); ++m) {
      std::vector<std::size_t> set;
      for (std::size_t b = 0; b < chosen.size(); ++b) {
        if (chosen[b] == m) set.push_back(b);
      }
      is_valid = fits(set, problem.memories[m].capacity);
    }
    if (is_valid && (!least || cost < *least)) least = cost;
    std::size_t digit = 0;
    while (digit < chosen.size() && ++chosen[digit] == problem.memories.size()) chosen[digit++] = 0;
    is_over = digit == chosen.size();
  }
  return least;
}

Problem in_levels(Problem problem, std::uint64_t seed, Bytes largest_capacity) {
  Random random(seed * 2 + 1);
  const std::int64_t levels = random.between(2, 3);
  problem.memories.clear();
  std::int64_t cost = 0;
  for (std::int64_t level = 0; level < levels; ++level) {
    cost += random.between(level == 0 ? 1 : 0, 9);
    Memory memory{.name = "level " + std::to_string(level), .cost = cost};
    if (level + 1 < levels || random.chance(30)) memory.capacity = random.between(0, largest_capacity);
    problem.memories.push_back(std::move(memory));
  }
  for (Buffer& buffer : problem.buffers) {
    buffer.traffic = random.chance(10) ? 0 : buffer.size * random.between(1, 6);
    if (!random.chance(20)) continue;
    buffer.memories = {static_cast<std::size_t>(random.between(0, levels - 1))};
    if (random.chance(60)) buffer.memories.push_back(static_cast<std::size_t>(levels - 1));
  }
  return problem;
}

Problem random_levels(std::uint64_t seed, const ProblemShape& shape) {
  return in_levels(random_problem(seed, shape), seed, 5 * shape.largest_size);
}

Problem random_levels(std::uint64_t seed) { return in_levels(random_problem(seed), seed, 25); }

}  // namespace stowage::oracle
