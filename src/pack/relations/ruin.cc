// Ruin and recreate: take a few items out and place them again, each in the place that costs least among those that are
// there. A worse placing is kept now and then, ever more rarely (as in simulated annealing).
//
//     AAA.BBBB.CC  ->  AAA......CC  ->  AAA.DD...CC  ->  AAABBBB..CC, D has no place: that costs, too
//
// Items that are often without a place cost more and more, so all get one in the end.
//
// Sources: Schrimpf, Schneider, Stamm-Wilbrandt & Dueck, "Record breaking optimization results using the ruin and
// recreate principle", 2000; blinks from Christiaens & Vanden Berghe, "Slack induction by string removals", 2020.
//
// Cost: a step scans up to 14 items, each as `Scan` says. It ends with the deadline.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "pack/relations/search.h"

namespace stowage::pack::relations {

std::int64_t cost_of(const Part& part, std::size_t item, const Cells& cells) {
  if (cells[item] == nowhere) return 0;
  std::int64_t cost = part.items[item].cost_at(cells[item]);
  for (const Neighbour& it : part.items[item].neighbours) {
    if (it.cost > 0 && touches(part, item, cells[item], it.item, cells)) cost += it.cost;
  }
  return cost;
}

double mean_cost(const Part& part) {
  double sum = 0;
  double count = 0;
  const auto add = [&](std::int64_t cost) {
    if (cost == 0) return;
    sum += static_cast<double>(cost);
    ++count;
  };
  for (const Item& item : part.items) {
    for (const Range& range : item.ranges) add(range.cost);
    for (const Neighbour& it : item.neighbours) add(it.cost);
  }
  return count == 0 ? 1 : std::max(sum / count, 1.0);
}

namespace {

enum class Tie : std::uint8_t { lowest, highest, tightest, random };
constexpr std::size_t ties = 4;

/// Nanoseconds, about, of scanning an item.
std::int64_t work_of(const Item& item) {
  return 200 + 12 * static_cast<std::int64_t>(item.neighbours.size());
}

class Ruin {
 public:
  Ruin(const Part& part, Scan& scan, Random& random) : part_(part), scan_(scan), random_(random) {}

  /// Places an item where it costs least; false if there is no room.
  bool insert(std::size_t item, Tie tie, Arrangement& it, bool blinks) {
    constexpr std::uint64_t one_in = 100;
    const auto segments = scan_.segments(item, it.cells, weight_of, 1);
    const Segment* best = nullptr;
    std::size_t equal = 0;
    for (const Segment& segment : segments) {
      if (segment.cost >= forbidden) continue;
      if (blinks && random_.below(one_in) == 0) continue;
      if (best == nullptr || segment.cost < best->cost) {
        best = &segment;
        equal = 1;
        continue;
      }
      if (segment.cost > best->cost) continue;
      ++equal;
      const bool is_taken = tie == Tie::highest || (tie == Tie::random && random_.below(equal) == 0) ||
                            (tie == Tie::tightest && segment.last - segment.first < best->last - best->first);
      if (is_taken) best = &segment;
    }
    if (best == nullptr) return false;
    const bool is_low = tie == Tie::lowest || (tie != Tie::highest && random_.below(2) == 0);
    it.cells[item] = is_low ? best->first : best->last;
    it.cost += best->cost;
    --it.missing;
    return true;
  }

  /// Places an item in the lowest place, whatever it costs; false if there is no room.
  bool insert_lowest(std::size_t item, Arrangement& it) {
    const auto segments = scan_.segments(
        item, it.cells, [](const Neighbour& other) { return other.is_hard ? forbidden : 0; }, 0);
    const auto free = std::ranges::find(segments, 0, &Segment::cost);
    if (free == segments.end()) return false;
    it.cells[item] = free->first;
    it.cost += cost_of(part_, item, it.cells);
    --it.missing;
    return true;
  }

  void remove(std::size_t item, Arrangement& it) const {
    if (it.cells[item] == nowhere) return;
    it.cost -= cost_of(part_, item, it.cells);
    it.cells[item] = nowhere;
    ++it.missing;
  }

  /// Some items near one that costs something or has no place.
  [[nodiscard]] std::vector<std::size_t> choose(const Arrangement& it) {
    constexpr int tries = 8;
    const std::size_t n = part_.items.size();
    std::size_t seed = random_.below(n);
    for (int i = 0; i < tries && it.cells[seed] != nowhere && cost_of(part_, seed, it.cells) == 0; ++i)
      seed = random_.below(n);
    const std::size_t count = std::min<std::size_t>(2 + random_.below(13), n);
    std::vector<std::size_t> chosen{seed};
    const auto add = [&](std::size_t item) {
      if (std::ranges::find(chosen, item) == chosen.end()) chosen.push_back(item);
    };
    if (random_.below(2) == 0) {
      for (std::size_t i = 0; i < 3 * count && chosen.size() < count; ++i) {
        const auto& neighbours = part_.items[chosen[random_.below(chosen.size())]].neighbours;
        if (!neighbours.empty()) add(neighbours[random_.below(neighbours.size())].item);
      }
    } else {
      std::vector<std::pair<Cell, std::size_t>> near;
      for (const Neighbour& neighbour : part_.items[seed].neighbours)
        near.emplace_back(std::abs(it.cells[neighbour.item] - it.cells[seed]), neighbour.item);
      const std::size_t some = std::min(near.size(), count + 4);
      std::ranges::partial_sort(near, near.begin() + static_cast<std::ptrdiff_t>(some));
      for (std::size_t i = 0; i < some && chosen.size() < count; ++i) {
        if (random_.below(5) != 0) add(near[i].second);
      }
    }
    return chosen;
  }

  void sort(std::vector<std::size_t>& items, const Cells& before) {
    constexpr std::size_t orders = 5;
    const std::size_t order = random_.below(orders);
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random_.below(i)]);
    const auto key = [&](std::size_t i) -> Cell {
      const Item& item = part_.items[i];
      const auto degree = static_cast<Cell>(item.neighbours.size());
      switch (order) {
        case 0:
          return -item.size;
        case 1:
          return -degree;
        case 2:
          return -item.size * degree;
        case 3:
          return before[i];
        default:
          return 0;
      }
    };
    std::ranges::stable_sort(items, {}, key);
  }

 private:
  const Part& part_;
  Scan& scan_;
  Random& random_;
};

}  // namespace

Arrangement construct(const Part& part, Scan& scan) {
  Random random(0);
  Ruin ruin(part, scan, random);
  std::vector<std::size_t> order(part.items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Arrangement best{.missing = order.size() + 1};
  for (int key = 0; key < 3 && (!best.fits() || best.cost > 0); ++key) {
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) -> Cell {
      const auto degree = static_cast<Cell>(part.items[i].neighbours.size());
      return key == 0 ? part.items[i].size : key == 1 ? part.items[i].size * degree : degree;
    });
    Arrangement it{.cells = Cells(order.size(), nowhere), .missing = order.size()};
    for (const std::size_t item : order) ruin.insert(item, Tie::lowest, it, false);
    if (it.is_better_than(best)) best = std::move(it);
  }
  return best;
}

Arrangement construct_without_costs(const Part& part, Scan& scan) {
  Random random(0);
  Ruin ruin(part, scan, random);
  std::vector<std::size_t> order(part.items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return part.items[i].size; });
  Arrangement it{.cells = Cells(order.size(), nowhere), .missing = order.size()};
  for (const std::size_t item : order) ruin.insert_lowest(item, it);
  return it;
}

Arrangement keep(const Part& part, Scan& scan, const Cells& cells) {
  Random random(0);
  Ruin ruin(part, scan, random);
  Arrangement it{.cells = Cells(cells.size(), nowhere), .missing = cells.size()};
  const auto may_be = [&](std::size_t i) {
    const Item& item = part.items[i];
    return cells[i] != nowhere && aligned_up(cells[i], item.step, item.phase) == cells[i] &&
           std::ranges::any_of(
               item.ranges,
               [&](const Range& range) { return range.first <= cells[i] && cells[i] <= range.last; }) &&
           std::ranges::none_of(item.neighbours, [&](const Neighbour& other) {
             return other.is_hard && touches(part, i, cells[i], other.item, it.cells);
           });
  };
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!may_be(i)) continue;
    it.cells[i] = cells[i];
    it.cost += cost_of(part, i, it.cells);
    --it.missing;
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (it.cells[i] == nowhere) (void)ruin.insert(i, Tie::lowest, it, false);
  }
  return it;
}

Arrangement ruin_and_recreate(const Part& part, Scan& scan, Arrangement best, std::int64_t goal,
                              Random& random, const base::Deadline& deadline) {
  constexpr double first_temperature = 0.4;
  constexpr double last_temperature = 0.12;
  constexpr double price_of_missing = 30;  // times the mean cost
  constexpr double dearest = 5;
  if (best.fits() && best.cost <= goal) return best;
  const double mean = mean_cost(part);
  Ruin ruin(part, scan, random);
  std::vector<double> prices(part.items.size(), 1);
  Arrangement now = best;
  const auto energy_of = [&](const Arrangement& it) {
    double energy = static_cast<double>(it.cost) / mean;
    if (it.missing == 0) return energy;
    for (std::size_t i = 0; i < prices.size(); ++i)
      if (it.cells[i] == nowhere) energy += price_of_missing * prices[i];
    return energy;
  };
  const double total = std::max(deadline.left().count(), 1e-6);
  double temperature = first_temperature;
  for (std::int64_t step = 0;; ++step) {
    if (step % 64 == 0) {
      if (deadline.is_over()) return best;
      const double used = std::clamp(1 - deadline.left().count() / total, 0.0, 1.0);
      temperature = first_temperature * std::pow(last_temperature / first_temperature, used);
    }
    std::vector<std::size_t> items = ruin.choose(now);
    std::vector<std::pair<std::size_t, Cell>> before;
    if (now.missing > 0) {
      for (std::size_t i = 0; i < now.cells.size(); ++i)
        if (now.cells[i] == nowhere && std::ranges::find(items, i) == items.end()) items.push_back(i);
    }
    std::int64_t work = 0;
    for (const std::size_t i : items) {
      before.emplace_back(i, now.cells[i]);
      work += work_of(part.items[i]);
    }
    deadline.spend(work);
    const double energy = energy_of(now);
    const std::int64_t cost = now.cost;
    const std::size_t missing = now.missing;
    const Cells& cells = now.cells;
    ruin.sort(items, cells);
    for (const std::size_t i : items) ruin.remove(i, now);
    const auto tie = static_cast<Tie>(random.below(ties));
    for (const std::size_t i : items) {
      if (!ruin.insert(i, tie, now, true)) prices[i] = std::min(prices[i] * 1.05, dearest);
    }
    if (now.is_better_than(best)) {
      best = now;
      if (best.fits() && best.cost <= goal) return best;
    }
    const double rise = energy_of(now) - energy;
    if (rise <= 0 || random.fraction() < std::exp(-rise / temperature)) continue;
    for (const auto& [i, cell] : before) now.cells[i] = cell;
    now.cost = cost;
    now.missing = missing;
  }
}

}  // namespace stowage::pack::relations
