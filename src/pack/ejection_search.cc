// Take any item without a place, put it where the weight of the items in its way is least, and throw
// these out into the pool of items without a place. The placed item gets heavier, so that the next one tries
// elsewhere.
//
//     address ^      +-----+                       p has no place. At 1 it would throw out a, at 2 it
//             |  +-a-+  b  |     pool: p           would throw out b and c. The lighter goes.
//             |  |   +-----+-c-+
//             +--+---+-----+---+--> time
//
// For some steps an item does not return to the offset it was thrown out of, unless that is free. Otherwise
// two items would throw out each other for long.
//
// Where to put it: at the bottom, or where an item in the way ends. Any other offset throws out no less than
// the next such one below it. One walk over these offsets in rising order adds and subtracts weights. Pinned
// items stay. Two items collide when the difference of their offsets lies in an interval (ForbiddenOffsets);
// pieces, gaps and slots give several intervals. Now and then each item drops as low as it can.
//
// Mostly the heaviest item of the pool is next: once it has a place, the light ones find theirs. One time in
// five it is any, so that no item stays in the pool for ever.
//
// It finds a placing or nothing. It works best when few items are left over: behind a pass (from_peak.cc), or
// below a cap that falls little by little (ejection.cc).
//
// Cost: a step sorts the items that an item meets. With meetings (meetings.h) it sorts nothing: the placed items
// are kept in the order of their begins and of their ends, and a walk over both picks those that the item meets.
// On J (409 buffers, 130 met) that is six times as fast.
// Source: ours; ejection pools are Nagata & Braysy (2009).

#include "pack/ejection_search.h"

#include <algorithm>

#include "base/checked.h"

namespace stowage::pack {
namespace {

constexpr double raise_by = 0.1;  ///< Share of its first weight that an item gains each time it is placed.
constexpr std::int64_t compact_every = 100'000;
constexpr std::uint64_t any_in = 5;  ///< One item in so many is taken at random, the others by weight.
constexpr std::size_t meets_between_looks = 4096;  ///< Items that steps may meet until they look at the time.
constexpr std::int64_t barred_for = 20;  ///< Steps during which an item does not return to its last offset.

}  // namespace

EjectionSearch::EjectionSearch(std::span<const Movable> items, ClashesOf clashes, const Meetings* meetings,
                               std::uint64_t seed)
    : items_(items),
      clashes_(std::move(clashes)),
      meetings_(meetings),
      random_(seed),
      offsets_(items_.size(), 0),
      is_placed_(items_.size(), 0),
      thrown_out_(items_.size(), -barred_for - 1) {
  weights_.reserve(items_.size());
  for (const Movable& item : items_) weights_.push_back(item.weight);
  if (meetings_ == nullptr) return;
  tops_.resize(items_.size());
  met_.resize(items_.size());
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
  order_placed();
}

void EjectionSearch::begin(std::span<const Bytes> offsets, Bytes height) {
  height_ = height;
  pool_.clear();
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    offsets_[i] = offsets[i];
    is_placed_[i] = items_[i].pin || offsets_[i] + items_[i].size <= height ? 1 : 0;
    if (is_placed_[i] == 0) pool_.push_back(i);
  }
  order_placed();
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
    const bool is_put = put(item);
    work_ += work_of_step();
    if (!is_put) {
      pool_.push_back(item);
      return false;
    }
    met += 1 + starts_.size();
    if (step_ % compact_every == 0) compact();
  }
  return pool_.empty();
}

/// Of the last step, about, in the units of deadlines.
std::int64_t EjectionSearch::work_of_step() const {
  const auto met = std::ssize(starts_);
  if (meetings_ == nullptr) return 200 + 60 * met;
  return 100 + meetings_->work_of_look() * std::ssize(by_begin_) + 8 * met;
}

/// Takes the heaviest item, of equal ones the first, or any.
std::uint32_t EjectionSearch::take() {
  const auto heaviest = [&] {
    return std::max_element(pool_.begin(), pool_.end(),
                            [&](std::uint32_t a, std::uint32_t b) { return weights_[a] < weights_[b]; });
  };
  const auto any = [&] { return pool_.begin() + static_cast<std::ptrdiff_t>(random_.below(pool_.size())); };
  std::iter_swap(random_.below(any_in) == 0 ? any() : heaviest(), std::prev(pool_.end()));
  const std::uint32_t item = pool_.back();
  pool_.pop_back();
  return item;
}

/// Puts the item where it throws out the least weight; false if no offset works.
bool EjectionSearch::put(std::uint32_t i) {
  const auto offset = best_offset(i);
  if (!offset) return false;
  if (meetings_ != nullptr) {
    for (const std::uint32_t other : met_by_begin_) {
      if (offsets_[other] >= *offset + items_[i].size) break;
      if (tops_[other] > *offset) throw_out(other);
    }
  } else {
    for (const ForbiddenOffsets& clash : clashes_(i)) {
      if (is_placed_[clash.other] == 0) continue;
      const Bytes distance = *offset - offsets_[clash.other];
      if (distance > clash.low && distance < clash.high) throw_out(clash.other);
    }
  }
  place(i, *offset);
  weights_[i] += raise_by * items_[i].weight;
  return true;
}

namespace {

/// Where an item with this key is, or comes, in a list that is sorted by keys.
auto place_in(std::vector<std::uint32_t>& ordered, const std::vector<Bytes>& keys, Bytes key) {
  return std::lower_bound(ordered.begin(), ordered.end(), key,
                          [&](std::uint32_t other, Bytes it) { return keys[other] < it; });
}

void erase_from(std::vector<std::uint32_t>& ordered, const std::vector<Bytes>& keys, std::uint32_t i) {
  ordered.erase(std::find(place_in(ordered, keys, keys[i]), ordered.end(), i));
}

}  // namespace

void EjectionSearch::place(std::uint32_t i, Bytes offset) {
  offsets_[i] = offset;
  is_placed_[i] = 1;
  if (meetings_ == nullptr) return;
  tops_[i] = offset + items_[i].size;
  by_begin_.insert(place_in(by_begin_, offsets_, offsets_[i]), i);
  by_end_.insert(place_in(by_end_, tops_, tops_[i]), i);
}

void EjectionSearch::throw_out(std::uint32_t i) {
  is_placed_[i] = 0;
  thrown_out_[i] = step_;
  pool_.push_back(i);
  if (meetings_ == nullptr) return;
  erase_from(by_begin_, offsets_, i);
  erase_from(by_end_, tops_, i);
}

/// With meetings: sorts all placed items.
void EjectionSearch::order_placed() {
  if (meetings_ == nullptr) return;
  by_begin_.clear();
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    tops_[i] = offsets_[i] + items_[i].size;
    if (is_placed_[i] != 0) by_begin_.push_back(i);
  }
  by_end_ = by_begin_;
  std::ranges::stable_sort(by_begin_, {}, [&](std::uint32_t i) { return offsets_[i]; });
  std::ranges::stable_sort(by_end_, {}, [&](std::uint32_t i) { return tops_[i]; });
}

std::optional<Bytes> EjectionSearch::best_offset(std::uint32_t i) {
  if (meetings_ != nullptr) {
    list_ordered_barriers(i);
  } else {
    list_barriers(i);
  }
  if (step_ - thrown_out_[i] <= barred_for) {
    if (const auto elsewhere = sweep(i, offsets_[i])) return elsewhere;
  }
  return sweep(i, std::nullopt);
}

void EjectionSearch::list_barriers(std::uint32_t i) {
  starts_.clear();
  ends_.clear();
  for (const ForbiddenOffsets& clash : clashes_(i)) {
    if (is_placed_[clash.other] == 0) continue;
    const int pins = items_[clash.other].pin ? 1 : 0;
    const double weight = weights_[clash.other];
    starts_.push_back({offsets_[clash.other] + clash.low, weight, pins});
    ends_.push_back({offsets_[clash.other] + clash.high, weight, pins});
  }
  std::ranges::sort(starts_, {}, &Barrier::at);
  std::ranges::sort(ends_, {}, &Barrier::at);
}

void EjectionSearch::list_ordered_barriers(std::uint32_t i) {
  ends_.clear();
  for (const std::uint32_t other : met_by(i, by_end_)) ends_.push_back({tops_[other], weights_[other], 0});
  starts_.clear();
  met_by_begin_ = met_by(i, by_begin_);
  for (const std::uint32_t other : met_by_begin_)
    starts_.push_back({offsets_[other] - items_[i].size, weights_[other], 0});
}

/// Of these items the ones that the item meets; valid until the next call.
std::span<const std::uint32_t> EjectionSearch::met_by(std::uint32_t i,
                                                      std::span<const std::uint32_t> ordered) {
  return {met_.data(), meetings_->filter(i, ordered, met_.data())};
}

/// The offset with the least weight in its way, except the barred one; ties are drawn at random.
std::optional<Bytes> EjectionSearch::sweep(std::uint32_t i, std::optional<Bytes> barred) {
  const Bytes last = height_ - items_[i].size;
  std::optional<Bytes> best;
  double least = 0;
  double weight = 0;
  int pins = 0;
  std::size_t ties = 0;
  std::size_t start = 0;
  std::size_t end = 0;
  for (Bytes at = 0; at <= last; at = base::align_up(ends_[end].at, items_[i].alignment)) {
    for (; start < starts_.size() && starts_[start].at < at; ++start) {
      weight += starts_[start].weight;
      pins += starts_[start].pins;
    }
    for (; end < ends_.size() && ends_[end].at <= at; ++end) {
      weight -= ends_[end].weight;
      pins -= ends_[end].pins;
    }
    if (start == end) weight = 0;  // discards rounding errors
    const bool is_better = !best || weight <= least;
    if (is_better && pins == 0 && (at != barred || weight == 0)) {
      ties = best && weight == least ? ties + 1 : 1;
      if (ties == 1 || random_.below(ties) == 0) best = at;
      least = weight;
    }
    if (end == ends_.size()) break;
  }
  return best;
}

void EjectionSearch::compact() {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    if (is_placed_[i] != 0 && !items_[i].pin) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(offsets_[a], a) < std::pair(offsets_[b], b);
  });
  for (const std::uint32_t i : order) offsets_[i] = std::min(offsets_[i], lowest_free(i));
  order_placed();
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

}  // namespace stowage::pack
