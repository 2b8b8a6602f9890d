// The portfolio: every strategy of this folder, and the best of several.

#include "pack/portfolio.h"

#include <algorithm>
#include <array>

#include "pack/best_fit_by_start.h"
#include "pack/exact.h"
#include "pack/first_fit_by_start.h"
#include "pack/free_list.h"
#include "pack/greedy_by_area.h"
#include "pack/greedy_by_breadth.h"
#include "pack/greedy_by_duration.h"
#include "pack/greedy_by_size.h"
#include "pack/load.h"
#include "pack/rectangle.h"
#include "pack/score.h"
#include "pack/slots.h"
#include "pack/sweep.h"
#include "pack/two_stack.h"

namespace stowage::pack {
namespace {

std::optional<std::string> nothing(const Problem&) { return std::nullopt; }

constexpr std::array<Strategy, 12> all{{
    {{"greedy-by-size", "largest buffer first, each in the tightest gap", "Pisarchyk & Lee 2020"},
     greedy_by_size,
     several_memories},
    {{"greedy-by-breadth", "buffers of the fullest position first, each in the tightest gap",
      "Pisarchyk & Lee 2020"},
     greedy_by_breadth,
     several_memories},
    {{"greedy-by-area", "largest size times duration first, as low as it goes", "folklore"},
     greedy_by_area,
     several_memories},
    {{"greedy-by-duration", "longest life first, as low as it goes", "folklore"},
     greedy_by_duration,
     several_memories},
    {{"first-fit-by-start", "earliest start first, as low as it goes", "Knuth, TAOCP 1, 2.5"},
     first_fit_by_start,
     several_memories},
    {{"best-fit-by-start", "earliest start first, each in the tightest gap", "Knuth, TAOCP 1, 2.5"},
     best_fit_by_start,
     several_memories},
    {{"sweep", "from the fullest position to both sides; what is left over throws out what weighs less",
      "stowage"},
     sweep,
     several_memories},
    {{"exact", "branch and bound over sections of time, and a search by ejection; proves where it can",
      "stowage"},
     exact,
     obstacle_to_exact},
    {{"rectangle", "sorted, as low as it goes; then what sticks out is ordered anew",
      "Zhejiang Dahua, CN patent application, 2022"},
     rectangle,
     several_memories},
    {{"free-list", "allocates and frees operator by operator, in one memory after the other",
      "CN patent application, 2023"},
     free_list,
     nothing},
    {{"two-stack", "from the outputs backwards, on both sides of an origin", "CN112256441B"},
     two_stack,
     obstacle_to_two_stack},
    {{"slots", "equal slots, as many as buffers are alive at once", "CN patent application, 2024"},
     slots,
     obstacle_to_slots},
}};

/// Buffers. Of that many a strategy may take so long that there is to be another plan before it, and of very
/// many most passes take longer than the sweep.
constexpr std::size_t many = 1000;
constexpr std::size_t very_many = 10000;

/// Of many buffers first comes a pass that is quick, whatever was chosen, so that there is a plan and all
/// that follow can be cut by the clock.
std::vector<const Strategy*> in_order(const Problem& problem, std::span<const Strategy* const> strategies) {
  std::vector<const Strategy*> order(strategies.begin(), strategies.end());
  if (problem.buffers.size() < many || problem.memories.size() > 1) return order;
  if (problem.buffers.size() >= very_many)
    std::stable_partition(order.begin(), order.end(), [](const Strategy* it) { return it->run == sweep; });
  std::erase_if(order, [](const Strategy* it) { return it->run == free_list; });
  const auto quick =
      std::find_if(all.begin(), all.end(), [](const Strategy& it) { return it.run == free_list; });
  order.insert(order.begin(), &*quick);
  return order;
}

/// The first plan of many buffers may take a little longer than there is time for, for one that is cut is of
/// little use.
Control grace_of(const Problem& problem, const Control& control) {
  constexpr std::chrono::nanoseconds least = std::chrono::milliseconds(20);
  constexpr std::chrono::nanoseconds per_buffer{200};
  Control grace = control;
  grace.has_plan = true;
  if (grace.deadline) *grace.deadline += std::max(least, per_buffer * std::ssize(problem.buffers));
  return grace;
}

/// The exact search ends when its time does; a third of what is left is for the tuning of `rectangle`, which
/// sometimes finds what the other does not.
Control share_of(const Strategy& strategy, const Control& control) {
  Control share = control;
  if (strategy.run != exact || !control.deadline) return share;
  const auto now = std::chrono::steady_clock::now();
  if (*control.deadline > now) share.deadline = now + 2 * (*control.deadline - now) / 3;
  return share;
}

/// Nothing is left to be found: what is proven is reached.
bool is_optimal(const Problem& problem, const Score& score, const Solution& solution) {
  if (total_peak(score) != solution.lower_bound) return false;
  return problem.memories.size() == 1 || (score.excess == 0 && score.cost == solution.cost_bound);
}

}  // namespace

std::span<const Strategy> packers() { return all; }

Solution best_of(const Problem& problem, std::span<const Strategy* const> strategies, Control control) {
  const bool has_one_memory = problem.memories.size() == 1;
  Bytes bound = has_one_memory ? lower_bound_of(problem.buffers) : 0;
  Solution best;
  std::optional<Score> score;
  std::int64_t cost_bound = 0;
  bool is_interrupted = false;
  bool has_stopgap = false;
  const auto control_of = [&](const Strategy& strategy) {
    if (strategy.run == free_list && problem.buffers.size() >= many) return grace_of(problem, control);
    return strategies.size() > 1 ? share_of(strategy, control) : control;
  };
  for (const Strategy* const strategy : in_order(problem, strategies)) {
    if (score && !has_stopgap && has_one_memory && total_peak(*score) == bound) break;
    if (score && control.is_time_up()) {
      is_interrupted = true;
      break;
    }
    if (strategies.size() > 1 && strategy->obstacle(problem)) continue;  // asked late: it takes time
    Placing placing = strategy->run(problem, control_of(*strategy));
    is_interrupted = is_interrupted || placing.cut_short;
    if (placing.places.empty() && !problem.buffers.empty()) continue;
    cost_bound = std::max(cost_bound, placing.cost_bound);
    if (placing.lower_bound > bound) {
      bound = placing.lower_bound;
      best.certificate = std::move(placing.certificate);
    }
    Score found = score_of(problem, placing.places);
    if (!score || found < *score || (has_stopgap && !placing.cut_short)) {
      has_stopgap = std::none_of(strategies.begin(), strategies.end(),
                                 [&](const Strategy* it) { return it->run == strategy->run; });
      score = std::move(found);
      best.places = std::move(placing.places);
      best.strategy = strategy->info.name;
    }
    control.has_plan = true;
    if (placing.is_least) break;
  }
  best.lower_bound = bound;
  if (!has_one_memory) {
    for (const Bytes part : lower_bounds_of(problem, best)) best.lower_bound += part;
    best.cost = score->cost;
    best.cost_bound = std::min(cost_bound, best.cost);
  }
  best.interrupted = is_interrupted && !is_optimal(problem, *score, best);
  if (score->excess > 0) best.outcome = Outcome::exceeds_capacity;
  return best;
}

}  // namespace stowage::pack
