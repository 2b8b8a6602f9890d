#pragma once

#include <optional>
#include <vector>

#include "model/clock_tree.h"
#include "stowage/plan.h"

namespace stowage::check {

/// Every clock but the root is forked once, and all of them from the root.
void check_clocks_form(const Plan& plan, Faults& faults);

/// The steps of a model follow each other on one clock. A copy is of the model whose tensor it copies.
void check_models_form(const Plan& plan, Faults& faults);

/// Where the steps of each model are; none for models without steps.
[[nodiscard]] std::vector<std::optional<model::Stretch>> spans_of(const Plan& plan);

}  // namespace stowage::check
