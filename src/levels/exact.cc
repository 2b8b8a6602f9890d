// Idea. Few buffers have few choices: go through them buffer by buffer, those with the most to save first,
// each into the cheapest memory first. A branch is given up when
// - its cost and the least that the rest can cost are no less than the best known,
// - somewhere more bytes are alive in a memory than it holds,
// - the set that a memory has so far cannot be placed in it, whatever comes (packability.cc), which is asked
//   once for every set.
//
// What is exact: the cost. When this says that it is proven, no choice of memories and offsets that keeps
// all capacities costs less. Peaks are not looked at. It serves up to 14 buffers that are ever alive, each
// with a single piece that is all of it; those that never are go where they cost least. When a question about
// a set stays open, or the budget of choices is used up, nothing is claimed. Cost: memories to the power of
// buffers at worst, within the budget. Source: ours; branch and bound as always.

#include "levels/exact.h"

#include <algorithm>
#include <unordered_map>

namespace stowage::levels {
namespace {

constexpr std::int64_t most_choices = 50000;
constexpr std::int64_t most_placed = 200000;  ///< Buffers placed, to answer what sets fit.

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
  /// What is never alive takes nothing from anybody. Its cost; none: it fits nowhere.
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
  std::vector<std::int64_t> rest_;   ///< What they cost at least, from the i-th on.
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

}  // namespace stowage::levels
