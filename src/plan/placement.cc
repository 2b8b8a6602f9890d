// Branches of a fork have no common clock. Each is placed alone, from address 0, and becomes one block
// on its parent's clock, alive at the fork. This loses nothing, since all of one branch conflicts with all of
// the others.
//
//     root    a a a (fork) d d       addresses of b's buffers: those in the block, plus the block's
//                   [ b  ]
//                   [ c  ]
//
// A clock that runs at pauses is a block that is alive at each of them.
//
// A clock with independent models falls into parts at positions that no buffer lives across. Each part is
// solved alone, with its best strategy. In one memory, buffers that are always alive lie below the rest,
// since they conflict with all others. If the blocks of a fork exceed one of several memories, their clocks
// are placed again, each in a share proportional to its first need.
//
// Cost: placing each clock once or twice for each clock around it.

#include "plan/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "model/clock_tree.h"
#include "pack/placing.h"
#include "pack/solve.h"
#include "plan/arrangement.h"

namespace stowage::plan {
namespace {

/// Sets of buffers, by index, in order of time. No two sets have a position in common.
std::vector<std::vector<std::size_t>> parts_of(const Problem& problem) {
  std::vector<std::vector<std::size_t>> parts;
  Position end = -1;
  for (const std::size_t b : pack::by_start(problem)) {
    const Lifetime life = pack::life_of(problem.buffers[b]);
    if (parts.empty() || life.lower >= end) parts.emplace_back();
    parts.back().push_back(b);
    end = std::max(end, life.upper);
  }
  return parts;
}

class Placer {
 public:
  Placer(std::span<const Buffer> buffers, std::span<const Clock> clocks, const SolveOptions& options,
         const base::Deadline& deadline)
      : buffers_(buffers),
        clocks_(clocks),
        options_(options),
        deadline_(deadline),
        own_(clocks.size()),
        placed_(clocks.size()) {
    for (std::size_t b = 0; b < buffers.size(); ++b) own_[buffers[b].clock].push_back(b);
    result_.places.resize(buffers.size());
  }

  Placement place(const std::vector<Memory>& memories) {
    place_clock(0, memories);
    result_.cost_bound = placed_[0].cost_bound;
    move_clock(0, std::vector<Bytes>(memories.size(), 0));
    std::sort(strategies_.begin(), strategies_.end());
    strategies_.erase(std::unique(strategies_.begin(), strategies_.end()), strategies_.end());
    for (const std::string& strategy : strategies_)
      result_.strategy += (result_.strategy.empty() ? "" : "+") + strategy;
    return std::move(result_);
  }

 private:
  /// The block that a branch takes in a memory.
  struct Block {
    std::size_t clock = 0;
    std::size_t memory = 0;
    Bytes offset = 0;
  };

  struct PlacedClock {
    std::vector<Bytes> peaks{};
    std::int64_t cost_bound = 0;  ///< Includes its branches, as if each had all memory.
    std::vector<Block> blocks{};
    std::vector<SlotPool> pools{};
    std::vector<Tuning> tunings{};
  };

  void place_clock(std::size_t clock, const std::vector<Memory>& memories) {
    PlacedClock& placed = placed_[clock];
    placed = {};
    Problem problem{.memories = memories};
    for (const std::size_t b : own_[clock]) problem.buffers.push_back(buffers_[b]);
    for (std::size_t at = 0; at < clocks_[clock].steps.size(); ++at) {
      if (const auto* const fork = std::get_if<Fork>(&clocks_[clock].steps[at]))
        add_blocks(*fork, static_cast<Position>(at), problem, placed);
    }
    for (const model::Branch& branch : model::branches_of(clocks_[clock])) {
      if (!branch.is_at_pauses) continue;
      place_clock(branch.clock, memories);
      placed.cost_bound = sum_of_costs(placed.cost_bound, placed_[branch.clock].cost_bound);
      add_blocks_of(branch, problem, placed);
    }
    problem = problem_of(std::move(problem.buffers), memories);
    const std::vector<Place> places = solve_in_parts(problem, placed);
    for (std::size_t i = 0; i < own_[clock].size(); ++i) result_.places[own_[clock][i]] = places[i];
    for (std::size_t i = 0; i < placed.blocks.size(); ++i)
      placed.blocks[i].offset = places[own_[clock].size() + i].offset;
    const Solution solution{.places = places};
    for (std::size_t m = 0; m < memories.size(); ++m) placed.peaks.push_back(peak_of(problem, solution, m));
    for (SlotPool& pool : placed.pools) {
      pool.clock = clock;
      placed.peaks[pool.place.memory] = std::max(placed.peaks[pool.place.memory], pool.end());
    }
  }

  /// Places the branches of a fork and adds their blocks to the problem.
  void add_blocks(const Fork& fork, Position at, Problem& problem, PlacedClock& placed) {
    const std::vector<Memory>& memories = problem.memories;
    for (const std::size_t branch : fork.clocks) place_clock(branch, memories);
    for (const std::size_t branch : fork.clocks)
      placed.cost_bound = sum_of_costs(placed.cost_bound, placed_[branch].cost_bound);
    for (std::size_t m = 0; m < memories.size(); ++m) {
      if (sum_of_peaks(fork, m) <= memories[m].capacity.value_or(largest_value) || memories.size() == 1)
        continue;
      place_in_shares(fork, memories);
      break;
    }
    for (const std::size_t branch : fork.clocks) add_blocks_of({branch, {at}}, problem, placed);
  }

  /// Adds the blocks of a branch that is placed.
  void add_blocks_of(const model::Branch& branch, Problem& problem, PlacedClock& placed) const {
    for (std::size_t m = 0; m < problem.memories.size(); ++m) {
      const Bytes size = placed_[branch.clock].peaks[m];
      if (size == 0) continue;
      placed.blocks.push_back({branch.clock, m});
      Buffer block{.id = fmt::format("clock {} in memory {}", branch.clock, m),
                   .size = size,
                   .alignment = alignment_of(branch.clock),
                   .memories = {m},
                   .kind = TensorKind::output};  // not a temporary: it may have pools of its own
      for (const Position at : branch.at) block.pieces.push_back({0, size, {at, at + 1}});
      problem.buffers.push_back(std::move(block));
    }
  }

  static std::int64_t sum_of_costs(std::int64_t a, std::int64_t b) {
    return base::checked_add(a, b).value_or(std::numeric_limits<std::int64_t>::max());
  }

  [[nodiscard]] Bytes sum_of_peaks(const Fork& fork, std::size_t memory) const {
    Bytes sum = 0;
    for (const std::size_t branch : fork.clocks) sum += placed_[branch].peaks[memory];
    return sum;
  }

  void place_in_shares(const Fork& fork, const std::vector<Memory>& memories) {
    std::vector<std::vector<Memory>> shares(fork.clocks.size(), memories);
    for (std::size_t m = 0; m < memories.size(); ++m) {
      const Bytes sum = sum_of_peaks(fork, m);
      if (!memories[m].capacity || sum <= *memories[m].capacity) continue;
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const double part = static_cast<double>(placed_[fork.clocks[i]].peaks[m]) / static_cast<double>(sum);
        const auto bytes = static_cast<Bytes>(part * static_cast<double>(*memories[m].capacity));
        const Bytes alignment = alignment_of(fork.clocks[i]);
        shares[i][m].capacity = bytes / alignment * alignment;
      }
    }
    for (std::size_t i = 0; i < shares.size(); ++i) place_clock(fork.clocks[i], shares[i]);
  }

  /// The strictest alignment of a clock and its branches.
  [[nodiscard]] Bytes alignment_of(std::size_t clock) const {
    Bytes alignment = 1;
    for (const std::size_t b : own_[clock]) alignment = std::max(alignment, buffers_[b].alignment);
    for (const Block& block : placed_[clock].blocks)
      alignment = std::max(alignment, alignment_of(block.clock));
    return alignment;
  }

  std::vector<Place> solve_in_parts(const Problem& problem, PlacedClock& placed) {
    std::vector<Place> places(problem.buffers.size());
    Problem rest{.memories = problem.memories};
    std::vector<std::size_t> index_in_rest;
    const Bytes bottom = place_those_that_live_always(problem, places);
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      if (bottom > 0 && lives_always(problem, b)) continue;
      index_in_rest.push_back(b);
      rest.buffers.push_back(problem.buffers[b]);
    }
    if (auto& capacity = rest.memories[0].capacity; capacity && bottom > 0)
      capacity = std::max<Bytes>(*capacity - bottom, 0);
    const auto parts = parts_of(rest);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      Problem part{.memories = rest.memories};
      for (const std::size_t b : parts[p]) part.buffers.push_back(rest.buffers[b]);
      const Solution solution =
          pack::solve(part, options_, deadline_.part(1 / static_cast<double>(parts.size() - p)));
      strategies_.push_back(solution.strategy);
      placed.cost_bound = sum_of_costs(placed.cost_bound, solution.cost_bound);
      result_.interrupted = result_.interrupted || solution.interrupted;
      if (solution.tuning) placed.tunings.push_back(*solution.tuning);
      if (solution.slots) {
        placed.pools.push_back(*solution.slots);
        placed.pools.back().place.offset += bottom;
      }
      for (std::size_t i = 0; i < parts[p].size(); ++i) {
        Place& place = places[index_in_rest[parts[p][i]]];
        place = solution.places[i];
        place.offset += bottom;
      }
    }
    return places;
  }

  /// Whether all bytes of the buffer are alive whenever any buffer of the problem is.
  static bool lives_always(const Problem& problem, std::size_t b) {
    const Buffer& buffer = problem.buffers[b];
    return buffer.kind == TensorKind::state && buffer.pieces.size() == 1 && buffer.size > 0;
  }

  /// With one memory, places them at its bottom, unless buffers have given offsets. Returns the offset at which others
  /// may begin.
  static Bytes place_those_that_live_always(const Problem& problem, std::vector<Place>& places) {
    const bool has_pins =
        std::ranges::any_of(problem.buffers, [](const Buffer& buffer) { return buffer.pinned.has_value(); });
    if (problem.memories.size() > 1 || has_pins) return 0;
    Bytes end = 0;
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      if (!lives_always(problem, b)) continue;
      places[b].offset = base::align_up(end, problem.buffers[b].alignment);
      end = places[b].offset + problem.buffers[b].size;
    }
    return base::align_up(end, problem.memories[0].alignment);
  }

  /// Converts addresses within a clock's block to addresses in memories.
  void move_clock(std::size_t clock, const std::vector<Bytes>& origins) {
    for (const std::size_t b : own_[clock]) result_.places[b].offset += origins[result_.places[b].memory];
    for (SlotPool pool : placed_[clock].pools) {
      pool.place.offset += origins[pool.place.memory];
      result_.slots.push_back(pool);
    }
    result_.tunings.insert(result_.tunings.end(), placed_[clock].tunings.begin(),
                           placed_[clock].tunings.end());
    std::vector<std::pair<std::size_t, std::vector<Bytes>>> branches;
    for (const Block& block : placed_[clock].blocks) {
      if (branches.empty() || branches.back().first != block.clock)
        branches.emplace_back(block.clock, std::vector<Bytes>(origins.size(), 0));
      branches.back().second[block.memory] = origins[block.memory] + block.offset;
    }
    for (const auto& [branch, inside] : branches) move_clock(branch, inside);
  }

  std::span<const Buffer> buffers_;
  std::span<const Clock> clocks_;
  const SolveOptions& options_;
  base::Deadline deadline_;
  std::vector<std::vector<std::size_t>> own_;  ///< Per clock, its buffers.
  std::vector<PlacedClock> placed_;
  std::vector<std::string> strategies_;
  Placement result_;
};

}  // namespace

Placement placement_of(Solution solution, std::size_t memories) {
  Placement placement{.places = std::move(solution.places),
                      .lower_bound = memories == 1 ? solution.lower_bound : 0,
                      .certificate = std::move(solution.certificate),
                      .cost_bound = solution.cost_bound,
                      .strategy = std::move(solution.strategy),
                      .interrupted = solution.interrupted};
  if (solution.slots) placement.slots.push_back(*solution.slots);
  if (solution.tuning) placement.tunings.push_back(*solution.tuning);
  return placement;
}

Placement place(std::span<const Buffer> buffers, std::span<const Clock> clocks,
                const std::vector<Memory>& memories, const SolveOptions& options,
                const base::Deadline& deadline) {
  return Placer(buffers, clocks, options, deadline).place(memories);
}

}  // namespace stowage::plan
