#pragma once

#include <span>

#include "base/deadline.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// The plan with the lowest peak of all limits of multiplies, with the curve of them; see recompute_curve.cc.
/// Without a range of limits, the same as `plan_by_rows`.
[[nodiscard]] Plan plan_recompute_curve(std::span<const Input> inputs, const PlanOptions& options,
                                        const base::Deadline& deadline);

}  // namespace stowage::plan
