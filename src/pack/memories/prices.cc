// Prices for the bytes of the fast memory at each position. Needs pay for what they take, so each chooses alone, and the
// memory pays for what it has:
//
//     least cost  >=  sum of the least cost of each need, prices included  -  capacity * sum of the prices
//
// This holds for all prices, for stays within the capacity pay no more than the capacity's worth. Prices rise where too
// many bytes are asked for and fall where too few are (a subgradient step, as long as Polyak's rule says), and the best
// bound is kept. At the best prices it is that of the linear program in which a part of a buffer may be fast.
//
//     position     0  1  2  3
//     asked for    5  9  9  4      capacity 8
//     price        0  2  2  0      the need that gains least by positions 1 and 2 leaves them
//
// Cost: rounds, each linear in touches and positions.
// Source: Held, Wolfe, Crowder: Validation of subgradient optimization (1974).

#include "pack/memories/prices.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/checked.h"

namespace stowage::memories {
namespace {

constexpr int rounds_without_better = 15;  // after so many the steps become shorter
constexpr double shortest_step = 0.01;

class Pricing {
 public:
  Pricing(const Needs& needs, std::int64_t upper)
      : needs_(needs), upper_(static_cast<double>(upper)), best_{Prices(needs.end), 0} {
    const auto positions = static_cast<std::size_t>(needs.end);
    each_.resize(positions, 0);
    asked_.resize(positions + 1, 0);
    Bytes largest = 1;
    for (const Need& need : needs.all) largest = std::max(largest, need.size);
    const double room =
        std::pow(2.0, 59) / static_cast<double>(needs.end + 1) / static_cast<double>(needs.all.size() + 1);
    most_ = std::min(room / static_cast<double>(largest), 1e15);
    for (const ByteRange& range : needs.reserved) reserved_ += range.end - range.begin;
    for (const Need& need : needs.all) touches_ += std::ssize(need.touches);
  }

  Priced run(const base::Deadline& deadline, int rounds) {
    double step = 1;
    int without_gain = 0;
    for (int round = 0; round < rounds && step >= shortest_step && !deadline.is_over(); ++round) {
      deadline.spend(12 * touches_ + 4 * needs_.end);
      const Prices prices = rounded();
      const std::int64_t bound = bound_of(prices);
      if (bound > best_.bound) {
        without_gain = bound > best_.bound + best_.bound / 10000 ? 0 : without_gain + 1;
        best_ = {prices, bound};
      } else {
        ++without_gain;
      }
      if (without_gain >= rounds_without_better) {
        step /= 2;
        without_gain = 0;
      }
      if (!move(step, bound)) break;
    }
    best_.bound = (std::max<std::int64_t>(best_.bound, 0) + Prices::parts - 1) / Prices::parts;
    return std::move(best_);
  }

 private:
  [[nodiscard]] Bytes capacity() const { return std::max<Bytes>(0, needs_.capacity - reserved_); }

  [[nodiscard]] Prices rounded() const {
    Prices prices(needs_.end);
    for (std::size_t p = 0; p < each_.size(); ++p)
      prices.sums[p + 1] = prices.sums[p] + static_cast<std::int64_t>(each_[p]);
    return prices;
  }

  /// In parts; also counts the bytes that needs ask for.
  std::int64_t bound_of(const Prices& prices) {
    std::fill(asked_.begin(), asked_.end(), 0);
    const auto paid = base::checked_multiply(capacity(), prices.sums.back());
    std::int64_t bound = -paid.value_or(largest_value / 2);
    for (const Need& need : needs_.all) {
      const Least chosen = least(needs_, need, prices);
      bound += chosen.cost;
      for (const FastStay& stay : chosen.stays) {
        if (!need.pieces.empty()) {
          for (const Piece& piece : need.pieces) ask(piece.life.lower, piece.life.upper, piece.size);
        } else {
          ask(need.touches[stay.first].first, need.touches[stay.last].last + 1, need.size);
        }
      }
    }
    std::partial_sum(asked_.begin(), asked_.end(), asked_.begin());
    return bound;
  }

  void ask(Position lower, Position upper, Bytes size) {
    asked_[static_cast<std::size_t>(lower)] += size;
    asked_[static_cast<std::size_t>(upper)] -= size;
  }

  /// False if all that is asked for is there.
  bool move(double step, std::int64_t bound) {
    double length = 0;
    for (std::size_t p = 0; p < each_.size(); ++p) {
      const auto missing = static_cast<double>(asked_[p] - capacity());
      if (missing > 0 || each_[p] > 0) length += missing * missing;
    }
    const double gap = upper_ * Prices::parts - static_cast<double>(bound);
    if (length == 0 || gap <= 0) return false;
    const double by = step * gap / length;
    for (std::size_t p = 0; p < each_.size(); ++p) {
      const auto missing = static_cast<double>(asked_[p] - capacity());
      each_[p] = std::clamp(each_[p] + by * missing, 0.0, most_);
    }
    return true;
  }

  const Needs& needs_;
  double upper_;
  Priced best_;
  std::vector<double> each_;  ///< The price at each position, in parts.
  std::vector<Bytes> asked_;  ///< Bytes that needs ask for at each position.
  double most_ = 0;           ///< No price is higher, so that sums do not overflow.
  Bytes reserved_ = 0;
  std::int64_t touches_ = 0;
};

}  // namespace

Priced find_prices(const Needs& needs, std::int64_t upper, const base::Deadline& deadline, int rounds) {
  return Pricing(needs, upper).run(deadline, rounds);
}

}  // namespace stowage::memories
