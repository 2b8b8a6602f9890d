// The portfolio: every strategy by its name, and `auto`, which runs them all and keeps the best.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "pack/best_fit_by_start.h"
#include "pack/first_fit_by_start.h"
#include "pack/free_list.h"
#include "pack/greedy_by_area.h"
#include "pack/greedy_by_breadth.h"
#include "pack/greedy_by_duration.h"
#include "pack/greedy_by_size.h"
#include "pack/load.h"
#include "pack/placing.h"
#include "pack/rectangle.h"
#include "pack/sort_order.h"
#include "pack/two_stack.h"
#include "stowage/error.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

struct Strategy {
  StrategyInfo info;
  pack::Placing (*run)(const Problem& problem, const pack::Control& control);
  std::optional<std::string> (*obstacle)(const Problem& problem);
};

std::optional<std::string> nothing(const Problem&) { return std::nullopt; }

constexpr StrategyInfo auto_info{"auto", "the best of all strategies, within the time limit", "stowage"};

constexpr std::array<Strategy, 9> all{{
    {{"greedy-by-size", "largest buffer first, each in the tightest gap", "Pisarchyk & Lee 2020"},
     pack::greedy_by_size,
     pack::several_memories},
    {{"greedy-by-breadth", "buffers of the fullest position first, each in the tightest gap",
      "Pisarchyk & Lee 2020"},
     pack::greedy_by_breadth,
     pack::several_memories},
    {{"greedy-by-area", "largest size times duration first, as low as it goes", "folklore"},
     pack::greedy_by_area,
     pack::several_memories},
    {{"greedy-by-duration", "longest life first, as low as it goes", "folklore"},
     pack::greedy_by_duration,
     pack::several_memories},
    {{"first-fit-by-start", "earliest start first, as low as it goes", "Knuth, TAOCP 1, 2.5"},
     pack::first_fit_by_start,
     pack::several_memories},
    {{"best-fit-by-start", "earliest start first, each in the tightest gap", "Knuth, TAOCP 1, 2.5"},
     pack::best_fit_by_start,
     pack::several_memories},
    {{"rectangle", "sorted, as low as it goes; then what sticks out is ordered anew",
      "Zhejiang Dahua, CN patent application, 2022"},
     pack::rectangle,
     pack::several_memories},
    {{"free-list", "allocates and frees operator by operator, in one memory after the other",
      "CN patent application, 2023"},
     pack::free_list,
     nothing},
    {{"two-stack", "from the outputs backwards, on both sides of an origin", "CN112256441B"},
     pack::two_stack,
     pack::obstacle_to_two_stack},
}};

/// The strategies that a name asks for.
std::vector<const Strategy*> strategies_named(std::string_view name) {
  std::vector<const Strategy*> chosen;
  for (const Strategy& strategy : all) {
    if (name == auto_info.name || name == strategy.info.name) chosen.push_back(&strategy);
  }
  if (!chosen.empty()) return chosen;
  std::vector<std::string_view> names{auto_info.name};
  for (const Strategy& strategy : all) names.push_back(strategy.info.name);
  throw UsageError(
      fmt::format("unknown strategy {}, expected one of {}", base::quoted(name), fmt::join(names, ", ")));
}

/// Limits beyond what the clock can count are no limits, and so is one that is not a number.
std::optional<std::chrono::steady_clock::time_point> deadline_after(std::chrono::duration<double> limit) {
  constexpr std::chrono::hours longest{24 * 365};
  if (!(limit < longest)) return std::nullopt;
  using Clock = std::chrono::steady_clock;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::max(limit, std::chrono::duration<double>(0)));
}

/// Whether a solution is to be preferred: it fits and the other does not, or its peaks are lower.
struct Extent {
  bool exceeds = false;
  Bytes peak = 0;  ///< Sum over memories.

  auto operator<=>(const Extent&) const = default;
};

Extent extent_of(const Problem& problem, const Solution& solution) {
  Extent extent;
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    const Bytes peak = peak_of(problem, solution, m);
    extent.peak += peak;
    extent.exceeds = extent.exceeds || peak > problem.memories[m].capacity.value_or(largest_value);
  }
  return extent;
}

}  // namespace

std::vector<StrategyInfo> strategies() {
  std::vector<StrategyInfo> infos{auto_info};
  for (const Strategy& strategy : all) infos.push_back(strategy.info);
  return infos;
}

std::optional<std::string> obstacle_to(std::string_view strategy, const Problem& problem) {
  std::optional<std::string> first;
  for (const Strategy* const chosen : strategies_named(strategy)) {
    auto obstacle = chosen->obstacle(problem);
    if (!obstacle) return std::nullopt;
    if (!first) first = std::move(obstacle);
  }
  return first;
}

Solution solve(const Problem& problem, const SolveOptions& options) {
  validate(problem);
  if (!options.sort.empty())
    (void)pack::parse_sort_order(options.sort);  // wrong even if nobody comes to use it
  auto chosen = strategies_named(options.strategy);
  std::erase_if(chosen, [&](const Strategy* strategy) { return strategy->obstacle(problem).has_value(); });
  if (chosen.empty()) throw NotApplicable(options.strategy, obstacle_to(options.strategy, problem).value());
  pack::Control control{options, deadline_after(options.time_limit)};
  const bool has_one_memory = problem.memories.size() == 1;
  Solution best{.lower_bound = has_one_memory ? pack::lower_bound_of(problem.buffers) : 0};
  std::optional<Extent> extent;
  bool is_interrupted = false;
  for (const Strategy* const strategy : chosen) {
    if (extent && extent->peak == best.lower_bound) break;
    if (extent && control.is_time_up()) {
      is_interrupted = true;
      break;
    }
    pack::Placing placing = strategy->run(problem, control);
    is_interrupted = is_interrupted || placing.cut_short;
    Solution found{.places = std::move(placing.places),
                   .lower_bound = best.lower_bound,
                   .strategy = std::string(strategy->info.name)};
    const Extent found_extent = extent_of(problem, found);
    if (!extent || found_extent < *extent) {
      extent = found_extent;
      best = std::move(found);
    }
    control.has_plan = true;
  }
  if (!has_one_memory) {
    for (const Bytes bound : pack::lower_bounds_of(problem, best)) best.lower_bound += bound;
  }
  best.interrupted = is_interrupted && extent->peak != best.lower_bound;  // else nothing was left to be found
  if (extent->exceeds) best.outcome = Outcome::exceeds_capacity;
  return best;
}

}  // namespace stowage
