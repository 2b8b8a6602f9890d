#pragma once

#include <iosfwd>
#include <optional>

#include "plan/order_profile.h"
#include "stowage/plan.h"

namespace stowage::exporting {

/// The public `write_svg`, and below it how the plan's order compares with the model's own.
void write_svg(const Plan& plan, const std::optional<plan::OrderProfile>& profile, std::ostream& out);

}  // namespace stowage::exporting
