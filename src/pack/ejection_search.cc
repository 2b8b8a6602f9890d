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
// It finds a placing or nothing. It works best when few items are left over: behind a pass (from_peak.cc), or
// below a cap that falls little by little (ejection.cc). From nothing it is one search among others (exact.cc).
// Cost: a step sorts the items that an item meets. Source: ours; ejection pools are Nagata & Braysy (2009).

#include "pack/ejection_search.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace stowage::pack {
namespace {

constexpr double raise_by = 0.1;  ///< Share of its first weight that an item gains each time it is placed.
constexpr std::int64_t compact_every = 2000;
constexpr std::size_t meets_between_looks = 4096;  ///< Items that steps may meet until they look at the time.
constexpr std::int64_t barred_for = 20;  ///< Steps during which an item does not return to its last offset.

}  // namespace

EjectionSearch::EjectionSearch(std::span<const Movable> items, ClashesOf clashes, std::uint64_t seed)
    : items_(items),
      clashes_(std::move(clashes)),
      random_(seed),
      offsets_(items_.size(), 0),
      is_placed_(items_.size(), 0),
      thrown_out_(items_.size(), -barred_for - 1) {
  forget();
}

void EjectionSearch::forget() {
  weights_.clear();
  for (const Movable& item : items_) weights_.push_back(item.weight);
}

void EjectionSearch::begin(Bytes height) {
  height_ = height;
  pool_.clear();
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    const auto offset = items_[i].pin ? items_[i].pin : items_[i].offset;
    is_placed_[i] = offset ? 1 : 0;
    offsets_[i] = offset.value_or(0);
    if (!offset) pool_.push_back(i);
  }
}

void EjectionSearch::begin(std::span<const Bytes> offsets, Bytes height) {
  height_ = height;
  pool_.clear();
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    offsets_[i] = offsets[i];
    is_placed_[i] = items_[i].pin || offsets_[i] + items_[i].size <= height ? 1 : 0;
    if (is_placed_[i] == 0) pool_.push_back(i);
  }
}

bool EjectionSearch::run(std::int64_t steps, const Stop& stop) {
  std::size_t met = 0;  // since the time was looked at
  for (std::int64_t done = 0; done < steps && !pool_.empty(); ++done) {
    if (met >= meets_between_looks) {
      if (stop()) return false;
      met = 0;
    }
    ++step_;
    const std::uint32_t item = take();
    if (!put(item)) {
      pool_.push_back(item);
      return false;
    }
    met += 1 + starts_.size();
    if (step_ % compact_every == 0) compact();
  }
  return pool_.empty();
}

/// Takes a random item: with the heaviest first, the light ones would stay in the pool.
std::uint32_t EjectionSearch::take() {
  std::swap(pool_[random_.below(pool_.size())], pool_.back());
  const std::uint32_t item = pool_.back();
  pool_.pop_back();
  return item;
}

/// Puts the item where it throws out the least weight; false if no offset works.
bool EjectionSearch::put(std::uint32_t i) {
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

std::optional<Bytes> EjectionSearch::best_offset(std::uint32_t i) {
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
std::optional<Bytes> EjectionSearch::sweep(Bytes last, std::optional<Bytes> barred) {
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
void EjectionSearch::compact() {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    if (is_placed_[i] != 0 && !items_[i].pin) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(offsets_[a], a) < std::pair(offsets_[b], b);
  });
  for (const std::uint32_t i : order) offsets_[i] = std::min(offsets_[i], lowest_free(i));
}

Bytes EjectionSearch::lowest_free(std::uint32_t i) {
  Bytes offset = 0;
  taken_.clear();
  for (const ForbiddenOffsets& clash : clashes_(i)) {
    if (is_placed_[clash.other] != 0)
      taken_.emplace_back(offsets_[clash.other] + clash.low, offsets_[clash.other] + clash.high);
  }
  std::sort(taken_.begin(), taken_.end());
  for (const auto& [low, high] : taken_) {
    if (low >= offset) break;
    if (high > offset) offset = base::align_up(high, items_[i].alignment);
  }
  return offset;
}

ClashesOf clashes_among(const Neighbours& neighbours) {
  return [&neighbours, clashes = std::vector<ForbiddenOffsets>()](std::uint32_t b) mutable {
    clashes.clear();
    neighbours.for_each(b, [&](std::size_t other) {
      neighbours.for_each_collision(b, other, 0, [&](const Interval& it) {
        clashes.push_back({static_cast<std::uint32_t>(other), it.begin, it.end});
      });
    });
    return std::span<const ForbiddenOffsets>(clashes);
  };
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
  EjectionSearch search(movables, clashes, ejection.seed);
  search.begin(height);
  Found found;
  if (search.run(ejection.steps, stop)) {
    found.answer = Answer::yes;
    found.offsets = search.offsets();
  }
  found.work = search.steps();
  return found;
}

}  // namespace stowage::pack
