#pragma once

#include <string_view>
#include <vector>

#include "operators/context.h"

namespace stowage::import {

/// Sets the types of the outputs of an operator of this type ("Conv", "com.microsoft.Gelu") as far as they can
/// be known; not at all for an operator without a rule. Throws Misfit if inputs and attributes do not fit
/// together.
void infer_by_rule(operators::NodeContext& node, std::string_view type);

/// All types of operators that have a rule.
[[nodiscard]] std::vector<std::string_view> types_with_shape_rules();

}  // namespace stowage::import
