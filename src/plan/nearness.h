#pragma once

#include <span>
#include <vector>

#include "base/deadline.h"
#include "stowage/options.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::plan {

/// Throws UsageError for options that places to keep do not fit.
void expect_options_of_nearness(const PlanOptions& options);

/// Gives the buffers of a finished plan the places that `options.near` names, as many bytes of them as the search
/// finds; see nearness.cc. A memory with a capacity is not exceeded, another one gets no higher peak. Throws
/// UsageError if branches have too many buffers.
[[nodiscard]] Nearness bring_near(Plan& plan, const PlanOptions& options, const base::Deadline& deadline);

/// Whether each buffer of the plan is where an earlier plan had it.
using KeptPlaces = std::vector<bool>;
[[nodiscard]] KeptPlaces kept_places(const Plan& plan, std::span<const NearPlace> near);

/// Counts again what is kept, after other buffers have moved.
void count_kept(const Plan& plan, std::span<const NearPlace> near, Nearness& nearness);

}  // namespace stowage::plan
