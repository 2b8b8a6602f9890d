#pragma once

#include <span>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::check {

/// Replays the plan's steps on the networks they are of, and compares the plan with what they need.
[[nodiscard]] Faults check_against(const Plan& plan, std::span<const Graph> graphs);

}  // namespace stowage::check
