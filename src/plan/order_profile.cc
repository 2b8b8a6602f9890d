// Idea. Two orders of the same steps are compared by what is alive at each position, and by the fewest
// operators that have to be moved to make one of the other: those that are not in a longest sequence
// whose steps come in the same order in both.
//
//     own       a b c d e f
//     planned   a d b c f e        a b c f stay, d and e were moved
//
// The longest such sequence is a longest increasing subsequence of the own positions, read in the plan's
// order, found by binary search in the ends of the best sequence of each length. Cost: steps * log(steps).

#include "plan/order_profile.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <variant>

#include "lifetime/keep_order.h"
#include "plan/networks.h"
#include "plan/ordering.h"

namespace stowage::plan {
namespace {

using Path = std::vector<std::size_t>;

std::vector<Path> paths_of(const Clock& clock) {
  std::vector<Path> paths;
  for (const Step& step : clock.steps) paths.push_back(std::get<Run>(step).path);
  return paths;
}

std::vector<std::string> names_of(const Graph& graph, const Clock& clock) {
  std::vector<std::string> names;
  for (const Path& path : paths_of(clock)) {
    const Operator& op = graph.subgraphs[path[path.size() - 2]].operators[path.back()];
    names.push_back(op.name.empty() ? op.type : op.name);
  }
  return names;
}

/// The plan's steps without copies from memory to memory.
Clock runs_of(const Plan& plan) {
  Clock clock;
  std::copy_if(plan.clocks[0].steps.begin(), plan.clocks[0].steps.end(), std::back_inserter(clock.steps),
               [](const Step& step) { return std::holds_alternative<Run>(step); });
  return clock;
}

/// For each of these numbers, all different, whether it is in a longest increasing subsequence, always the
/// same one.
std::vector<bool> longest_increasing(const std::vector<std::size_t>& numbers) {
  std::vector<std::size_t> ends;  // by length: where the sequence with the least last number ends
  std::vector<std::size_t> before(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto at = std::ranges::lower_bound(ends, numbers[i], {}, [&](std::size_t e) { return numbers[e]; });
    before[i] = at == ends.begin() ? i : *std::prev(at);
    if (at == ends.end()) {
      ends.push_back(i);
    } else {
      *at = i;
    }
  }
  std::vector<bool> is_in(numbers.size(), false);
  if (ends.empty()) return is_in;
  for (std::size_t i = ends.back(); !is_in[i]; i = before[i]) is_in[i] = true;
  return is_in;
}

std::vector<MovedOperator> moved_between(const Clock& own, const Clock& planned,
                                         const std::vector<std::string>& planned_names) {
  std::map<Path, std::size_t> own_positions;
  for (const Path& path : paths_of(own)) own_positions.emplace(path, own_positions.size());
  std::vector<std::size_t> from;
  for (const Path& path : paths_of(planned)) from.push_back(own_positions.at(path));
  const std::vector<bool> stays = longest_increasing(from);
  std::vector<MovedOperator> moved;
  for (std::size_t to = 0; to < from.size(); ++to) {
    if (!stays[to]) moved.push_back({planned_names[to], from[to], to});
  }
  return moved;
}

}  // namespace

std::optional<OrderProfile> order_profile_of(const Input& input, const PlanOptions& options,
                                             const Plan& plan) {
  const auto* const graph = std::get_if<Graph>(&input.content);
  if (graph == nullptr || plan.order_searches.size() != 1 || plan.clocks.size() != 1) return std::nullopt;
  const Clock own = lifetime::keep_order(*graph, 0);
  const Clock planned = runs_of(plan);
  if (planned.steps == own.steps) return std::nullopt;
  const OrderingOptions ordering = ordering_options_of(input, 0, options);
  OrderProfile profile;
  profile.own = loads_of(*graph, own, ordering);
  profile.planned = loads_of(*graph, planned, ordering);
  profile.own_names = names_of(*graph, own);
  profile.planned_names = names_of(*graph, planned);
  profile.moved = moved_between(own, planned, profile.planned_names);
  return profile;
}

}  // namespace stowage::plan
