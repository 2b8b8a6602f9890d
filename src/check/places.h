#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// Indices in range and values in their domains, so that everything else may rely on them.
[[nodiscard]] Faults check_form(const Plan& plan);

/// Each buffer where it may be, no two in the same bytes at the same time; peaks and bounds true.
[[nodiscard]] Faults check_places(const Plan& plan);

/// Each view in live bytes of its buffer. Views of one buffer may overlap: whether their tensors have the
/// same content there only the model can tell.
[[nodiscard]] Faults check_views(const Plan& plan);

}  // namespace stowage::check
