#pragma once

#include <cstdint>
#include <vector>

#include "pack/memories/needs.h"
#include "pack/placing.h"

namespace stowage::memories {

/// FastStays with offsets in the fast memory.
struct Spilling {
  std::vector<FastStays> stays{};  ///< Of each need; empty: all in slow memory. None at all: they do not fit.
  std::int64_t cost = 0;           ///< Of all needs.
  std::int64_t cost_bound = 0;     ///< No stays cost less, wherever they lie.
  bool is_cut = false;             ///< With more time it may cost less.
};

/// Chooses when each buffer is in the fast memory, and where there; see spills.cc. Requires `are_small`, and that buffers
/// that may not be in slow memory fit into the fast one.
[[nodiscard]] Spilling choose_stays(const Needs& needs, const pack::Control& control);

}  // namespace stowage::memories
