// Idea. Large buffers are the hard ones: place them first, while everything is still free, and let
// the small ones fill the gaps. Largest first, ties in the given order; each goes to the tightest
// gap that takes it, counting only buffers that are alive at the same time.
//
//     address ^  +---+
//             |  | 3 |   +-------+      1, 2, 3: by falling size; 3 goes into the gap above 1
//             |  +---+---+  2    |      and beside 2, not on top
//             |  |   1   +-------+
//             +--+-------+---------> time
//
// Cost: a sort and one query per buffer (occupancy.cc).
// Source: Pisarchyk & Lee, Efficient Memory Management for Deep Neural Net Inference, 2020,
// "greedy by size for offset calculation".

#include "pack/greedy_by_size.h"

namespace stowage::pack {

Placing greedy_by_size(const Problem& problem, const Control& control) {
  const auto order = sorted_buffers(problem, [&](std::size_t a, std::size_t b) {
    return problem.buffers[a].size > problem.buffers[b].size;
  });
  return place_in_order(problem, order, Fit::tightest, control, "greedy-by-size");
}

}  // namespace stowage::pack
