// The optimum is between a bound (cuts.cc) and the peak of a known order (heuristics.cc). The search
// narrows this range by deciding whether an order within some capacity exists:
//
//      bound                                   peak
//        |---------------|----------------------|
//        ^ first         ^ then in the middle of the open range
//
//     an order       the peak falls to it
//     none           the bound rises
//     undecided      within so many sets, from either end of time: a beam may find one (heuristics.cc);
//                    if not, higher capacities are tried, and all again with more sets
//
// Between two rounds, windows of the best order are reordered (windows.cc), and conclusions about pairs of
// operators raise the bound (pairs.cc).
//
// The problem is the same backward in time. Which direction is easier differs from network to network, so
// both are tried with few sets before either with many. Peaks are multiples of the common divisor of all
// sizes. Deterministic: work is counted, and the clock only ends the search.

#include "schedule/search.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "schedule/cuts.h"
#include "schedule/decide.h"
#include "schedule/heuristics.h"
#include "schedule/pairs.h"
#include "schedule/storage.h"
#include "schedule/symmetry.h"
#include "schedule/windows.h"

namespace stowage::schedule {
namespace {

constexpr std::int64_t first_states = 1'000;
constexpr std::int64_t last_states = 4'000'000;
constexpr std::int64_t growth = 8;
constexpr std::size_t first_width = 4;

/// A common divisor of all loads (bytes that steps need).
Bytes unit_of(const Storage& storage) {
  Bytes unit = std::gcd(storage.always, storage.first);
  for (const Bytes own : storage.own) unit = std::gcd(unit, own);
  for (const Value& value : storage.values) unit = std::gcd(unit, value.size);
  return std::max<Bytes>(unit, 1);
}

class OrderSearch {
 public:
  OrderSearch(const Storage& storage, std::span<const std::size_t> own, Budget& budget)
      : storage_(storage), budget_(budget), unit_(unit_of(storage)) {
    found_.order.assign(own.begin(), own.end());
    found_.peak = peak_of(storage, own);
    // Backward, the extra bytes of the first step would belong to the last one, and commits could be wrong.
    directions_ = {Direction::forward};
    if (storage.first == 0) directions_.push_back(Direction::backward);
  }

  Found run() {
    budget_.look();
    if (!is_over()) found_.bound = bound_by_highest_step();
    if (!is_over()) try_greedy_orders(storage_);
    if (is_over()) return std::move(found_);
    delayed_ = delayed(storage_);
    try_greedy_orders(delayed_);
    found_.bound = std::min(bound_by_cuts(storage_, found_.order, budget_), found_.peak);
    if (!is_over()) symmetry_.emplace(delayed_);
    std::size_t width = first_width;
    for (std::int64_t states = first_states; states <= last_states && !is_over(); states *= growth) {
      close_in(states, width);
      mend(states);
      raise_bound();
      width *= 4;
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is_over() const { return found_.peak == found_.bound || budget_.is_over(); }

  /// The bound of the own order's highest step: it decides many networks before another order is tried.
  [[nodiscard]] Bytes bound_by_highest_step() const {
    const std::vector<Bytes> loads = loads_of(storage_, found_.order);
    if (loads.empty()) return found_.peak;
    const auto highest = std::max_element(loads.begin(), loads.end()) - loads.begin();
    return std::min(least_load(storage_, found_.order[static_cast<std::size_t>(highest)]), found_.peak);
  }

  void try_greedy_orders(const Storage& storage) {
    for (Order& order : greedy_orders(storage)) improve(std::move(order));
    budget_.look();
  }

  void improve(Order order) {
    const Bytes peak = peak_of(storage_, order);
    if (peak >= found_.peak) return;
    found_.peak = peak;
    found_.order = std::move(order);
  }

  void close_in(std::int64_t states, std::size_t width) {
    Bytes low = found_.bound;  // the least undecided capacity, except those that are too hard
    Bytes capacity = low;
    while (low < found_.peak && !is_over()) {
      if (!is_decided(capacity, states, width)) low = capacity + unit_;
      low = std::max(low, found_.bound);
      const Bytes steps = (found_.peak - unit_ - low) / unit_;
      capacity = low + steps / 2 * unit_;
    }
  }

  /// Reorders windows of the best order to lower its peak by a part of the open range, or by less.
  void mend(std::int64_t states) {
    for (const Bytes part : {4, 16}) {
      while (!is_over()) {
        const Bytes step = std::max((found_.peak - found_.bound) / unit_ / part * unit_, unit_);
        auto order = mended(storage_, found_.order, found_.peak - step, states, budget_);
        if (!order) break;
        improve(std::move(*order));
      }
    }
  }

  /// Spends no more on pairs than on everything else so far.
  void raise_bound() {
    if (is_over() || are_pairs_known_) return;
    const std::int64_t most_work = budget_.spent();
    found_.bound = bound_by_pairs(delayed_, found_.bound, found_.peak, {unit_, most_work}, budget_);
    are_pairs_known_ = budget_.spent() < 2 * most_work;
  }

  bool is_decided(Bytes capacity, std::int64_t states, std::size_t width) {
    for (const std::int64_t limit : {states / growth, states}) {
      for (const Direction direction : directions_) {
        Decision decision = decide(delayed_, *symmetry_, direction, capacity, limit, budget_);
        found_.states += decision.states;
        if (decision.bound) found_.bound = std::min(std::max(found_.bound, *decision.bound), found_.peak);
        if (decision.order) improve(std::move(*decision.order));
        if (decision.bound || decision.order) return true;
      }
    }
    for (const Direction direction : directions_) {
      auto order = beam(delayed_, direction, capacity, width, budget_);
      if (!order) continue;
      improve(std::move(*order));
      return true;
    }
    return false;
  }

  const Storage& storage_;
  Storage delayed_;  ///< The same least peak, but easier to find.
  Budget& budget_;
  Bytes unit_;
  std::vector<Direction> directions_;
  std::optional<Symmetry> symmetry_;  ///< Computed when needed.
  bool are_pairs_known_ = false;
  Found found_;
};

}  // namespace

Found find_order(const Storage& storage, std::span<const std::size_t> own, Budget& budget) {
  return OrderSearch(storage, own, budget).run();
}

}  // namespace stowage::schedule
