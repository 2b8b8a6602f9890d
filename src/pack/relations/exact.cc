// All placings of few items, by Russian dolls: the items have an order, and the problem of the last one is solved first,
// then that of the last two, and so on. What the last k cost at least is a bound for all searches that follow.
//
//     A B C D E     E alone: 0;  D E: 1;  C D E: 1;  B C D E: 3;  all: 4
//
// In a search items are placed in that order. `added[u][p]` is what item u would cost at place p with those placed. A
// branch costs at least what it costs now, the least of `added` for each item to come, and the doll of these: no pair is
// in two of the three. What a range costs alone is in the doll.
//
// Places are sums of sizes over the starts of ranges: each item may be pushed down until it rests on another or on a
// start, and never shares more cells by it. Symmetry:
// - Items of one size in one range are in slots. Slots are alike, so a new one is always the first unused one.
// - Items of equal size and neighbours are in ascending places.
// - In one range all can be mirrored: the first item is in the lower half.
//
// Source: Verfaillie, Lemaitre & Schiex, "Russian doll search for solving constraint optimization problems", 1996.
//
// Cost: exponential in the items. It ends with the deadline, with the bound so far.

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "pack/relations/search.h"

namespace stowage::pack::relations {
namespace {

constexpr std::size_t most_items = 64;
constexpr std::size_t most_places = 4000;

/// Whether all items lie in one range, from the same cell to the same.
bool is_one_range(const Part& part) {
  const Item& first = part.items[0];
  return std::ranges::all_of(part.items, [&](const Item& it) {
    return it.ranges.size() == 1 && first.ranges.size() == 1 && it.ranges[0].first == first.ranges[0].first &&
           it.ranges[0].last + it.size == first.ranges[0].last + first.size;
  });
}

/// Sums of sizes over starts of ranges; none if they are too many, or not all such cells may be taken.
std::optional<std::vector<Cell>> places_of(const Part& part) {
  std::set<Cell> found;
  std::vector<Cell> open;
  Cell last = 0;
  std::set<Cell> sizes;
  const auto add = [&](Cell cell) {
    if (cell <= last && found.insert(cell).second) open.push_back(cell);
  };
  for (const Item& item : part.items) {
    if (item.step != 1 || item.ranges.empty()) return std::nullopt;
    sizes.insert(item.size);
    last = std::max(last, item.ranges.back().last);
  }
  for (const Item& item : part.items)
    for (const Range& range : item.ranges) add(range.first);
  while (!open.empty()) {
    const Cell cell = open.back();
    open.pop_back();
    for (const Cell size : sizes) add(cell + size);
    if (found.size() > most_places) return std::nullopt;
  }
  return std::vector<Cell>(found.begin(), found.end());
}

/// The most connected first, then always the one most connected to those before.
std::vector<std::size_t> order_of(const Part& part) {
  const double hard = 2 * mean_cost(part);
  const std::size_t n = part.items.size();
  std::vector<double> total(n);
  std::vector<double> to_ordered(n);
  const auto weight = [&](const Neighbour& it) { return it.is_hard ? hard : static_cast<double>(it.cost); };
  for (std::size_t i = 0; i < n; ++i)
    for (const Neighbour& it : part.items[i].neighbours) total[i] += weight(it);
  std::vector<bool> is_ordered(n);
  std::vector<std::size_t> order;
  while (order.size() < n) {
    std::optional<std::size_t> next;
    for (std::size_t i = 0; i < n; ++i) {
      if (is_ordered[i]) continue;
      if (!next || std::pair(to_ordered[i], total[i]) > std::pair(to_ordered[*next], total[*next])) next = i;
    }
    is_ordered[*next] = true;
    order.push_back(*next);
    for (const Neighbour& it : part.items[*next].neighbours) to_ordered[it.item] += weight(it);
  }
  return order;
}

bool are_twins(const Part& part, std::size_t a, std::size_t b) {
  const Item& first = part.items[a];
  const Item& second = part.items[b];
  if (first.size != second.size || first.ranges.size() != second.ranges.size()) return false;
  for (std::size_t r = 0; r < first.ranges.size(); ++r) {
    const Range& one = first.ranges[r];
    const Range& other = second.ranges[r];
    if (one.first != other.first || one.last != other.last || one.cost != other.cost) return false;
  }
  const auto others = [](const Item& item, std::size_t twin) {
    std::vector<std::pair<std::uint32_t, std::int64_t>> them;
    for (const Neighbour& it : item.neighbours)
      if (it.item != twin) them.emplace_back(it.item, weight_of(it));
    return them;
  };
  return others(first, b) == others(second, a);
}

class Dolls {
 public:
  Dolls(const Part& part, std::vector<Cell> places, Arrangement& best, const base::Deadline& deadline)
      : part_(part), deadline_(deadline), best_(best), places_(std::move(places)), order_(order_of(part)) {
    const std::size_t n = order_.size();
    const Item& first = part.items[0];
    has_one_range_ = is_one_range(part);
    has_slots_ = has_one_range_ &&
                 std::ranges::all_of(part.items, [&](const Item& it) { return it.size == first.size; });
    if (has_slots_) {
      places_.clear();
      for (Cell cell = first.ranges[0].first; cell <= first.ranges[0].last && places_.size() < n;
           cell += first.size)
        places_.push_back(cell);
    }
    position_.resize(n);
    for (std::size_t d = 0; d < n; ++d) position_[order_[d]] = d;
    for (std::size_t i = 0; i < n; ++i) {
      const Item& item = part.items[i];
      std::vector<std::int64_t> row;
      std::vector<std::int64_t> alone;
      for (const Cell cell : places_) {
        const bool may_be = std::ranges::any_of(
            item.ranges, [&](const Range& range) { return range.first <= cell && cell <= range.last; });
        row.push_back(may_be ? 0 : forbidden);
        alone.push_back(may_be ? item.cost_at(cell) : 0);
      }
      added_.push_back(std::move(row));
      alone_.push_back(std::move(alone));
      least_.push_back(*std::ranges::min_element(added_.back()));
    }
    twin_before_.resize(n);
    if (has_slots_) return;
    for (std::size_t d = 0; d < n; ++d) {
      for (std::size_t e = d; e-- > 0 && !twin_before_[order_[d]];) {
        if (are_twins(part, order_[e], order_[d])) twin_before_[order_[d]] = order_[e];
      }
    }
  }

  Proof search() {
    const std::size_t n = order_.size();
    dolls_.assign(n + 1, 0);
    at_.assign(n, std::nullopt);
    for (std::size_t first = n; first-- > 0;) {
      least_cost_ = cost_of_last(first);
      dolls_[first] = dolls_[first + 1];
      if (least_cost_ > dolls_[first + 1]) {
        first_ = first;
        goal_ = dolls_[first + 1];
        used_slots_ = 0;
        place_next(first, 0);
      }
      if (is_stopped_) return {.bound = dolls_[first + 1]};
      if (least_cost_ >= forbidden) return {.bound = dolls_[first + 1], .is_impossible = true};
      dolls_[first] = least_cost_;
    }
    return {.bound = dolls_[0]};
  }

 private:
  /// What the items from `first` on cost in the best placing.
  [[nodiscard]] std::int64_t cost_of_last(std::size_t first) const {
    std::int64_t cost = 0;
    for (std::size_t d = first; d < order_.size(); ++d) {
      const std::size_t i = order_[d];
      if (best_.cells[i] == nowhere) return forbidden;
      cost += part_.items[i].cost_at(best_.cells[i]);
      for (const Neighbour& it : part_.items[i].neighbours) {
        if (position_[it.item] > d && touches(part_, i, best_.cells[i], it.item, best_.cells))
          cost += weight_of(it);
      }
    }
    return std::min(cost, forbidden);
  }

  void keep(std::int64_t cost) {
    least_cost_ = cost;
    if (first_ > 0) return;
    for (std::size_t i = 0; i < order_.size(); ++i) best_.cells[i] = places_[*at_[i]];
    best_.cost = cost;
    best_.missing = 0;
  }

  void place_next(std::size_t depth, std::int64_t cost) {
    if (depth == order_.size()) return keep(cost);
    const std::size_t item = order_[depth];
    if (++nodes_ % 256 == 0) {
      deadline_.spend(256 * (500 + 2 * static_cast<std::int64_t>(places_.size())));
      if (deadline_.is_over()) is_stopped_ = true;
    }
    std::vector<std::size_t> some;
    const std::size_t lowest = twin_before_[item] && at_[*twin_before_[item]] ? *at_[*twin_before_[item]] : 0;
    std::size_t end = places_.size();
    if (has_slots_) end = std::min(end, used_slots_ + 1);
    const Item& it = part_.items[item];
    const bool is_mirrored = depth == first_ && has_one_range_ && !has_slots_;
    const Cell middle = is_mirrored ? (it.ranges[0].first + it.ranges[0].last) / 2 : it.ranges.back().last;
    const auto price = [&](std::size_t p) { return added_[item][p] + alone_[item][p]; };
    for (std::size_t p = lowest; p < end && places_[p] <= middle; ++p) {
      if (cost + price(p) < least_cost_) some.push_back(p);
    }
    std::ranges::stable_sort(some, {}, price);
    for (const std::size_t p : some) {
      if (is_stopped_ || least_cost_ <= goal_) return;
      const std::int64_t now = cost + price(p);
      if (now >= least_cost_) return;
      const std::size_t slots = used_slots_;
      if (has_slots_) used_slots_ = std::max(used_slots_, p + 1);
      at_[item] = p;
      const std::size_t undo = changed_.size();
      add(item, p, depth, 1);
      if (now + least_to_come(depth + 1) + dolls_[depth + 1] < least_cost_) place_next(depth + 1, now);
      add(item, p, depth, -1);
      while (changed_.size() > undo) {
        least_[changed_.back().first] = changed_.back().second;
        changed_.pop_back();
      }
      at_[item].reset();
      used_slots_ = slots;
    }
  }

  [[nodiscard]] std::int64_t least_to_come(std::size_t depth) const {
    std::int64_t sum = 0;
    for (std::size_t d = depth; d < order_.size(); ++d) sum += least_[order_[d]];
    return sum;
  }

  /// Adds what the item costs its neighbours to come at each of their places, or takes it away.
  void add(std::size_t item, std::size_t p, std::size_t depth, std::int64_t sign) {
    const Cell cell = places_[p];
    for (const Neighbour& it : part_.items[item].neighbours) {
      if (position_[it.item] <= depth) continue;
      auto& row = added_[it.item];
      const auto begin =
          std::ranges::upper_bound(places_, cell - part_.items[it.item].size) - places_.begin();
      const auto end = std::ranges::lower_bound(places_, cell + part_.items[item].size) - places_.begin();
      const std::int64_t weight = sign * weight_of(it);
      for (auto q = begin; q < end; ++q) row[static_cast<std::size_t>(q)] += weight;
      if (sign < 0) continue;
      changed_.emplace_back(it.item, least_[it.item]);
      least_[it.item] = *std::ranges::min_element(row);
    }
  }

  const Part& part_;
  const base::Deadline& deadline_;
  Arrangement& best_;
  std::vector<Cell> places_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> position_;  ///< In the order, by item.
  bool has_one_range_ = false;
  bool has_slots_ = false;
  std::vector<std::vector<std::int64_t>> added_;  ///< By item and place: with those that are placed.
  std::vector<std::vector<std::int64_t>> alone_;  ///< The same, without others: what the range costs.
  std::vector<std::int64_t> least_;               ///< Of each row of `added_`.
  std::vector<std::optional<std::size_t>> twin_before_;
  std::vector<std::int64_t> dolls_;  ///< What the items from there on cost at least.
  std::vector<std::optional<std::size_t>> at_;
  std::vector<std::pair<std::size_t, std::int64_t>> changed_;  ///< Entries of `least_` before.
  std::size_t first_ = 0;
  std::size_t used_slots_ = 0;
  std::int64_t goal_ = 0;
  std::int64_t least_cost_ = 0;
  std::int64_t nodes_ = 0;
  bool is_stopped_ = false;
};

}  // namespace

Proof search_all(const Part& part, Arrangement& best, const base::Deadline& deadline) {
  if (part.items.size() > most_items) return {};
  auto places = places_of(part);
  if (!places) return {};
  return Dolls(part, std::move(*places), best, deadline).search();
}

}  // namespace stowage::pack::relations
