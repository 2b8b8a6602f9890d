/// Problems written down in a line or two:
///
///     const Problem problem = problem_of({whole("a", 4, 0, 2), pinned(whole("b", 2, 1, 3), 8)});
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::testing {

/// A buffer of one piece.
inline Buffer whole(std::string id, Bytes size, Position lower, Position upper) {
  return {.id = std::move(id), .size = size, .pieces = {{0, size, {lower, upper}}}};
}

inline Buffer aligned(Buffer buffer, Bytes alignment) {
  buffer.alignment = alignment;
  return buffer;
}

inline Buffer pinned(Buffer buffer, Bytes offset) {
  buffer.pinned = offset;
  return buffer;
}

/// Of one memory without limit.
inline Problem problem_of(std::vector<Buffer> buffers) {
  return {.buffers = std::move(buffers), .memories = {{.name = "arena"}}};
}

inline std::vector<Bytes> offsets_of(const std::vector<Place>& places) {
  std::vector<Bytes> offsets;
  for (const Place& place : places) offsets.push_back(place.offset);
  return offsets;
}

}  // namespace stowage::testing
