#pragma once

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// From the first byte needed to the last: [least lower, greatest upper) of the pieces that have
/// bytes and are ever alive; [0, 0) when none is.
[[nodiscard]] Lifetime life_of(const Buffer& buffer);

}  // namespace stowage::pack
