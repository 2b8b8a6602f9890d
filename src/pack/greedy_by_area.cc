// Idea. What a buffer takes from the plane of time and address is its area: bytes times how long
// they are needed, summed over its pieces. Largest area first, ties in the given order, each as
// low as it fits.
//
// Cost: a sort and one query per buffer (occupancy.cc). Source: folklore.

#include "pack/greedy_by_area.h"

namespace stowage::pack {

Placing greedy_by_area(const Problem& problem, const Control& control) {
  __extension__ using Area = unsigned __int128;  // a size times a duration does not fit 64 bits
  std::vector<Area> areas;
  areas.reserve(problem.buffers.size());
  for (const Buffer& buffer : problem.buffers) {
    Area area = 0;
    for (const Piece& piece : buffer.pieces) {
      area += static_cast<Area>(piece.size) * static_cast<Area>(piece.life.upper - piece.life.lower);
    }
    areas.push_back(area);
  }
  const auto order =
      sorted_buffers(problem, [&](std::size_t a, std::size_t b) { return areas[a] > areas[b]; });
  return place_in_order(problem, order, Fit::lowest, control, "greedy-by-area");
}

}  // namespace stowage::pack
