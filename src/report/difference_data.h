#pragma once

#include "export/json.h"
#include "stowage/difference.h"

namespace stowage::report {

/// What the page shows of a difference: numbers, counts, the order in words, and the buffers that changed most.
/// report-ui/src/data.ts reads it.
[[nodiscard]] exporting::Json data_of(const PlanDifference& difference);

}  // namespace stowage::report
