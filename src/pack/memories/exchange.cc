// A memory refused a buffer because the others left no room at their offsets. Other offsets may leave
// room: if no position has too many bytes alive, the packers of one memory try to place the set with the
// buffer. Otherwise the least worthy buffers at these positions have to leave first, as long as together they
// save less than the newcomer.
//
// Buffers that leave look for a place in memories that cost more, at the present offsets there.
// Cost: a budget of tries, each of them n log n times the number of packers.

#include "pack/memories/exchange.h"

#include <algorithm>
#include <optional>

#include "pack/bounds.h"
#include "pack/memories/memories.h"
#include "pack/occupancy.h"
#include "pack/placing.h"

namespace stowage::memories {
namespace {

constexpr std::size_t exchange_budget = 20000;  ///< Buffers given to packers, over all tries.
constexpr std::size_t most_tries = 64;

class Exchange {
 public:
  Exchange(const Problem& problem, const Choices& choices, const std::vector<Place>& places,
           const pack::Control& control)
      : problem_(problem), choices_(choices), places_(places), control_(control) {}

  /// All places with b in that memory, if possible.
  std::optional<std::vector<Place>> with(std::size_t b, std::size_t memory) {
    set_ = set_of(places_, memory);
    set_.push_back(b);
    gone_.clear();
    if (!make_room(b, memory)) return std::nullopt;
    const auto offsets = pack_within(problem_, set_, choices_.capacities[memory], control_);
    if (!offsets) return std::nullopt;
    for (std::size_t i = 0; i < set_.size(); ++i) places_[set_[i]] = {memory, (*offsets)[i]};
    for (const std::size_t other : gone_) {
      if (!find_other_place(other, memory)) return std::nullopt;
    }
    return places_;
  }

 private:
  /// Removes the least worthy buffers from the set until the newcomer fits at every position of its life.
  bool make_room(std::size_t newcomer, std::size_t memory) {
    std::int64_t lost = 0;
    while (const auto at = full_position(memory)) {
      std::optional<std::size_t> least;
      for (std::size_t i = 0; i + 1 < set_.size(); ++i) {
        if (is_alive_at(set_[i], *at) && (!least || worth(set_[i], memory) < worth(set_[*least], memory)))
          least = i;
      }
      if (!least) return false;
      lost += loss(set_[*least], memory);
      if (lost > loss_from(places_[newcomer].memory, newcomer, memory)) return false;
      gone_.push_back(set_[*least]);
      set_.erase(set_.begin() + static_cast<std::ptrdiff_t>(*least));
    }
    return true;
  }

  /// The first position with more live bytes than the memory holds.
  [[nodiscard]] std::optional<Position> full_position(std::size_t memory) const {
    std::vector<Buffer> buffers;
    for (const std::size_t b : set_) buffers.push_back(problem_.buffers[b]);
    for (const pack::Load& load : pack::load_profile(buffers)) {
      if (load.bytes > choices_.capacities[memory]) return load.at;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_alive_at(std::size_t b, Position at) const {
    const auto& pieces = problem_.buffers[b].pieces;
    return std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
      return piece.is_ever_alive() && piece.life.lower <= at && at < piece.life.upper;
    });
  }

  [[nodiscard]] std::int64_t loss_from(std::size_t dear, std::size_t b, std::size_t cheap) const {
    return choices_.costs[b][dear] - choices_.costs[b][cheap];
  }

  /// The least cost of moving the buffer out of a memory.
  [[nodiscard]] std::int64_t loss(std::size_t b, std::size_t memory) const {
    const auto& allowed = choices_.allowed[b];
    const auto next = std::find(allowed.begin(), allowed.end(), memory) + 1;
    return loss_from(next < allowed.end() ? *next : allowed.back(), b, memory);
  }

  [[nodiscard]] double worth(std::size_t b, std::size_t memory) const {
    return static_cast<double>(loss(b, memory)) /
           static_cast<double>(std::max<Bytes>(1, problem_.buffers[b].size));
  }

  /// Puts the buffer in a later memory where it fits among the buffers there.
  bool find_other_place(std::size_t b, std::size_t memory) {
    const Buffer& buffer = problem_.buffers[b];
    if (buffer.pinned) return false;
    const auto& allowed = choices_.allowed[b];
    for (auto m = std::find(allowed.begin(), allowed.end(), memory) + 1; m < allowed.end(); ++m) {
      pack::Occupancy occupancy(problem_.buffers);
      for (std::size_t other = 0; other < places_.size(); ++other) {
        if (places_[other].memory == *m) occupancy.reserve(problem_.buffers[other], places_[other].offset);
      }
      const Bytes offset = occupancy.lowest_fit(buffer);
      if (offset + buffer.size > choices_.capacities[*m]) continue;
      places_[b] = {*m, offset};
      return true;
    }
    return false;
  }

  const Problem& problem_;
  const Choices& choices_;
  std::vector<Place> places_;
  const pack::Control& control_;
  std::vector<std::size_t> set_;   ///< To be placed in the memory; the newcomer is the last.
  std::vector<std::size_t> gone_;  ///< Buffers that had to leave it.
};

struct Offer {
  std::int64_t saving = 0;
  std::size_t buffer = 0;
  std::size_t memory = 0;
};

/// Buffers that could live cheaper, and in which memory; the most saving first.
std::vector<Offer> offers(const Problem& problem, const Choices& choices, const std::vector<Place>& places) {
  std::vector<Offer> all;
  for (std::size_t b = 0; b < places.size(); ++b) {
    for (const std::size_t m : choices.allowed[b]) {
      const std::int64_t saving = choices.costs[b][places[b].memory] - choices.costs[b][m];
      if (saving > 0 && holds(choices, m, problem.buffers[b])) all.push_back({saving, b, m});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Offer& a, const Offer& b) { return a.saving > b.saving; });
  return all;
}

}  // namespace

void exchange_refused(const Problem& problem, const Choices& choices, std::vector<Place>& places,
                      const pack::Control& control) {
  std::size_t tries = std::min(most_tries, exchange_budget / std::max<std::size_t>(1, places.size()));
  pack::Score score = pack::score_of(problem, places);
  for (const Offer& offer : offers(problem, choices, places)) {
    if (tries-- == 0 || control.is_time_up()) return;
    if (choices.costs[offer.buffer][places[offer.buffer].memory] <= choices.costs[offer.buffer][offer.memory])
      continue;  // has moved meanwhile
    auto candidate = Exchange(problem, choices, places, control).with(offer.buffer, offer.memory);
    if (!candidate) continue;
    pack::Score found = pack::score_of(problem, *candidate);
    if (found >= score) continue;
    score = std::move(found);
    places = std::move(*candidate);
  }
}

}  // namespace stowage::memories
