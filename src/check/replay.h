#pragma once

#include <span>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::check {

/// Replays the plan's steps on the networks they are of.
[[nodiscard]] Faults check_against(const Plan& plan, std::span<const Graph> graphs);

}  // namespace stowage::check
