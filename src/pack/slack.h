#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// Per buffer the most live bytes there are at any position of its life; 0 if it is never alive. Nothing if
/// the time is up. Cost: n log n, memory linear.
[[nodiscard]] std::optional<std::vector<Bytes>> loads_during(std::span<const Buffer> buffers,
                                                             const Control& control);

}  // namespace stowage::pack
