#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// Steps with rows, and rows that arrive and leave: tensors, buffers and ranges exist. A streamed plan is of
/// one model on one clock, without copies. The rest of the plan's form is sound.
void check_streamed_form(const Plan& plan, Faults& faults);

/// A view of rows, or a ring, of rows that the tensor has, and lies in its buffer.
void check_rows_of_view(const Plan& plan, const PlannedTensor& tensor, const View& view, Faults& faults);

}  // namespace stowage::check
