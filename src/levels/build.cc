// One greedy construction: an occupancy for each memory, and buffers that choose one after the other. What is
// pinned or never alive is settled first. Cost: that of placing each buffer once in each memory it may live
// in.

#include "levels/build.h"

#include <algorithm>

#include "pack/occupancy.h"

namespace stowage::levels {
namespace {

class Builder {
 public:
  Builder(const Problem& problem, const Choices& choices, const Wish& wish)
      : problem_(problem),
        choices_(choices),
        wish_(wish),
        occupancies_(problem.memories.size(), pack::Occupancy(problem.buffers)),
        places_(problem.buffers.size()) {}

  /// What needs no room, or has its offset.
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

  std::vector<Place> take() { return std::move(places_); }

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
};

}  // namespace

std::optional<std::vector<Place>> build(const Problem& problem, const Choices& choices, const Wish& wish,
                                        const pack::Control& control) {
  Builder builder(problem, choices, wish);
  for (const std::size_t b : wish.order) {
    if (builder.is_settled(b)) builder.settle(b);
  }
  for (std::size_t done = 0; done < wish.order.size(); ++done) {
    if (done % pack::buffers_between_looks == 0 && control.is_too_late()) return std::nullopt;
    if (!builder.is_settled(wish.order[done])) builder.choose(wish.order[done]);
  }
  return builder.take();
}

}  // namespace stowage::levels
