// Idea. A box says of its bytes which source they are of, and by its shift which of them: two boxes may
// overlap if source and shift are the same, for then every common byte is the same byte. One sweep over
// time keeps the live addresses as segments of one content each, and counts who holds them:
//
//   address   0        8       12
//   concat    [ a, shift 0 | b, shift 8 ]
//   a         [ a, shift 0 ]                counts   2 ... 2  1 ... 1
//   other         [ c ]                     another source: refused
//
// Cost: n log n in boxes, plus the segments that each box spans; these are few unless many tensors
// overlap in many ways.

#include "check/live_content.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace stowage::check {
namespace {

/// Live addresses, each with its content.
class LiveContent {
 public:
  /// The holder of other content in these bytes, if there is any; nothing may be done then any more.
  std::optional<Holder> add(const HeldBox& box) {
    split_at(box.begin);
    split_at(box.end);
    Bytes done = box.begin;
    auto next = segments_.lower_bound(box.begin);
    while (done < box.end) {
      if (next == segments_.end() || next->first > done) {
        const Bytes end = next == segments_.end() ? box.end : std::min(box.end, next->first);
        segments_.emplace_hint(next, done, Segment{end, box.content, box.holder, 1});
        done = end;
        continue;
      }
      Segment& segment = next->second;
      if (segment.content != box.content) return segment.longest;
      if (segment.longest.need->life.upper < box.holder.need->life.upper) segment.longest = box.holder;
      ++segment.holders;
      done = segment.end;
      ++next;
    }
    return std::nullopt;
  }

  void remove(const HeldBox& box) {
    for (auto it = segments_.lower_bound(box.begin); it != segments_.end() && it->first < box.end;)
      it = --it->second.holders == 0 ? segments_.erase(it) : std::next(it);
  }

 private:
  struct Segment {
    Bytes end = 0;
    Content content{};
    Holder longest{};  ///< Of those who hold it the one that needs it longest.
    std::size_t holders = 0;
  };

  void split_at(Bytes address) {
    const auto after = segments_.lower_bound(address);
    if (after == segments_.begin()) return;
    Segment& segment = std::prev(after)->second;
    if (segment.end <= address) return;
    Segment upper = segment;
    segment.end = address;
    segments_.emplace_hint(after, address, upper);
  }

  std::map<Bytes, Segment> segments_;  ///< By first address.
};

}  // namespace

std::optional<Conflict> find_conflict(const std::vector<HeldBox>& boxes) {
  struct Event {
    Position at;
    bool begins;  // ends come first: lifetimes are half-open
    std::size_t box;
  };
  std::vector<Event> events;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    if (boxes[b].life.lower >= boxes[b].life.upper || boxes[b].begin >= boxes[b].end) continue;
    events.push_back({boxes[b].life.lower, true, b});
    events.push_back({boxes[b].life.upper, false, b});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    if (a.at != b.at) return a.at < b.at;
    return a.begins != b.begins ? a.begins < b.begins : a.box < b.box;
  });
  LiveContent live;
  for (const Event& event : events) {
    const HeldBox& box = boxes[event.box];
    if (!event.begins) {
      live.remove(box);
    } else if (const auto other = live.add(box)) {
      return Conflict{*other, box.holder, event.at / 2};
    }
  }
  return std::nullopt;
}

std::vector<HeldBox> held_together(const std::vector<HeldBox>& boxes, const Lifetime& life,
                                   std::size_t& unique) {
  using Event = std::tuple<Bytes, bool, std::size_t>;  // address, whether the box begins there, which
  std::vector<Event> events;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    if (boxes[b].life.lower >= boxes[b].life.upper || boxes[b].begin >= boxes[b].end) continue;
    events.emplace_back(boxes[b].begin, true, b);
    events.emplace_back(boxes[b].end, false, b);
  }
  std::sort(events.begin(), events.end());
  std::vector<HeldBox> together;
  struct Present {
    std::size_t boxes = 0;
    Holder holder{};
  };
  std::map<Content, Present> present;
  Bytes done = 0;
  for (const auto& [address, begins, b] : events) {
    if (!present.empty() && done < address) {
      const bool is_same = present.size() == 1;
      const Content content = is_same ? present.begin()->first : Content{unique++, 0};
      HeldBox* const last = together.empty() ? nullptr : &together.back();
      if (last != nullptr && is_same && last->end == done && last->content == content) {
        last->end = address;
      } else {
        together.push_back({life, done, address, content, present.begin()->second.holder});
      }
    }
    done = address;
    const auto it = present.try_emplace(boxes[b].content, Present{0, boxes[b].holder}).first;
    if (begins) {
      ++it->second.boxes;
    } else if (--it->second.boxes == 0) {
      present.erase(it);
    }
  }
  return together;
}

}  // namespace stowage::check
