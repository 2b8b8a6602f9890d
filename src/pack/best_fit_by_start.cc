// Idea. In the order in which buffers come to life, each takes the tightest gap that is free for
// all of its life, so that large gaps stay whole for large buffers. Of those that start together
// the larger goes first, then the one given first.
//
// Cost: a sort and one query per buffer (occupancy.cc).
// Source: best fit, Knuth, The Art of Computer Programming, vol. 1, section 2.5.

#include "pack/best_fit_by_start.h"

namespace stowage::pack {

Placing best_fit_by_start(const Problem& problem, const Control& control) {
  return place_in_order(problem, by_start(problem), Fit::tightest, control, "best-fit-by-start");
}

}  // namespace stowage::pack
