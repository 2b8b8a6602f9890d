#pragma once

#include <span>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::check {

/// Bytes [begin, begin + size) of a buffer that lies at a multiple of its alignment.
struct LiveBytes {
  Lifetime life{};
  Bytes begin = 0;
  Bytes size = 0;
  Bytes alignment = 1;
};

/// However they are placed, some of them end at or above this: see loads.cc.
[[nodiscard]] Bytes least_top(std::span<const LiveBytes> all);

}  // namespace stowage::check
