#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// Each buffer where it may be, no two in the same bytes at the same time; peaks and bounds of memories true.
[[nodiscard]] Faults check_places(const Plan& plan);

/// Each view in live bytes of its buffer, on the buffer's clock. Views of one buffer may overlap: whether
/// their tensors have the same content there only the model can tell.
[[nodiscard]] Faults check_views(const Plan& plan);

}  // namespace stowage::check
