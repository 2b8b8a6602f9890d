#pragma once

#include <cstdint>
#include <span>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::check {

enum class Verdict : std::uint8_t { fits, does_not_fit, takes_too_long };

/// Whether buffers can be placed below a height, of all their lives only these positions counted: see
/// exhaust.cc.
[[nodiscard]] Verdict exhaust(std::span<const Buffer> buffers, std::span<const Position> positions,
                              Bytes height);

}  // namespace stowage::check
