#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// The buffers of several clocks on one clock, in the same order: two pieces are live at one position there if they
/// are live at one time; see one_clock.cc. None: they would have too many pieces.
[[nodiscard]] std::optional<std::vector<Buffer>> on_one_clock(std::span<const Buffer> buffers,
                                                              std::span<const Clock> clocks);

}  // namespace stowage::plan
