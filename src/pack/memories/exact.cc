// Few buffers have few choices. Try them buffer by buffer, those with the most to save first, each in
// the cheapest memory first. A branch is given up if
// - its cost plus the least cost of the rest is no less than the best known,
// - more bytes are alive at some position than a memory holds,
// - the present set of a memory cannot be placed in it (`packability`, called once for every set).
//
// The cost is exact: if the result is proven, no choice of memories and offsets within all capacities costs
// less. Peaks are ignored. The search serves up to 14 buffers that are ever alive, each with a single piece
// that is all of it. Buffers that are never alive go where they cost least. If a set remains undecided, or
// the budget of choices is used up, nothing is proven. Cost: memories to the power of buffers at worst,
// within the budget. Source: ours; ordinary branch and bound.

#include "pack/memories/exact.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/checked.h"

namespace stowage::memories {
namespace {

constexpr std::int64_t most_choices = 50000;
constexpr std::int64_t most_placed = 200000;  ///< Buffers placed to decide which sets fit.

class ExactSearch {
 public:
  ExactSearch(const Problem& problem, const Choices& choices, std::int64_t below)
      : problem_(problem), choices_(choices), below_(below), answers_(problem.memories.size()) {
    places_.resize(problem.buffers.size());
    sets_.resize(problem.memories.size());
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      if (choices.is_ever_alive[b]) order_.push_back(b);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return choices.saving(a) > choices.saving(b); });
    rest_.assign(order_.size() + 1, 0);
    for (std::size_t i = order_.size(); i-- > 0;)
      rest_[i] = rest_[i + 1] + choices.costs[order_[i]][choices.allowed[order_[i]].front()];
  }

  Exact run() {
    const auto cost = settle_the_dead();
    if (!cost) return {};
    choose(0, *cost);
    return {std::move(best_), !is_open_};
  }

 private:
  /// Buffers that are never alive take no room. Returns their cost; none if one fits nowhere.
  std::optional<std::int64_t> settle_the_dead() {
    std::int64_t cost = 0;
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      if (choices_.is_ever_alive[b]) continue;
      const auto& allowed = choices_.allowed[b];
      const auto first = std::find_if(allowed.begin(), allowed.end(),
                                      [&](std::size_t m) { return holds(choices_, m, problem_.buffers[b]); });
      if (first == allowed.end()) return std::nullopt;
      places_[b] = {*first, problem_.buffers[b].pinned.value_or(0)};
      cost += choices_.costs[b][*first];
    }
    return cost;
  }

  void choose(std::size_t done, std::int64_t cost) {
    if (cost + rest_[done] >= below_) return;
    if (done == order_.size()) {
      below_ = cost;
      best_ = placed();
      return;
    }
    const std::size_t b = order_[done];
    for (const std::size_t m : choices_.allowed[b]) {
      if (++choices_made_ > most_choices) {
        is_open_ = true;
        return;
      }
      if (!holds(choices_, m, problem_.buffers[b])) continue;
      sets_[m] |= std::uint64_t{1} << done;
      const Answer answer = answer_of(m).answer;
      is_open_ = is_open_ || answer == Answer::unknown;
      if (answer == Answer::yes) choose(done + 1, cost + choices_.costs[b][m]);
      sets_[m] &= ~(std::uint64_t{1} << done);
    }
  }

  [[nodiscard]] std::vector<std::size_t> members_of(std::uint64_t set) const {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if ((set >> i & 1) != 0) members.push_back(order_[i]);
    }
    return members;
  }

  const Packability& answer_of(std::size_t memory) {
    const auto [known, is_new] = answers_[memory].try_emplace(sets_[memory]);
    if (!is_new) return known->second;
    std::vector<const Buffer*> buffers;
    for (const std::size_t b : members_of(sets_[memory])) buffers.push_back(&problem_.buffers[b]);
    known->second = packability(buffers, choices_.capacities[memory], placings_left_);
    return known->second;
  }

  std::vector<Place> placed() {
    for (std::size_t m = 0; m < sets_.size(); ++m) {
      const std::vector<std::size_t> members = members_of(sets_[m]);
      for (std::size_t i = 0; i < members.size(); ++i) places_[members[i]] = {m, answer_of(m).offsets[i]};
    }
    return places_;
  }

  const Problem& problem_;
  const Choices& choices_;
  std::int64_t below_;
  std::vector<std::size_t> order_;   ///< The buffers that are ever alive.
  std::vector<std::int64_t> rest_;   ///< The least cost of the buffers from the i-th on.
  std::vector<std::uint64_t> sets_;  ///< Per memory, a bit for each of the order.
  std::vector<std::unordered_map<std::uint64_t, Packability>> answers_;
  std::vector<Place> places_;
  std::vector<Place> best_;
  std::int64_t choices_made_ = 0;
  std::int64_t placings_left_ = most_placed;
  bool is_open_ = false;
};

}  // namespace

bool is_whole(const Buffer& buffer) {
  std::size_t alive = 0;
  for (const Piece& piece : buffer.pieces) {
    if (!piece.is_ever_alive()) continue;
    ++alive;
    if (piece.size != buffer.size) return false;
  }
  return alive == 1;
}

std::optional<Exact> exact(const Problem& problem, const Choices& choices, std::int64_t below) {
  std::size_t alive = 0;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    if (!choices.is_ever_alive[b]) continue;
    if (++alive > most_exact_buffers || !is_whole(problem.buffers[b])) return std::nullopt;
  }
  return ExactSearch(problem, choices, below).run();
}

// Buffers of one piece that fit into a memory also fit if each is pushed down until it rests on another
// or on the floor: as low as its alignment allows, on the highest buffer below it that is alive with it. So
// the search only needs placings built from the lowest offset to the highest, where the next buffer always
// rests on those already placed. A pinned buffer does not rest; it is placed when its offset is reached.
//
//     address ^     +---c---+              a, b, c is the only order tried for this placing: c rests on
//             |  +--a--+    |              a, and is above b, which no other buffer needs to know
//             |  |     +----+---b---+
//             +--+-----+----+-------+--> time
//
// A branch is given up if
// - a remaining buffer would end above the capacity, as high as the placed ones push it,
// - at some position the remaining bytes do not fit above the placed ones,
// - a remaining buffer would end below the next offset: it could have been placed before, and would be pushed
//   there.
// Yes and no are proven. The third rule follows from pushing everything down: of all placings one has the
// least sum of offsets, and it is never given up. Several pieces can get in each other's way when pushed, so
// they are not served. Buffers that fit when simply stacked need no search.
// Cost: exponential, up to a budget of placed buffers; then the answer is unknown.

namespace {

constexpr std::int64_t most_steps = 20000;  ///< For one answer.

class Packing {
 public:
  Packing(std::span<const Buffer* const> buffers, Bytes capacity, std::int64_t steps)
      : buffers_(buffers),
        capacity_(capacity),
        steps_left_(steps),
        offsets_(buffers.size()),
        is_placed_(buffers.size()) {
    std::vector<Position> events;
    for (const Buffer* const buffer : buffers) {
      lives_.push_back(buffer->pieces.front().life);
      for (const Piece& piece : buffer->pieces) {
        if (piece.is_ever_alive()) lives_.back() = piece.life;
      }
      events.push_back(lives_.back().lower);
    }
    std::sort(events.begin(), events.end());
    events.erase(std::unique(events.begin(), events.end()), events.end());
    starts_ = std::move(events);
  }

  Packability run() {
    const bool is_found = search({0, 0}, buffers_.size());
    if (is_found) return {Answer::yes, offsets_};
    return {steps_left_ < 0 ? Answer::unknown : Answer::no, {}};
  }

  [[nodiscard]] std::int64_t steps_left() const { return std::max<std::int64_t>(0, steps_left_); }

 private:
  using Rank = std::pair<Bytes, std::size_t>;  ///< An offset; the index decides between equal ones.

  [[nodiscard]] bool meet(std::size_t a, std::size_t b) const {
    return lives_[a].lower < lives_[b].upper && lives_[b].lower < lives_[a].upper;
  }

  /// The offset at which the buffer would rest.
  [[nodiscard]] Bytes rest_of(std::size_t b) const {
    Bytes top = 0;
    for (std::size_t other = 0; other < buffers_.size(); ++other) {
      if (is_placed_[other] && meet(b, other)) top = std::max(top, offsets_[other] + buffers_[other]->size);
    }
    return base::align_up(top, buffers_[b]->alignment);
  }

  /// Places the remaining buffers at `least` or higher.
  bool search(Rank least, std::size_t left) {
    if (left == 0) return true;
    if (--steps_left_ < 0) return false;
    std::vector<Rank> next;
    Bytes first_end = largest_value;  // of the remaining buffers, each as low as it goes
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (is_placed_[b]) continue;
      const Bytes rest = rest_of(b);
      const Bytes offset = buffers_[b]->pinned.value_or(rest);
      if (buffers_[b]->pinned && Rank(offset, b) < least) return false;  // its turn is over
      if (offset < rest ||
          std::max(offset, buffers_[b]->pinned ? offset : least.first) + buffers_[b]->size > capacity_)
        return false;
      first_end = std::min(first_end, offset + buffers_[b]->size);
      if (Rank(offset, b) >= least) next.emplace_back(offset, b);
    }
    if (!has_room_above(least.first)) return false;
    std::sort(next.begin(), next.end());
    for (const Rank& rank : next) {
      if (rank.first >= first_end) return false;
      is_placed_[rank.second] = true;
      offsets_[rank.second] = rank.first;
      if (search(rank, left - 1)) return true;
      is_placed_[rank.second] = false;
    }
    return false;
  }

  /// Whether at every position the remaining bytes fit above that offset and the placed buffers.
  [[nodiscard]] bool has_room_above(Bytes offset) const {
    for (const Position at : starts_) {
      Bytes top = 0;
      Bytes left = 0;
      for (std::size_t b = 0; b < buffers_.size(); ++b) {
        if (at < lives_[b].lower || at >= lives_[b].upper) continue;
        if (is_placed_[b]) top = std::max(top, offsets_[b] + buffers_[b]->size);
        if (!is_placed_[b]) left += buffers_[b]->size;
      }
      if (left > 0 && std::max(top, offset) + left > capacity_) return false;
    }
    return true;
  }

  std::span<const Buffer* const> buffers_;
  Bytes capacity_;
  std::int64_t steps_left_;
  std::vector<Lifetime> lives_;
  std::vector<Position> starts_;  ///< The most bytes are alive where some buffer begins.
  std::vector<Bytes> offsets_;
  std::vector<bool> is_placed_;
};

/// Pins stay, all others are stacked; nothing if that is too high.
std::optional<std::vector<Bytes>> stacked(std::span<const Buffer* const> buffers, Bytes capacity) {
  std::vector<Bytes> offsets;
  Bytes top = 0;
  for (const Buffer* const buffer : buffers) {
    if (buffer->pinned) top = std::max(top, *buffer->pinned + buffer->size);
  }
  for (const Buffer* const buffer : buffers) {
    offsets.push_back(buffer->pinned.value_or(base::align_up(top, buffer->alignment)));
    if (!buffer->pinned) top = offsets.back() + buffer->size;
  }
  if (top > capacity) return std::nullopt;
  return offsets;
}

}  // namespace

Packability packability(std::span<const Buffer* const> buffers, Bytes capacity, std::int64_t& budget) {
  if (auto offsets = stacked(buffers, capacity)) return {Answer::yes, std::move(*offsets)};
  const std::int64_t steps = std::min(most_steps, budget);
  Packing packing(buffers, capacity, steps);
  Packability found = packing.run();
  budget -= steps - packing.steps_left();
  return found;
}

}  // namespace stowage::memories
