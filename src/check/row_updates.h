#pragma once

#include <span>
#include <vector>

#include "check/row_lives.h"
#include "check/row_places.h"
#include "check/tensor_rows.h"

namespace stowage::check {

/// Ends the lives of rows that operators write over, in the step that reads them last, one position earlier.
/// Rows are cut where only some of them are written over. `placed` has the rows of all tensors.
void end_rows_written_over(const Streamed& it, const std::vector<TensorRows>& rows,
                           std::span<const RowStep> steps, std::vector<PlacedRows>& placed);

}  // namespace stowage::check
