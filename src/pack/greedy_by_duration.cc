// Idea. A buffer that lives long meets many others: place it first, at the bottom, where it stands
// in nobody's way. Longest life first (from its first piece to its last), of equal ones the larger,
// then the one given first; each goes as low as it fits.
//
// Cost: a sort and one query per buffer (occupancy.cc). Source: folklore.

#include "pack/greedy_by_duration.h"

namespace stowage::pack {

Placing greedy_by_duration(const Problem& problem, const Control& control) {
  const auto duration = [&](std::size_t b) {
    const Lifetime life = life_of(problem.buffers[b]);
    return life.upper - life.lower;
  };
  const auto order = sorted_buffers(problem, [&](std::size_t a, std::size_t b) {
    const Position first = duration(a);
    const Position second = duration(b);
    return first != second ? first > second : problem.buffers[a].size > problem.buffers[b].size;
  });
  return place_in_order(problem, order, Fit::lowest, control, "greedy-by-duration");
}

}  // namespace stowage::pack
