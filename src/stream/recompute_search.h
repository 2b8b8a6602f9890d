#pragma once

#include "stream/model.h"
#include "stream/regions.h"

namespace stowage::stream {

/// Recomputes what helps most, as long as all multiplies do not exceed `factor` times those of the model. The
/// peak by regions is no higher than that of the model.
[[nodiscard]] RowModel recompute_within(const RowModel& model, double factor, const TrialEffort& effort);

}  // namespace stowage::stream
