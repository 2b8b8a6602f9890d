#pragma once

#include "export/json.h"
#include "stowage/difference.h"

namespace stowage::report {

/// What the page shows of a difference: numbers, counts, the order in words, and what changed, an entry for each buffer and
/// for each tensor in row blocks, those that changed most first. The buffers of an entry follow each other in `buffers`,
/// by their numbers in the plans. report-ui/src/data.ts reads it.
[[nodiscard]] exporting::Json data_of(const PlanDifference& difference, const Plan& before,
                                      const Plan& after);

}  // namespace stowage::report
