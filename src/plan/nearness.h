#pragma once

#include "base/deadline.h"
#include "stowage/options.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::plan {

/// Throws UsageError for options that places to keep do not fit.
void expect_options_of_nearness(const PlanOptions& options);

/// Gives the buffers of a finished plan the places that `options.near` names, as many bytes of them as the search
/// finds; see nearness.cc. A memory with a capacity is not exceeded, another one gets no higher peak. Throws
/// UsageError for a plan with branches.
[[nodiscard]] Nearness bring_near(Plan& plan, const PlanOptions& options, const base::Deadline& deadline);

}  // namespace stowage::plan
