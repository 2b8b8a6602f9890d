// Sweep over time and keep the live boxes ordered by their first address. As long as no two of them
// overlap, a new box can only meet the boxes directly below and above its first address: two look-ups instead
// of a comparison with all. The first hit ends the sweep.
// Cost: n log n; memory: an index for each box, and what is live. Source: the plane sweep of Shamos & Hoey (1976).

#include "base/overlap.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <queue>
#include <utility>
#include <vector>

namespace stowage::base {
namespace {

/// The boxes that are not empty, by the begins of their lives.
std::vector<std::uint32_t> in_order_of_time(std::span<const Box> boxes) {
  std::vector<std::uint32_t> order;
  order.reserve(boxes.size());
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const bool is_empty = boxes[b].begin >= boxes[b].end || boxes[b].life.lower >= boxes[b].life.upper;
    if (!is_empty) order.push_back(static_cast<std::uint32_t>(b));
  }
  const auto lower_of = [&](std::uint32_t b) { return boxes[b].life.lower; };
  if (!std::ranges::is_sorted(order, {}, lower_of)) std::ranges::stable_sort(order, {}, lower_of);
  return order;
}

}  // namespace

std::optional<Overlap> find_overlap(std::span<const Box> boxes) {
  using End = std::pair<Position, Bytes>;  // the upper end of its life, and its first address
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  std::map<Bytes, std::size_t> live;  // by first address
  for (const std::uint32_t b : in_order_of_time(boxes)) {
    const Box& box = boxes[b];
    for (; !ends.empty() && ends.top().first <= box.life.lower; ends.pop()) live.erase(ends.top().second);
    const auto next = live.lower_bound(box.begin);
    if (next != live.end() && next->first < box.end) return Overlap{next->second, b, box.life.lower};
    if (next != live.begin()) {
      const std::size_t below = std::prev(next)->second;
      if (boxes[below].end > box.begin) return Overlap{below, b, box.life.lower};
    }
    live.emplace_hint(next, box.begin, b);
    ends.emplace(box.life.upper, box.begin);
  }
  return std::nullopt;
}

}  // namespace stowage::base
