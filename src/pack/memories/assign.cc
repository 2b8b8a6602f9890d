// Fast memory is a knapsack that time cuts into slices: its buffers must fit at every position, at
// addresses that do not change. The worth of a buffer there is the cost of its traffic in the slowest memory
// it may live in, less the cost here. The goals are, in this order: a fit; the least cost; the least peaks,
// the slowest memory's first.
//
//     fast |####a####|  b  |        a is read often, b hardly, c not worth its room
//          +---------+-----+-->
//     slow |     ccccccccc |
//
// 1. Start with the result of free-list, so that the final result is never worse.
// 2. Build greedily: buffers in an order of worth (per byte and position, per byte, in all, ...), each at the
//    lowest place in the cheapest memory that still takes it (build).
// 3. Bound the cost from below (cost_bound.cc). With few buffers, try all choices (exact.cc), which proves
//    the result. If the cost meets the bound, skip 4 and 5.
// 4. Improve the best order: refused buffers move forward (squeaky wheel), some change places at random, some
//    must take the second-best memory; results that are not worse are kept. A budget of placed buffers limits
//    the rounds, so that the result is equal on all machines.
// 5. Offer refused buffers, the most worth first, a place in the set of a faster memory. If too many bytes
//    are alive there, less worthy buffers leave. All packers of one memory try to place the new set, since
//    one may succeed where another fails (memories.h).
// 6. With the memories decided, pack the set of each with the whole portfolio to lower the peaks.
//
// The clock and the user can cut this short after step 1; budgets limit all other work.
// Cost: some hundred constructions of n log n for small problems, a dozen for large ones.
// Source: ours; squeaky-wheel optimisation is Joslin & Clements (1999).

#include "pack/memories/assign.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "pack/memories/cost_bound.h"
#include "pack/memories/exact.h"
#include "pack/memories/exchange.h"
#include "pack/memories/memories.h"
#include "pack/occupancy.h"
#include "pack/placing.h"
#include "pack/strategies.h"

namespace stowage::memories {
namespace {

/// Input of a greedy construction: the order of choice, and buffers that must not take the best memory.
struct Wish {
  std::vector<std::size_t> order;  ///< All buffers.
  std::vector<std::size_t> ranks;  ///< Per buffer, how many of its allowed memories it skips.
};

/// One greedy construction: an occupancy for each memory, and buffers that choose one after the other.
/// Buffers that are pinned or never alive are settled first. Cost: that of placing each buffer once in each
/// memory allowed for it.
class Builder {
 public:
  Builder(const Problem& problem, const Choices& choices, const Wish& wish)
      : problem_(problem),
        choices_(choices),
        wish_(wish),
        occupancies_(problem.memories.size(), pack::Occupancy(problem.buffers)),
        places_(problem.buffers.size()) {}

  /// Whether it needs no room or has its offset.
  [[nodiscard]] bool is_settled(std::size_t b) const {
    return problem_.buffers[b].pinned || !choices_.is_ever_alive[b];
  }

  void settle(std::size_t b) {
    const Buffer& buffer = problem_.buffers[b];
    const auto fits = [&](std::size_t m) { return holds(choices_, m, buffer); };
    const auto first = std::find_if(first_choice(b), choices_.allowed[b].end(), fits);
    const std::size_t memory = first != choices_.allowed[b].end() ? *first : choices_.allowed[b].back();
    put(b, {memory, buffer.pinned.value_or(0)});
  }

  void choose(std::size_t b) {
    const Buffer& buffer = problem_.buffers[b];
    std::optional<Place> best;
    Bytes least = 0;
    for (auto m = first_choice(b); m != choices_.allowed[b].end() && (!best || least > 0); ++m) {
      const Bytes offset = occupancies_[*m].lowest_fit(buffer);
      const Bytes excess = std::max<Bytes>(0, offset + buffer.size - choices_.capacities[*m]);
      if (best && least <= excess) continue;
      best = {*m, offset};
      least = excess;
    }
    put(b, best.value());
  }

  std::vector<Place> result() { return std::move(places_); }

  /// Of all since the last call, in the units of deadlines.
  std::int64_t take_work() {
    std::int64_t all = 0;
    for (const pack::Occupancy& occupancy : occupancies_) all += occupancy.work();
    return all - std::exchange(taken_, all);
  }

 private:
  [[nodiscard]] std::vector<std::size_t>::const_iterator first_choice(std::size_t b) const {
    const std::vector<std::size_t>& allowed = choices_.allowed[b];
    return allowed.begin() + static_cast<std::ptrdiff_t>(std::min(wish_.ranks[b], allowed.size() - 1));
  }

  void put(std::size_t b, Place place) {
    places_[b] = place;
    occupancies_[place.memory].reserve(problem_.buffers[b], place.offset);
  }

  const Problem& problem_;
  const Choices& choices_;
  const Wish& wish_;
  std::vector<pack::Occupancy> occupancies_;
  std::vector<Place> places_;
  std::int64_t taken_ = 0;  ///< Work that the caller knows of.
};

constexpr std::int64_t work_of_choice = 60;  ///< Beside its place, in the units of deadlines, about.

/// Gives every buffer, pinned ones first and then in the wish's order, the lowest place in the first memory
/// in which it stays within capacity. If none does, it takes the memory that grows least beyond its capacity.
/// Nothing if cancelled.
std::optional<std::vector<Place>> build(const Problem& problem, const Choices& choices, const Wish& wish,
                                        const pack::Control& control) {
  control.spend(work_of_choice * std::ssize(problem.buffers));
  Builder builder(problem, choices, wish);
  for (const std::size_t b : wish.order) {
    if (builder.is_settled(b)) builder.settle(b);
  }
  for (std::size_t done = 0; done < wish.order.size(); ++done) {
    if (done % pack::buffers_between_looks == 0) {
      control.spend(builder.take_work());
      if (control.is_too_late()) return std::nullopt;
    }
    if (!builder.is_settled(wish.order[done])) builder.choose(wish.order[done]);
  }
  control.spend(builder.take_work());
  return builder.result();
}

/// Buffers that step 4 places, over all its rounds.
constexpr std::size_t improvement_budget = 20000;
constexpr std::size_t most_rounds = 400;

/// Bytes times positions.
double area_of(const Buffer& buffer) {
  double area = 0;
  for (const Piece& piece : buffer.pieces)
    area += static_cast<double>(piece.size) * static_cast<double>(piece.life.upper - piece.life.lower);
  return area;
}

class Search {
 public:
  Search(const Problem& problem, const pack::Control& control)
      : problem_(problem), control_(control), choices_(problem), random_(control.options.seed) {}

  pack::Placing run() {
    pack::Placing first = pack::free_list(problem_, control_);
    best_ = std::move(first.places);
    score_ = pack::score_of(problem_, best_);
    cut_short_ = first.cut_short;
    control_.has_plan = true;
    build_greedily();
    std::int64_t bound = 0;
    if (!control_.is_time_up()) bound = cost_bound(problem_, control_.deadline);
    if (!control_.is_time_up()) prove(bound);
    if (score_.excess > 0 || bound < score_.cost || leaves_a_choice()) improve();
    if (bound < score_.cost && !control_.is_time_up()) exchange_refused(problem_, choices_, best_, control_);
    if (!control_.is_time_up()) lower_peaks(problem_, best_, control_);
    return {
        .places = std::move(best_), .cut_short = cut_short_ || control_.is_time_up(), .cost_bound = bound};
  }

 private:
  [[nodiscard]] bool consider(const Wish& wish) {
    auto places = build(problem_, choices_, wish, control_);
    if (!places) return false;
    pack::Score score = pack::score_of(problem_, *places);
    if (wish_.order.empty() || score <= wish_score_) {
      wish_ = wish;
      wish_places_ = *places;
      wish_score_ = score;
    }
    if (score < score_) {
      best_ = std::move(*places);
      score_ = std::move(score);
    }
    return true;
  }

  void build_greedily() {
    const std::vector<std::size_t> no_ranks(problem_.buffers.size());
    if (control_.is_time_up()) return;
    for (const auto& keys : worths()) {
      const auto order =
          pack::sorted_buffers(problem_, [&](std::size_t a, std::size_t b) { return keys[a] > keys[b]; });
      if (!consider({order, no_ranks})) return;
    }
    (void)consider({pack::by_start(problem_), no_ranks});
  }

  /// Keys of the orders in which buffers are tried: saving per byte and position, per byte, in all; area;
  /// size. Of equal savings the larger area goes first.
  [[nodiscard]] std::vector<std::vector<std::pair<double, double>>> worths() const {
    std::vector<std::vector<std::pair<double, double>>> keys(5);
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      const auto saving = static_cast<double>(choices_.saving(b));
      const double area = area_of(problem_.buffers[b]);
      const auto size = static_cast<double>(problem_.buffers[b].size);
      keys[0].emplace_back(saving / std::max(area, 1.0), area);
      keys[1].emplace_back(saving / std::max(size, 1.0), area);
      keys[2].emplace_back(saving, area);
      keys[3].emplace_back(area, saving);
      keys[4].emplace_back(size, saving);
    }
    return keys;
  }

  /// Small problems: tries all choices of memories. This proves the best cost, which becomes the bound.
  void prove(std::int64_t& bound) {
    const bool fits = score_.excess == 0;
    if (fits && score_.cost == bound) return;
    auto found = exact(problem_, choices_, fits ? score_.cost : largest_value);
    if (!found) return;
    if (!found->places.empty()) {
      best_ = std::move(found->places);
      score_ = pack::score_of(problem_, best_);
    }
    if (found->is_proven && score_.excess == 0) bound = score_.cost;
  }

  /// Whether the cost leaves the memory of some buffer open.
  [[nodiscard]] bool leaves_a_choice() const {
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      if (choices_.saving(b) == 0 && choices_.allowed[b].size() > 1) return true;
    }
    return false;
  }

  void improve() {
    const std::size_t count = problem_.buffers.size();
    if (wish_.order.empty()) return;
    const std::size_t rounds = std::min(most_rounds, improvement_budget / count);
    for (std::size_t round = 0; round < rounds && !has_the_best(); ++round) {
      if (control_.is_time_up()) return;
      control_.report("levels", static_cast<double>(round) / static_cast<double>(rounds));
      if (!consider(changed())) return;
    }
  }

  /// Whether every buffer is in its cheapest memory, and all are in the first.
  [[nodiscard]] bool has_the_best() const {
    for (std::size_t b = 0; b < best_.size(); ++b) {
      if (best_[b].memory != 0 || is_refused(b, best_)) return false;
    }
    return score_.excess == 0;
  }

  [[nodiscard]] bool is_refused(std::size_t b, std::span<const Place> places) const {
    return choices_.costs[b][places[b].memory] > choices_.costs[b][choices_.allowed[b].front()] ||
           (choices_.saving(b) == 0 && places[b].memory != choices_.allowed[b].front());
  }

  [[nodiscard]] std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  /// The wish with some changes.
  Wish changed() {
    Wish wish = wish_;
    for (std::size_t change = 1 + below(3); change > 0; --change) {
      const std::size_t kind = below(8);
      const std::size_t from = kind < 4 ? refused_one(wish) : below(wish.order.size());
      const std::size_t b = wish.order[from];
      if (kind < 6) {
        move(wish.order, from, kind < 4 ? below(from + 1) : below(wish.order.size()));
      } else {
        wish.ranks[b] = wish.ranks[b] > 0 ? 0 : below(choices_.allowed[b].size());
      }
    }
    return wish;
  }

  /// The place of a refused buffer in the order, if a few draws find one.
  std::size_t refused_one(const Wish& wish) {
    constexpr int draws = 8;
    std::size_t at = below(wish.order.size());
    for (int draw = 0; draw < draws && !is_refused(wish.order[at], wish_places_); ++draw)
      at = below(wish.order.size());
    return at;
  }

  static void move(std::vector<std::size_t>& order, std::size_t from, std::size_t to) {
    const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
    if (to < from) std::rotate(at(to), at(from), at(from + 1));
    if (from < to) std::rotate(at(from), at(from + 1), at(to + 1));
  }

  const Problem& problem_;
  pack::Control control_;
  Choices choices_;
  std::mt19937_64 random_;
  std::vector<Place> best_;
  pack::Score score_;
  Wish wish_;  ///< The changes start from the best wish that was built.
  std::vector<Place> wish_places_;
  pack::Score wish_score_;
  bool cut_short_ = false;
};

}  // namespace

pack::Placing assign(const Problem& problem, const pack::Control& control) {
  return Search(problem, control).run();
}

std::optional<std::string> obstacle_to_assign(const Problem& problem) {
  if (problem.memories.size() != 1) return std::nullopt;
  return "chooses between memories, one is given";
}

}  // namespace stowage::memories
