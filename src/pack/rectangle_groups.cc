// Groups for the tuner, and the merger of what it has tuned.
//
// Idea. Rectangles that are alive together compete for the same addresses, so they are to be ordered
// together; those that hardly meet can be tuned one group after the other, which is cheaper.
//
//     +------+   +--+         first group: a, b (b lies in a's time)
//     |  a   |   |d |         c shares one of its six positions with the group's span, less than half:
//     +-+--+-++--+--+-+       it opens the second group, which d joins
//       |b | |   c    |
//       +--+ +--------+
//
// A group is known by the span of its time only, so one sweep by start does. Cost: n log n.
// Source: the document of docs/rectangle.md, claim 6 and paragraphs 29, 127 and 157 (claim 6 and paragraph
// 127 speak of the low ones, 153 to 160 of the medium ones: medium is meant); the merger: claim 5, paragraphs
// 22 and 154. What "divided by time overlap length" means is open: the share of the shorter of both is ours.

#include "pack/rectangle_groups.h"

#include <algorithm>
#include <numeric>

namespace stowage::pack {

std::vector<std::vector<Rectangle>> groups_by_overlap(std::span<const Rectangle> rectangles, int percent) {
  std::vector<std::size_t> by_start(rectangles.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(), [&](std::size_t a, std::size_t b) {
    return rectangles[a].life.lower < rectangles[b].life.lower;
  });
  std::vector<std::size_t> group_of(rectangles.size(), 0);
  std::size_t groups = 0;
  Lifetime span{};
  for (const std::size_t r : by_start) {
    const Lifetime& life = rectangles[r].life;
    const Position shared = std::min(life.upper, span.upper) - std::max(life.lower, span.lower);
    const Position shorter = std::min(life.upper - life.lower, span.upper - span.lower);
    const bool joins =
        groups > 0 && shared > 0 &&
        static_cast<Large>(shared) * 100 >= static_cast<Large>(shorter) * static_cast<unsigned>(percent);
    if (joins) {
      span.upper = std::max(span.upper, life.upper);
    } else {
      span = life;
      ++groups;
    }
    group_of[r] = groups - 1;
  }
  std::vector<std::vector<Rectangle>> result(groups);
  for (std::size_t r = 0; r < rectangles.size(); ++r) result[group_of[r]].push_back(rectangles[r]);
  return result;
}

Order merged(const Order& high, const Order& medium, std::span<const std::size_t> previous,
             std::span<const Risk> risks) {
  Order order = high;
  order.insert(order.end(), medium.begin(), medium.end());
  for (const Risk risk : {Risk::low, Risk::none}) {
    for (const std::size_t b : previous) {
      if (risks[b] == risk) order.push_back(b);
    }
  }
  return order;
}

}  // namespace stowage::pack
