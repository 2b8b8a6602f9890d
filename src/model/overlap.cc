// Idea. Sweep over time and keep the live boxes ordered by their first address. As long as no two of them
// overlap, a new box can only meet the boxes directly below and above its first address: two look-ups instead
// of a comparison with all. The first hit ends the sweep.
// Cost: n log n. Source: the plane sweep of Shamos & Hoey (1976).

#include "model/overlap.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace stowage::model {
namespace {

struct Event {
  Position at;
  std::uint32_t box;
  bool begins;  // ends come first: lifetimes are half-open
};

std::vector<Event> events_of(std::span<const Box> boxes) {
  std::vector<Event> events;
  events.reserve(2 * boxes.size());
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const auto b = static_cast<std::uint32_t>(i);
    if (boxes[b].begin >= boxes[b].end || boxes[b].life.lower >= boxes[b].life.upper) continue;
    events.push_back({boxes[b].life.lower, b, true});
    events.push_back({boxes[b].life.upper, b, false});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    if (a.at != b.at) return a.at < b.at;
    return a.begins != b.begins ? a.begins < b.begins : a.box < b.box;
  });
  return events;
}

}  // namespace

std::optional<Overlap> find_overlap(std::span<const Box> boxes) {
  std::map<Bytes, std::size_t> live;  // by first address
  for (const Event& event : events_of(boxes)) {
    const Box& box = boxes[event.box];
    if (!event.begins) {
      live.erase(box.begin);
      continue;
    }
    const auto next = live.lower_bound(box.begin);
    if (next != live.end() && next->first < box.end) return Overlap{next->second, event.box, event.at};
    if (next != live.begin()) {
      const std::size_t below = std::prev(next)->second;
      if (boxes[below].end > box.begin) return Overlap{below, event.box, event.at};
    }
    live.emplace_hint(next, box.begin, event.box);
  }
  return std::nullopt;
}

}  // namespace stowage::model
