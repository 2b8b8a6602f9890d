#pragma once

#include <span>
#include <vector>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// Per buffer the most live bytes there are at any position of its life; 0 if it is never alive.
/// Cost: n log n, memory linear.
[[nodiscard]] std::vector<Bytes> loads_during(std::span<const Buffer> buffers);

}  // namespace stowage::pack
