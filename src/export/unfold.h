#pragma once

#include <vector>

#include "stowage/plan.h"

namespace stowage::exporting {

/// The plan's buffers with all lifetimes on one axis, for pictures and reports: a fork takes as many places
/// on it as its longest branch has positions, and all its branches begin where it does.
[[nodiscard]] std::vector<Buffer> on_one_axis(const Plan& plan);

}  // namespace stowage::exporting
