#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// How much a buffer matters for bringing a layout down to a threshold, in rising order.
enum class Risk : std::uint8_t { none, low, medium, high };

/// The risk of each buffer at its offset. high: its top (offset + size) is above the threshold, or it is
/// alive at the same time as such a one; medium: the same with tops that are equal to the threshold;
/// low: alive at the same time as a high or medium one; none: all others, and those never alive. The
/// highest that applies. See risk.cc.
[[nodiscard]] std::vector<Risk> classify(std::span<const Buffer> buffers, std::span<const Bytes> offsets,
                                         Bytes threshold);

}  // namespace stowage::pack
