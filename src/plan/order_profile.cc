// Two orders of the same steps are compared by live bytes at each position, and by the fewest operators
// that must move to turn one into the other: those outside a longest sequence that has the same order in
// both.
//
//     own       a b c d e f
//     planned   a d b c f e        a b c f stay, d and e were moved
//
// The longest such sequence is a longest increasing subsequence of the own positions, read in the plan's
// order. Binary search over the ends of the best sequence of each length finds it. Cost: steps * log(steps).

#include "plan/order_profile.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

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

OrderLoads loads_of(const Schedule& schedule, const std::vector<std::string>& names) {
  std::vector<Bytes> loads(names.size() + 1, 0);  // first changes, then sums
  for (const Buffer& buffer : schedule.shares->buffers.buffers) {
    for (const Piece& piece : buffer.pieces) {
      loads[static_cast<std::size_t>(piece.life.lower)] += piece.size;
      loads[static_cast<std::size_t>(piece.life.upper)] -= piece.size;
    }
  }
  std::partial_sum(loads.begin(), loads.end(), loads.begin());
  loads.pop_back();
  const auto peak = static_cast<std::size_t>(std::ranges::max_element(loads) - loads.begin());
  return {std::move(loads), names[peak]};
}

/// Whether each of these distinct numbers is in a longest increasing subsequence, always the same one.
std::vector<bool> longest_increasing(const std::vector<std::size_t>& numbers) {
  std::vector<std::size_t> ends;  // by length: the end of the sequence with the least last number
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
                                         const std::vector<std::string>& names) {
  std::map<Path, std::size_t> own_positions;
  for (const Path& path : paths_of(own)) own_positions.emplace(path, own_positions.size());
  std::vector<std::size_t> from;
  for (const Path& path : paths_of(planned)) from.push_back(own_positions.at(path));
  const std::vector<bool> stays = longest_increasing(from);
  std::vector<MovedOperator> moved;
  for (std::size_t to = 0; to < from.size(); ++to) {
    if (!stays[to]) moved.push_back({names[to], from[to], to});
  }
  return moved;
}

}  // namespace

std::optional<OrderProfile> order_profile_of(const NetworkFacts& network, const Schedule& own,
                                             const Schedule& planned) {
  if (planned.operators == own.operators) return std::nullopt;
  const Clock own_clock = network.clock_of(own);
  const Clock planned_clock = network.clock_of(planned);
  const std::vector<std::string> names = names_of(network.graph(), planned_clock);
  return OrderProfile{.own = loads_of(own, names_of(network.graph(), own_clock)),
                      .planned = loads_of(planned, names),
                      .moved = moved_between(own_clock, planned_clock, names)};
}

}  // namespace stowage::plan
