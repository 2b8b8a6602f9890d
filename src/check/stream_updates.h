#pragma once

#include <span>
#include <vector>

#include "check/stream_lives.h"
#include "check/stream_places.h"
#include "check/stream_rows.h"

namespace stowage::check {

/// Shortens the live ranges of rows that operators write over, by one position, in the step that last reads
/// them. Rows are cut where only some are written over. `placed` has the rows of all tensors.
void end_rows_written_over(const Streamed& it, const std::vector<TensorRows>& rows,
                           std::span<const RowStep> steps, std::vector<PlacedRows>& placed);

}  // namespace stowage::check
