#pragma once

#include "base/deadline.h"
#include "stowage/options.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::plan {

/// Gives the buffers of a finished plan the places that `options.near` names, as many bytes of them as the search
/// finds; see nearness.cc. A memory with a capacity is not exceeded, another one gets no higher peak. Throws UsageError for a plan with branches, or with pools
/// of slots.
[[nodiscard]] Nearness bring_near(Plan& plan, const PlanOptions& options, const base::Deadline& deadline);

}  // namespace stowage::plan
