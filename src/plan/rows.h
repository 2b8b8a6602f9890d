#pragma once

#include <span>

#include "base/deadline.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Plans networks of which each may run by rows, except the plan's seconds; see rows.cc. Throws UsageError for options
/// and networks that cannot be planned by rows.
[[nodiscard]] Plan plan_by_rows(std::span<const Input> inputs, const PlanOptions& options,
                                const base::Deadline& deadline);

}  // namespace stowage::plan
