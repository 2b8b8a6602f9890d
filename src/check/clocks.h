#pragma once

#include <optional>
#include <vector>

#include "model/clock_tree.h"
#include "stowage/plan.h"

namespace stowage::check {

/// Every clock except the root is forked once, or runs at pauses of one clock, directly or indirectly from the root.
void check_clocks_form(const Plan& plan, Faults& faults);

/// The steps of a model are consecutive on one clock. A copy belongs to the model of its tensor.
void check_models_form(const Plan& plan, Faults& faults);

/// The steps of each model; none for models without steps.
[[nodiscard]] std::vector<std::optional<model::Stretch>> spans_of(const Plan& plan);

}  // namespace stowage::check
