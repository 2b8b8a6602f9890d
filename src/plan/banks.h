#pragma once

#include <optional>
#include <span>

#include "base/deadline.h"
#include "stowage/options.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::plan {

/// Throws UsageError for inputs and options that banks do not fit.
void expect_options_of_banks(std::span<const Input> inputs, const PlanOptions& options);

/// Moves buffers of a finished plan so that operands of one operator lie in different banks, except those that
/// `options.near` has kept in place; see banks.cc. None, and the plan as it was: no offsets within the banks were found.
[[nodiscard]] std::optional<BankUse> spread_over_banks(Plan& plan, std::span<const Input> inputs,
                                                       const PlanOptions& options,
                                                       const base::Deadline& deadline);

}  // namespace stowage::plan
