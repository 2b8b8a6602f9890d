// The portfolio: every strategy by its name, and `auto`, which runs them all and keeps the best.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "pack/best_fit_by_start.h"
#include "pack/first_fit_by_start.h"
#include "pack/greedy_by_area.h"
#include "pack/greedy_by_breadth.h"
#include "pack/greedy_by_duration.h"
#include "pack/greedy_by_size.h"
#include "pack/load.h"
#include "pack/placing.h"
#include "stowage/error.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

struct Strategy {
  StrategyInfo info;
  pack::Placing (*run)(const Problem& problem, const pack::Control& control);
};

constexpr StrategyInfo auto_info{"auto", "the best of all strategies, within the time limit", "stowage"};

constexpr std::array<Strategy, 6> all{{
    {{"greedy-by-size", "largest buffer first, each in the tightest gap", "Pisarchyk & Lee 2020"},
     pack::greedy_by_size},
    {{"greedy-by-breadth", "buffers of the fullest position first, each in the tightest gap",
      "Pisarchyk & Lee 2020"},
     pack::greedy_by_breadth},
    {{"greedy-by-area", "largest size times duration first, as low as it goes", "folklore"},
     pack::greedy_by_area},
    {{"greedy-by-duration", "longest life first, as low as it goes", "folklore"}, pack::greedy_by_duration},
    {{"first-fit-by-start", "earliest start first, as low as it goes", "Knuth, TAOCP 1, 2.5"},
     pack::first_fit_by_start},
    {{"best-fit-by-start", "earliest start first, each in the tightest gap", "Knuth, TAOCP 1, 2.5"},
     pack::best_fit_by_start},
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

Bytes peak_of_offsets(const Problem& problem, const std::vector<Bytes>& offsets) {
  Bytes peak = 0;
  for (std::size_t b = 0; b < offsets.size(); ++b)
    peak = std::max(peak, offsets[b] + problem.buffers[b].size);
  return peak;
}

}  // namespace

std::vector<StrategyInfo> strategies() {
  std::vector<StrategyInfo> infos{auto_info};
  for (const Strategy& strategy : all) infos.push_back(strategy.info);
  return infos;
}

Solution solve(const Problem& problem, const SolveOptions& options) {
  const auto chosen = strategies_named(options.strategy);
  validate(problem);
  if (problem.memories.size() != 1) {
    throw UsageError(fmt::format("{} memories are given, expected one", problem.memories.size()));
  }
  const auto deadline = deadline_after(options.time_limit);
  pack::Control control{options.stop, std::nullopt, options.progress};  // the first is not cut by the clock
  Solution best{.lower_bound = pack::lower_bound_of(problem.buffers)};
  std::optional<Bytes> best_peak;
  for (const Strategy* const strategy : chosen) {
    if (best_peak && (*best_peak == best.lower_bound)) break;
    if (best_peak && control.should_stop()) {
      best.interrupted = true;
      break;
    }
    const pack::Placing placing = strategy->run(problem, control);
    best.interrupted = best.interrupted || placing.cut_short;
    const Bytes peak = peak_of_offsets(problem, placing.offsets);
    if (!best_peak || peak < *best_peak) {
      best_peak = peak;
      best.strategy = strategy->info.name;
      best.places.clear();
      for (const Bytes offset : placing.offsets) best.places.push_back({0, offset});
    }
    control.deadline = deadline;
  }
  if (*best_peak == best.lower_bound) best.interrupted = false;  // nothing was left to be found
  if (*best_peak > problem.memories[0].capacity.value_or(largest_value))
    best.outcome = Outcome::exceeds_capacity;
  return best;
}

}  // namespace stowage
