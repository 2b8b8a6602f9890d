#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stowage/plan.h"

namespace stowage::plan {

/// A view of a tensor: both are indices.
struct ViewOf {
  std::size_t tensor = 0;
  std::size_t view = 0;
};

/// The views in each buffer, in the order of tensors.
[[nodiscard]] std::vector<std::vector<ViewOf>> views_in_buffers(const Plan& plan);

/// Whether a view of a whole tensor ends where another view, of the same buffer, is written over it: then its bytes are
/// needed until that step, also by copies that come right before it. One that only ends there may have bytes that its
/// buffer no longer holds.
[[nodiscard]] bool is_written_over(const Plan& plan, std::span<const ViewOf> in_buffer, const ViewOf& it);

}  // namespace stowage::plan
