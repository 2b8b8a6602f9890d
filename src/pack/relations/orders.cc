// Items in some order, each dropped into the lowest gap that those before it leave: a change of the order gives another
// placing. Annealing over orders lowers it.
//
//     order a b c d       a change       a c b d        b and c, and what rests on them, are placed anew
//
// A step moves an item elsewhere in the order, or swaps two. Every other time it is one that reaches the peak, or that such
// an item rests on; otherwise any. The highest end that is accepted is drawn before, so a placing is given up as soon as an
// item ends above it. An item keeps its offset unless it meets one that has moved.
//
// From the order of the offsets, no placing is higher than before. Each cooling begins from the best one and takes twice as
// many steps as the one before.
//
// Cost: a step looks at all items, and again for each that is placed anew. Memory: a bit for each pair.
// Source: ours; annealing is Kirkpatrick, Gelatt & Vecchi (1983).

#include "pack/relations/orders.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/checked.h"

namespace stowage::pack::relations {
namespace {

constexpr double hottest = 6e-4;  ///< Shares of the bound.
constexpr double coldest = 6e-5;
constexpr std::int64_t first_steps = 500;
constexpr int most_coolings = 10;
constexpr std::int64_t work_between_looks = 20'000;  ///< At the time.
constexpr std::int64_t work_of_check = 2;            ///< Whether an item meets one that has moved.

}  // namespace

OrderSearch::OrderSearch(std::span<const Movable> movables, std::span<const std::vector<std::uint32_t>> met,
                         Bytes bound, std::uint64_t seed)
    : movables_(movables),
      met_(met),
      bound_(bound),
      random_(seed),
      words_((movables.size() + 63) / 64),
      bits_(movables.size() * words_),
      position_(movables.size()),
      offsets_(movables.size()),
      best_peak_(std::numeric_limits<Bytes>::max()) {
  for (std::size_t i = 0; i < met.size(); ++i) {
    for (const std::uint32_t other : met[i]) bits_[i * words_ + other / 64] |= std::uint64_t{1} << other % 64;
    pins_ += movables[i].pin ? 1U : 0U;
  }
}

void OrderSearch::run(std::span<const Bytes> offsets, const Control& control) {
  begin(offsets);
  if (order_.size() < pins_ + 2) return;
  std::int64_t steps = first_steps;
  for (int cooling = 0; cooling < most_coolings; ++cooling, steps *= 2) {
    if (cooling > 0) begin(best_);
    double temperature = hottest * static_cast<double>(bound_);
    const double rate = std::pow(coldest / hottest, 1 / static_cast<double>(steps));
    for (std::int64_t i = 0; i < steps && best_peak_ > bound_; ++i, temperature *= rate) {
      step(temperature);
      if (work_ < work_between_looks) continue;
      control.spend(std::exchange(work_, 0));
      if (control.is_time_up()) return;
    }
    if (best_peak_ <= bound_) break;
  }
  control.spend(std::exchange(work_, 0));
}

/// Drops all in the order of these offsets.
void OrderSearch::begin(std::span<const Bytes> offsets) {
  order_.resize(movables_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  std::ranges::stable_sort(order_, {},
                           [&](std::uint32_t i) { return std::pair(!movables_[i].pin, offsets[i]); });
  number(0, order_.size());
  row_.clear();
  for (std::size_t p = 0; p < order_.size(); ++p) {
    const std::uint32_t i = order_[p];
    offsets_[i] = lowest(i, p);
    const Placed placed{offsets_[i], offsets_[i] + movables_[i].size, i};
    row_.insert(std::ranges::upper_bound(row_, placed.begin, {}, &Placed::begin), placed);
  }
  kept_order_ = order_;
  keep();
}

/// Items of the order from `first` on, before `last`, learn their positions.
void OrderSearch::number(std::size_t first, std::size_t last) {
  for (std::size_t p = first; p < last; ++p) position_[order_[p]] = static_cast<std::uint32_t>(p);
}

void OrderSearch::keep() {
  kept_row_ = row_;
  kept_offsets_ = offsets_;
  peak_ = std::ranges::max(row_, {}, &Placed::end).end;
  if (peak_ >= best_peak_) return;
  best_peak_ = peak_;
  best_ = offsets_;
}

void OrderSearch::step(double temperature) {
  const std::size_t movable = order_.size() - pins_;
  const std::uint32_t item = random_.below(2) == 0 ? critical() : order_[pins_ + random_.below(movable)];
  const std::size_t from = position_[item];
  const std::size_t to = pins_ + random_.below(movable);
  if (from == to) {
    ++work_;
    return;
  }
  const auto at = [](std::vector<std::uint32_t>& order, std::size_t p) {
    return order.begin() + static_cast<std::ptrdiff_t>(p);
  };
  const std::array<std::uint32_t, 2> moved{item, order_[to]};
  const bool swaps = random_.below(2) == 0;
  if (swaps) {
    std::swap(order_[from], order_[to]);
  } else if (from < to) {
    std::rotate(at(order_, from), at(order_, from + 1), at(order_, to + 1));
  } else {
    std::rotate(at(order_, to), at(order_, from), at(order_, from + 1));
  }
  const std::size_t first = std::min(from, to);
  const std::size_t last = std::max(from, to);
  number(first, last + 1);
  const Bytes limit = peak_ + static_cast<Bytes>(-std::log(1 - random_.fraction()) * temperature);
  if (place(first, last, std::span(moved).first(swaps ? 2 : 1), limit)) {
    std::copy(at(order_, first), at(order_, last + 1), at(kept_order_, first));
    keep();
  } else {
    std::copy(at(kept_order_, first), at(kept_order_, last + 1), at(order_, first));
    number(first, last + 1);
    row_ = kept_row_;
    offsets_ = kept_offsets_;
  }
  work_ += std::ssize(order_);
}

/// An item that reaches the peak, or one below it, each of which rests on the next.
std::uint32_t OrderSearch::critical() {
  std::uint32_t found = order_[pins_ + random_.below(order_.size() - pins_)];
  std::size_t seen = 0;
  for (std::size_t p = pins_; p < order_.size(); ++p) {
    const std::uint32_t i = order_[p];
    if (offsets_[i] + movables_[i].size == peak_ && random_.below(++seen) == 0) found = i;
  }
  while (seen > 0 && random_.below(2) == 0) {
    std::uint32_t below = found;
    seen = 0;
    for (const std::uint32_t other : met_[found]) {
      const bool carries = !movables_[other].pin && offsets_[other] < offsets_[found] &&
                           offsets_[other] + movables_[other].size == offsets_[found];
      if (carries && random_.below(++seen) == 0) below = other;
    }
    found = below;
  }
  return found;
}

/// Places items anew after those from `first` to `last` have another order. False if one would end above the limit.
bool OrderSearch::place(std::size_t first, std::size_t last, std::span<const std::uint32_t> moved,
                        Bytes limit) {
  changed_.assign(words_, 0);
  for (const std::uint32_t i : moved) flip(i);
  for (std::size_t p = first; p < order_.size(); ++p) {
    if (p == last + 1) {
      // Items behind see those that were moved in the order only by their offsets.
      for (const std::uint32_t i : moved)
        if (offsets_[i] == kept_offsets_[i]) flip(i);
      if (std::ranges::all_of(changed_, [](std::uint64_t word) { return word == 0; })) break;
    }
    const std::uint32_t i = order_[p];
    const bool is_moved = p <= last && std::ranges::find(moved, i) != moved.end();
    const std::uint64_t* const bits = bits_.data() + i * words_;
    std::uint64_t met = 0;
    for (std::size_t w = 0; w < words_; ++w) met |= bits[w] & changed_[w];
    work_ += work_of_check;
    if (!is_moved && met == 0) continue;
    const Bytes offset = lowest(i, p);
    if (offset == offsets_[i]) continue;
    if (offset + movables_[i].size > limit) return false;
    move(i, offset);
    if (!is_moved) flip(i);
  }
  return true;
}

/// The lowest offset that items before a position leave.
/// A loop without branches that nobody can foresee takes half the time.
Bytes OrderSearch::lowest(std::uint32_t item, std::size_t position) {
  const Movable& movable = movables_[item];
  if (movable.pin) return *movable.pin;
  const std::uint64_t* const bits = bits_.data() + item * words_;
  const Bytes size = movable.size;
  const Bytes alignment = movable.alignment;
  Bytes low = 0;
  std::size_t k = 0;
  for (; k < row_.size(); ++k) {
    const Placed& other = row_[k];
    const int counts = static_cast<int>(bits[other.item / 64] >> other.item % 64 & 1U) &
                       static_cast<int>(position_[other.item] < position);
    if ((counts & static_cast<int>(other.begin >= low + size)) != 0) break;
    low = std::max(low, other.end & -static_cast<Bytes>(counts));
    if (alignment > 1) low = base::align_up(low, alignment);
  }
  work_ += static_cast<std::int64_t>(k);
  return low;
}

/// Moves an item to another offset.
void OrderSearch::move(std::uint32_t item, Bytes offset) {
  auto at = std::ranges::lower_bound(row_, offsets_[item], {}, &Placed::begin);
  while (at->item != item) ++at;
  for (; at != row_.begin() && (at - 1)->begin > offset; --at) *at = *(at - 1);
  for (; at + 1 != row_.end() && (at + 1)->begin < offset; ++at) *at = *(at + 1);
  *at = {offset, offset + movables_[item].size, item};
  offsets_[item] = offset;
}

}  // namespace stowage::pack::relations
