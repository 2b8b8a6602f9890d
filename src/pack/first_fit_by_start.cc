// Idea. What an allocator at run time would do: in the order in which buffers come to life, each
// takes the lowest addresses that are free for all of its life. Of those that start together the
// larger goes first, then the one given first.
//
// Cost: a sort and one query per buffer (occupancy.cc).
// Source: first fit, Knuth, The Art of Computer Programming, vol. 1, section 2.5.

#include "pack/first_fit_by_start.h"

namespace stowage::pack {

Placing first_fit_by_start(const Problem& problem, const Control& control) {
  return place_in_order(problem, by_start(problem), Fit::lowest, control, "first-fit-by-start");
}

}  // namespace stowage::pack
