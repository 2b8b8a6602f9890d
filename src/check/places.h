#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// Every buffer has a valid place, no two hold a byte at one time, and peaks and bounds are true.
[[nodiscard]] Faults check_places(const Plan& plan);

/// Every view is in live bytes of its buffer, on the buffer's clock. Views of one buffer may overlap; only
/// the network shows if their tensors have the same content there.
[[nodiscard]] Faults check_views(const Plan& plan);

}  // namespace stowage::check
