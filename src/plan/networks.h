#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "alias/buffers.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::plan {

/// Plans networks that share a device; `alone` are the steps of each. Sets everything of the plan but its
/// models and the seconds; see networks.cc. Throws Error when they are impossible, UsageError when options do
/// not fit them.
[[nodiscard]] Outcome plan_networks(std::span<const Input> inputs, const PlanOptions& options,
                                    std::vector<Clock> alone, Plan& plan);

/// How buffers are made of a network, which is the given one of the plan.
[[nodiscard]] alias::BufferOptions buffer_options_of(const Input& input, std::size_t model,
                                                     const PlanOptions& options);

/// The alignment that a plan gives where nobody says.
[[nodiscard]] Bytes default_alignment_of(ModelFormat format);

}  // namespace stowage::plan
