#pragma once

#include <cstdint>

#include "stream/model.h"
#include "stream/regions.h"

namespace stowage::stream {

/// The model in which whatever is read as a whole, row by row, is computed again for each of so many tiles of
/// these rows, as far as that is possible. The same model if nothing can be.
[[nodiscard]] RowModel in_tiles(const RowModel& model, std::int64_t tiles);

/// The model in the tiles with the least peak by regions, as long as all multiplies do not exceed `factor` times
/// those of the model; the same model if tiles do not lower the peak.
[[nodiscard]] RowModel tiles_within(const RowModel& model, double factor, const TrialEffort& effort);

}  // namespace stowage::stream
