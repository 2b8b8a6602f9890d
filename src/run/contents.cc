// Idea. Every byte of a memory has a name: the value it belongs to, and its number in that value. Whoever
// reads a row asks for its bytes by name, so that a row that was never written, was written over or was given
// back is found whatever the bytes are, and whoever took them is known.
//
//   address    0        8        16       24
//              | x 0..8 | y 0..8 | x 8..16|          x 0..16 is not at 0: byte 8 is y's, written at 5
//
// Cost: log n for n runs of bytes, amortised: what is written over is cut once.

#include "run/contents.h"

#include <algorithm>
#include <iterator>

namespace stowage::run {

void Contents::put(const std::byte* at, Bytes size, const Held& first) {
  if (size <= 0) return;
  remove(at, size);
  auto next = segments_.lower_bound(at);
  const std::byte* const end = at + size;
  if (next != segments_.begin()) {
    Segment& before = std::prev(next)->second;
    const Bytes length = before.end - std::prev(next)->first;
    if (before.end == at && before.first.value == first.value && before.first.written == first.written &&
        before.first.offset + length == first.offset) {
      before.end = end;
      return;
    }
  }
  segments_.emplace_hint(next, at, Segment{end, first});
}

void Contents::remove(const std::byte* at, Bytes size) {
  const std::byte* const end = at + size;
  auto segment = segments_.lower_bound(at);
  if (segment != segments_.begin() && std::prev(segment)->second.end > at) --segment;
  while (segment != segments_.end() && segment->first < end) {
    const std::byte* const begin = segment->first;
    const Segment old = segment->second;
    segment = segments_.erase(segment);
    if (begin < at) segments_.emplace(begin, Segment{at, old.first});
    if (old.end > end) {
      Held rest = old.first;
      rest.offset += end - begin;
      segments_.emplace(end, Segment{old.end, rest});
    }
  }
}

std::optional<Contents::Other> Contents::first_other(const std::byte* at, Bytes size, std::size_t value,
                                                     Bytes offset) const {
  const std::byte* const begin = at;
  const std::byte* const end = at + size;
  auto segment = segments_.upper_bound(at);
  if (segment != segments_.begin()) --segment;
  for (; segment != segments_.end() && at < end; ++segment) {
    if (segment->second.end <= at) continue;
    if (segment->first > at) break;
    Held held = segment->second.first;
    held.offset += at - segment->first;
    if (held.value != value || held.offset != offset + (at - begin)) return Other{at, held};
    at = segment->second.end;
  }
  return at >= end ? std::nullopt : std::optional(Other{.at = at});
}

}  // namespace stowage::run
