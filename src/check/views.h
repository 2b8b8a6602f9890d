#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// Each view in live bytes of its buffer, on the buffer's clock. Views of one buffer may overlap: whether
/// their tensors have the same content there only the model can tell.
[[nodiscard]] Faults check_views(const Plan& plan);

}  // namespace stowage::check
