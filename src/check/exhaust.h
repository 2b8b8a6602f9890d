#pragma once

#include <cstdint>
#include <span>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::check {

enum class Verdict : std::uint8_t { fits, does_not_fit, takes_too_long };

/// Decides if buffers fit below a height, considering only these positions of their live ranges; see
/// exhaust.cc.
[[nodiscard]] Verdict exhaust(std::span<const Buffer> buffers, std::span<const Position> positions,
                              Bytes height);

}  // namespace stowage::check
