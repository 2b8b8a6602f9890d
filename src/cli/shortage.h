#pragma once

#include <string>
#include <vector>

#include "stowage/planner.h"

namespace stowage::cli {

/// By how much the plan exceeds its memories, and what would be enough; empty if it fits.
[[nodiscard]] std::vector<std::string> shortage_of(const PlanResult& result);

}  // namespace stowage::cli
