// The public face of packing: every strategy by its name, and `auto`, the best of them all.

#include "pack/solve.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "base/nearest.h"
#include "base/text.h"
#include "pack/memories/assign.h"
#include "pack/memories/cost_bound.h"
#include "pack/portfolio.h"
#include "pack/relations/relations.h"
#include "pack/shares.h"
#include "pack/sort_order.h"
#include "stowage/error.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

/// Buffers, of which a start is kept: each pair that is live together is looked at.
constexpr std::size_t most_kept = 3000;

constexpr StrategyInfo auto_info{"auto", "the best of those that it runs, within the time limit", "stowage"};

const std::vector<pack::Strategy>& all() {
  static const std::vector<pack::Strategy> strategies = [] {
    std::vector<pack::Strategy> them(pack::packers().begin(), pack::packers().end());
    const auto by_name =
        std::ranges::find(them, false, [](const pack::Strategy& it) { return it.info.is_in_auto; });
    them.insert(by_name, {{"levels", "chooses what lives in fast memory by what it saves", "stowage"},
                          memories::assign,
                          memories::obstacle_to_assign});
    return them;
  }();
  return strategies;
}

struct Renamed {
  std::string_view before;
  std::string_view now;
};
/// Names that strategies had: what is now a pass of another one was one of its own.
constexpr std::array<Renamed, 3> renamed{
    {{"sweep", "from-peak"}, {"free-list-best", "free-list"}, {"two-stack-best", "two-stack"}}};

/// The strategies of that name, now or before.
std::vector<const pack::Strategy*> strategies_named(std::string_view name) {
  const auto old = std::ranges::find(renamed, name, &Renamed::before);
  if (old != renamed.end()) name = old->now;
  std::vector<const pack::Strategy*> chosen;
  for (const pack::Strategy& strategy : all()) {
    if (name == auto_info.name ? strategy.info.is_in_auto : name == strategy.info.name)
      chosen.push_back(&strategy);
  }
  if (!chosen.empty()) return chosen;
  std::string names(auto_info.name);
  for (const pack::Strategy& strategy : all()) names += base::concat(", ", strategy.info.name);
  std::vector<std::string> known;
  for (const StrategyInfo& it : strategies()) known.emplace_back(it.name);
  throw UsageError(base::concat("unknown strategy ", base::quoted(name), ", expected one of ", names,
                                base::did_you_mean(name, known)));
}

/// Where buffers were before, if that is as good, or there was no time for a search. Whatever is too large or too cut up to
/// keep is left as it is.
void keep_start(const Problem& problem, const SolveOptions& options, bool is_late, Solution& best) {
  const bool is_whole = std::ranges::all_of(problem.buffers, [](const Buffer& buffer) {
    return std::ranges::all_of(buffer.pieces, [&](const Piece& piece) {
      return !piece.is_ever_alive() || (piece.offset == 0 && piece.size == buffer.size);
    });
  });
  if (!is_whole || problem.buffers.size() > most_kept || !pack::common_alignment(problem)) return;
  auto kept = pack::relations::keep_places(problem, options.start);
  if (!kept) return;
  const pack::Score score = pack::score_of(problem, *kept);
  if (score > pack::score_of(problem, best.places, best.slots) && !(is_late && score.excess == 0)) return;
  best.places = std::move(*kept);
  best.slots.reset();
  best.tuning.reset();
  best.outcome = score.excess == 0 ? Outcome::fits : Outcome::exceeds_capacity;
  if (problem.memories.size() > 1) best.cost = score.cost;
}

}  // namespace

std::vector<StrategyInfo> strategies() {
  std::vector<StrategyInfo> infos{auto_info};
  for (const pack::Strategy& strategy : all()) infos.push_back(strategy.info);
  return infos;
}

std::optional<std::string> obstacle_to(std::string_view strategy, const Problem& problem) {
  const auto named = strategies_named(strategy);
  std::optional<std::string> first;
  if (problem.is_related() && named.size() == 1)
    return "relations between buffers and reserved bytes are for auto";
  for (const pack::Strategy* const chosen : named) {
    auto obstacle = chosen->obstacle(problem);
    if (!obstacle) return std::nullopt;
    if (!first) first = std::move(obstacle);
  }
  return first;
}

Solution solve(const Problem& problem, const SolveOptions& options) {
  return pack::solve(problem, options, pack::deadline_of(options));
}

Solution pack::solve(const Problem& problem, const SolveOptions& options, const base::Deadline& deadline) {
  validate(problem);
  if (!options.sort.empty())
    (void)pack::parse_sort_order(options.sort);  // an error even if no strategy uses it
  const auto chosen = strategies_named(options.strategy);
  if (problem.is_related()) {
    if (chosen.size() == 1)
      throw NotApplicable(options.strategy, "relations between buffers and reserved bytes are for auto");
    return relations::solve(problem, {options, deadline});
  }
  if (chosen.size() == 1) {
    if (const auto obstacle = chosen[0]->obstacle(problem)) throw NotApplicable(options.strategy, *obstacle);
  }
  const bool is_late = deadline.is_over();
  Solution best = pack::best_of(problem, chosen, {options, deadline});
  if (!options.start.empty()) keep_start(problem, options, is_late, best);
  for (std::size_t b = 0; b < best.places.size(); ++b)
    best.memory_cost += extra_cost(problem, b, best.places[b].memory);
  const bool is_bounded = problem.memories.size() == 1 || best.cost_bound > 0;
  if (is_bounded) return best;
  const std::int64_t bound = memories::cost_bound(problem, deadline.later_by(pack::shares::proof));
  best.cost_bound = std::min(bound, best.cost);
  return best;
}

}  // namespace stowage
