#pragma once

#include <span>

#include "base/deadline.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Plans a network row by row, except the plan's seconds; see streaming.cc. Throws UsageError for options and
/// networks that cannot be streamed.
[[nodiscard]] Plan plan_streamed(std::span<const Input> inputs, const PlanOptions& options,
                                 const base::Deadline& deadline);

}  // namespace stowage::plan
