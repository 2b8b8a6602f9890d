// Every byte of a memory has names: a value, such as a tensor, and its number in that value. Readers request bytes
// by name. So what was never written, was overwritten or was released is found whatever the bytes are, and the
// writer of the other bytes is known. A byte that an operator copies in place has several names.
//
//   address    0        8        16       24
//              | x 0..8 | y 0..8 | x 8..16|          x 0..16 is not at 0: byte 8 is y's, written at 5
//
// Cost: log n for n runs of bytes, amortised: overwritten runs are cut once.

#include "run/contents.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stowage::run {

void Contents::cut(const std::byte* at) {
  auto segment = segments_.lower_bound(at);
  if (segment == segments_.begin()) return;
  --segment;
  if (segment->second.end <= at) return;
  Segment rest = segment->second;
  const Bytes size = at - segment->first;
  rest.first.offset += size;
  for (Name& name : rest.more) name.offset += size;
  segment->second.end = at;
  segments_.emplace_hint(std::next(segment), at, std::move(rest));
}

void Contents::remove(const std::byte* at, Bytes size) {
  if (size <= 0) return;
  cut(at);
  cut(at + size);
  segments_.erase(segments_.lower_bound(at), segments_.lower_bound(at + size));
}

void Contents::put(const std::byte* at, Bytes size, const Name& first) {
  if (size <= 0) return;
  remove(at, size);
  const auto next = segments_.lower_bound(at);
  if (next != segments_.begin()) {
    const auto& [begin, before] = *std::prev(next);
    if (before.end == at && before.more.empty() && before.first.value == first.value &&
        before.first.step == first.step && before.first.offset + (at - begin) == first.offset) {
      std::prev(next)->second.end = at + size;
      return;
    }
  }
  segments_.emplace_hint(next, at, Segment{at + size, first});
}

void Contents::add(const std::byte* at, Bytes size, const Name& first) {
  if (size <= 0) return;
  const std::byte* const end = at + size;
  cut(at);
  cut(end);
  auto segment = segments_.lower_bound(at);
  for (const std::byte* from = at; from < end;) {
    const Name name{first.value, first.offset + (from - at), first.step};
    if (segment == segments_.end() || segment->first > from) {
      const std::byte* const to = segment == segments_.end() ? end : std::min(end, segment->first);
      segments_.emplace_hint(segment, from, Segment{to, name});
      from = to;
      continue;
    }
    Segment& there = segment->second;
    std::erase_if(there.more, [&](const Name& it) { return it.value == name.value; });
    if (there.first.value != name.value) there.more.push_back(there.first);
    there.first = name;
    from = there.end;
    ++segment;
  }
}

std::optional<Contents::Other> Contents::first_other(const std::byte* at, Bytes size, std::size_t value,
                                                     Bytes offset) const {
  const std::byte* const begin = at;
  const std::byte* const end = at + size;
  auto segment = segments_.upper_bound(at);
  if (segment != segments_.begin()) --segment;
  for (; segment != segments_.end() && at < end; ++segment) {
    const auto& [from, there] = *segment;
    if (there.end <= at) continue;
    if (from > at) break;
    const Bytes expected = offset + (from - begin);  // of the segment's first byte
    const auto is_it = [&](const Name& name) { return name.value == value && name.offset == expected; };
    if (!is_it(there.first) && std::ranges::none_of(there.more, is_it)) {
      Name other = there.first;
      other.offset += at - from;
      return Other{at, other};
    }
    at = there.end;
  }
  return at >= end ? std::nullopt : std::optional(Other{.at = at});
}

}  // namespace stowage::run
