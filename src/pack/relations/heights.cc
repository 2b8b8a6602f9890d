// Low placings of items that only must be apart, as those of lives in a partial order: the height is all that counts.
//
// Two searches take turns, each from the lowest placing so far: one of orders in which items drop (orders.cc), and one that
// lowers a placing cap by cap (descents.cc). For the second, an item is the heavier, the larger it is and the more others
// it meets:
//
//     weight at first    sqrt(size * neighbours)
//
// Where they get stuck is a matter of luck. So all of that runs twice from the first placing: the better of two runs of half
// the time is mostly lower than one run.
//
// A new placing drops into its gaps before the next cap: without that, caps fall only by what they are lowered.
//
// Who knows the lives knows that bound (partial_lives.cc). Otherwise it is from cliques, items that are related each with
// each: from each item on, others that are related to all so far join, the larger ones first.
//
// Cost: items * (items + members of a clique * items / 64) for cliques; what the deadline leaves for searches.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pack/descents.h"
#include "pack/relations/orders.h"
#include "pack/relations/search.h"

namespace stowage::pack::relations {
namespace {

constexpr std::size_t most_in_cliques = 8192;  // a bit for each pair: 8 MiB
constexpr Bytes first_part = 4;
constexpr std::int64_t patience_per_pair = 200;
constexpr std::int64_t most_failures = 60;
constexpr std::ptrdiff_t most_in_orders = 2048;  // with more, the time is for few steps
constexpr int turns = 5;
constexpr double share_of_orders = 0.4;  ///< Of the time of a turn.
constexpr std::uint64_t height_runs = 2;

/// A placing, and its highest end.
struct Found {
  Cells cells{};
  Bytes height = 0;
};

using Listed = std::vector<std::vector<std::uint32_t>>;

bool is_pinned(const Item& item) {
  return item.ranges.size() == 1 && item.ranges[0].first == item.ranges[0].last;
}

/// The heaviest of some cliques.
Cell heaviest_clique(const Part& part, const Listed& met) {
  const std::size_t count = part.items.size();
  if (count > most_in_cliques) return 0;
  std::vector<std::vector<bool>> related(count, std::vector<bool>(count));
  for (std::size_t i = 0; i < count; ++i)
    for (const std::uint32_t other : met[i]) related[i][other] = true;
  std::vector<std::size_t> by_size(count);
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::ranges::stable_sort(by_size, std::ranges::greater{},
                           [&](std::size_t i) { return part.items[i].size; });
  Cell heaviest = 0;
  std::vector<std::size_t> members;
  for (std::size_t seed = 0; seed < count; ++seed) {
    members.assign(1, seed);
    Cell weight = part.items[seed].size;
    for (const std::size_t i : by_size) {
      if (!std::ranges::all_of(members, [&](std::size_t member) { return related[i][member]; })) continue;
      members.push_back(i);
      weight += part.items[i].size;
    }
    heaviest = std::max(heaviest, weight);
  }
  return heaviest;
}

}  // namespace

bool is_only_apart(const Part& part) {
  return std::ranges::all_of(part.items, [](const Item& item) {
    return item.phase == 0 && item.ranges.size() == 1 &&
           std::ranges::all_of(item.neighbours, &Neighbour::is_hard);
  });
}

Cell lower_height(const Part& part, Cell enough, Cells& cells, const Control& control) {
  Listed met;
  std::vector<Movable> movables;
  std::int64_t pairs = 0;
  bool has_pins = false;
  Cell height = 0;
  Cell bound = enough;
  for (std::size_t i = 0; i < part.items.size(); ++i) {
    const Item& item = part.items[i];
    auto& own = met.emplace_back();
    for (const Neighbour& it : item.neighbours) own.push_back(it.item);
    pairs += std::ssize(own);
    const double weight = std::sqrt(static_cast<double>(item.size) * static_cast<double>(own.size()));
    movables.push_back({.size = item.size, .alignment = item.step, .weight = weight});
    height = std::max(height, cells[i] + item.size);
    if (!is_pinned(item)) continue;
    has_pins = true;
    movables.back().pin = item.ranges[0].first;
    bound = std::max(bound, item.ranges[0].first + item.size);
  }
  if (height > bound && control.least_peak == 0) {
    bound = std::max(bound, heaviest_clique(part, met));
    control.spend(std::ssize(met) * std::ssize(met));
  }
  if (height <= bound || control.is_time_up()) return bound;
  const auto meetings = has_pins ? std::nullopt : Meetings::listed(met);
  const auto clashes = [&]() -> ClashesOf {
    return [&, found = std::vector<ForbiddenOffsets>()](std::uint32_t i) mutable {
      found.clear();
      for (const std::uint32_t other : met[i])
        found.push_back({other, -movables[i].size, movables[other].size});
      return std::span<const ForbiddenOffsets>(found);
    };
  };
  // From the same placing, with other random numbers each time.
  const auto search = [&](Cells start, std::uint64_t seed, const Control& all) {
    Found found{.cells = std::move(start), .height = height};
    std::optional<OrderSearch> orders;
    if (std::ssize(met) <= most_in_orders) orders.emplace(movables, met, bound, seed);
    for (int turn = 0; turn < turns; ++turn) {
      const int left = turns - turn;
      Control own = all;
      if (orders) {
        own.deadline = all.deadline.part(share_of_orders / left);
        orders->run(found.cells, own);
        if (orders->peak() < found.height) found = {orders->offsets(), orders->peak()};
        if (found.height <= bound || all.is_time_up()) break;
        own.deadline = all.deadline.part((1 - share_of_orders) / (left - share_of_orders));
      }
      own.options.seed = seed;
      Descents descents({.movables = movables,
                         .clashes = clashes,
                         .meetings = meetings ? &*meetings : nullptr,
                         .pairs = pairs / 2,
                         .first_part = first_part,
                         .patience_per_pair = patience_per_pair,
                         .most_failures = most_failures,
                         .drops = true},
                        found.cells, bound, own, "relations");
      descents.run();
      found = {descents.offsets(), descents.peak()};
      if (found.height <= bound || all.is_time_up() || !orders) break;
    }
    return found;
  };
  const Cells start = cells;
  for (std::uint64_t run = 0; run < height_runs; ++run) {
    Control all = control;
    all.deadline = control.deadline.part(1 / static_cast<double>(height_runs - run));
    Found found = search(start, control.options.seed * height_runs + run, all);
    if (found.height < height) {
      height = found.height;
      cells = std::move(found.cells);
    }
    if (height <= bound || control.is_time_up()) break;
  }
  return bound;
}

}  // namespace stowage::pack::relations
