// Idea. Take any item without a place, put it where the weight of the items in its way is least, and throw
// these out into the pool of items without a place. The placed item gets heavier, so that the next one tries
// elsewhere.
//
//     address ^      +-----+                       p has no place. At 1 it would throw out a, at 2 it
//             |  +-a-+  b  |     pool: p           would throw out b and c. The lighter goes.
//             |  |   +-----+-c-+
//             +--+---+-----+---+--> time
//
// For some steps an item does not return to the offset it was thrown out of, unless that is free. Otherwise
// two items would throw out each other for long: 3 % above max load, J takes a quarter of the steps this way.
//
// Where to put it: the weight in the way changes only where another item begins or ends. One walk over these
// offsets in rising order adds and subtracts weights. Pinned items stay. Two items collide when the
// difference of their offsets lies in an interval (ForbiddenOffsets); pieces, gaps and slots give several
// intervals. Every two thousand steps each item drops as low as it can.
//
// It answers yes or nothing. It works best when few items are left over (from_peak.cc); from nothing it is
// one search among others. Cost: a step sorts the items that an item meets. Source: ours; ejection pools are
// Nagata & Braysy (2009).

#include "pack/ejection_search.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "pack/random.h"

namespace stowage::pack {
namespace {

constexpr double raise_by = 0.1;  ///< Share of its first weight that an item gains each time it is placed.
constexpr std::int64_t compact_every = 2000;
constexpr std::int64_t barred_for = 20;  ///< Steps during which an item does not return to its last offset.

class EjectionSearch {
 public:
  EjectionSearch(std::span<const Movable> items, const ClashesOf& clashes, Bytes height,
                 const Ejection& ejection, const Stop& stop)
      : items_(items),
        clashes_(clashes),
        height_(height),
        ejection_(ejection),
        stop_(stop),
        random_(ejection.seed),
        offsets_(items.size(), 0),
        is_placed_(items.size(), 0),
        thrown_out_(items.size(), -barred_for - 1) {
    for (const Movable& item : items) weights_.push_back(item.weight);
  }

  Found run() {
    Found found;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      const auto offset = items_[i].pin ? items_[i].pin : items_[i].offset;
      is_placed_[i] = offset ? 1 : 0;
      offsets_[i] = offset.value_or(0);
      if (!offset) pool_.push_back(i);
    }
    while (!pool_.empty()) {
      if (++step_ > ejection_.steps || (step_ % 64 == 0 && stop_())) break;
      if (!put(take())) break;
      if (step_ % compact_every == 0) compact();
    }
    if (pool_.empty()) {
      found.answer = Answer::yes;
      found.offsets = offsets_;
    }
    found.work = step_;
    return found;
  }

 private:
  /// Takes a random item: with the heaviest first, the light ones would stay in the pool.
  std::uint32_t take() {
    std::swap(pool_[random_.below(pool_.size())], pool_.back());
    const std::uint32_t item = pool_.back();
    pool_.pop_back();
    return item;
  }

  /// A collision begins or ends at this offset.
  struct Barrier {
    Bytes at;
    double weight;
    int pins;  ///< 1 if it cannot be thrown out.
  };

  /// Puts the item where it throws out the least weight; false if no offset works.
  bool put(std::uint32_t i) {
    const auto offset = best_offset(i);
    if (!offset) return false;
    for (const ForbiddenOffsets& clash : clashes_(i)) {
      if (is_placed_[clash.other] == 0) continue;
      const Bytes distance = *offset - offsets_[clash.other];
      if (distance <= clash.low || distance >= clash.high) continue;
      is_placed_[clash.other] = 0;
      thrown_out_[clash.other] = step_;
      pool_.push_back(clash.other);
    }
    offsets_[i] = *offset;
    is_placed_[i] = 1;
    weights_[i] += raise_by * items_[i].weight;
    return true;
  }

  [[nodiscard]] std::optional<Bytes> best_offset(std::uint32_t i) {
    const Movable& item = items_[i];
    const Bytes last = height_ - item.size;
    if (last < 0) return std::nullopt;
    starts_.clear();
    ends_.clear();
    candidates_.clear();
    candidates_.push_back(0);
    candidates_.push_back(last / item.alignment * item.alignment);
    for (const ForbiddenOffsets& clash : clashes_(i)) {
      if (is_placed_[clash.other] == 0) continue;
      const int pins = items_[clash.other].pin ? 1 : 0;
      const double weight = weights_[clash.other];
      const Bytes low = offsets_[clash.other] + clash.low;
      const Bytes high = offsets_[clash.other] + clash.high;
      starts_.push_back({low, weight, pins});
      ends_.push_back({high, weight, pins});
      if (low >= 0 && low <= last) candidates_.push_back(low / item.alignment * item.alignment);
      if (high >= 0) candidates_.push_back(base::align_up(high, item.alignment));
    }
    if (step_ - thrown_out_[i] <= barred_for) {
      if (const auto elsewhere = sweep(last, offsets_[i])) return elsewhere;
    }
    return sweep(last, std::nullopt);
  }

  /// The candidate with the least weight in its way, except the barred one; ties are drawn at random.
  [[nodiscard]] std::optional<Bytes> sweep(Bytes last, std::optional<Bytes> barred) {
    const auto by_place = [](const Barrier& a, const Barrier& b) { return a.at < b.at; };
    std::sort(starts_.begin(), starts_.end(), by_place);
    std::sort(ends_.begin(), ends_.end(), by_place);
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    std::optional<Bytes> best;
    double least = 0;
    double weight = 0;
    int pins = 0;
    std::size_t inside = 0;
    std::uint64_t ties = 0;
    std::size_t start = 0;
    std::size_t end = 0;
    for (const Bytes at : candidates_) {
      if (at > last) break;
      for (; start < starts_.size() && starts_[start].at < at; ++start, ++inside) {
        weight += starts_[start].weight;
        pins += starts_[start].pins;
      }
      for (; end < ends_.size() && ends_[end].at <= at; ++end, --inside) {
        weight -= ends_[end].weight;
        pins -= ends_[end].pins;
      }
      if (inside == 0) weight = 0;  // discards rounding errors
      if (pins > 0 || (at == barred && weight > 0) || (best && weight > least)) continue;
      ties = best && weight == least ? ties + 1 : 1;
      if (ties > 1 && random_.below(ties) != 0) continue;
      best = at;
      least = weight;
    }
    return best;
  }

  /// Drops each item as low as it can, the lowest first.
  void compact() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      if (is_placed_[i] != 0 && !items_[i].pin) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(offsets_[a], a) < std::pair(offsets_[b], b);
    });
    for (const std::uint32_t i : order) {
      if (const auto lower = lowest_free(i); lower && *lower < offsets_[i]) offsets_[i] = *lower;
    }
  }

  [[nodiscard]] std::optional<Bytes> lowest_free(std::uint32_t i) {
    Bytes offset = 0;
    starts_.clear();
    std::vector<std::pair<Bytes, Bytes>> taken;
    for (const ForbiddenOffsets& clash : clashes_(i)) {
      if (is_placed_[clash.other] != 0)
        taken.emplace_back(offsets_[clash.other] + clash.low, offsets_[clash.other] + clash.high);
    }
    std::sort(taken.begin(), taken.end());
    for (const auto& [low, high] : taken) {
      if (low >= offset) break;
      if (high > offset) offset = base::align_up(high, items_[i].alignment);
    }
    return offset;
  }

  std::span<const Movable> items_;
  const ClashesOf& clashes_;
  const Bytes height_;
  const Ejection& ejection_;
  const Stop& stop_;
  Random random_;
  std::vector<double> weights_;
  std::vector<Bytes> offsets_;
  std::vector<char> is_placed_;
  std::vector<std::int64_t> thrown_out_;  ///< The step at which each item was last thrown out.
  std::vector<std::uint32_t> pool_;
  std::vector<Barrier> starts_;
  std::vector<Barrier> ends_;
  std::vector<Bytes> candidates_;
  std::int64_t step_ = 0;
};

}  // namespace

Found search_by_ejection(std::span<const Movable> movables, const ClashesOf& clashes, Bytes height,
                         const Ejection& ejection, const Stop& stop) {
  return EjectionSearch(movables, clashes, height, ejection, stop).run();
}

Found search_by_ejection(const Tables& tables, Bytes height, const Ejection& ejection, const Stop& stop) {
  std::vector<Movable> movables;
  for (std::size_t i = 0; i < tables.model.items.size(); ++i) {
    const Item& item = tables.model.items[i];
    const double weight = std::sqrt(static_cast<double>(item.size) * tables.widths[i]);
    movables.push_back({item.size, item.alignment, item.pin, weight});
  }
  const ClashesOf clashes = [&](std::uint32_t i) {
    return std::span<const ForbiddenOffsets>(tables.clashes[i]);
  };
  return search_by_ejection(movables, clashes, height, ejection, stop);
}

}  // namespace stowage::pack
