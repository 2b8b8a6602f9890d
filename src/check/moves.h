#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "check/replay.h"
#include "model/clock_tree.h"
#include "stowage/plan.h"

namespace stowage::check {

/// A copied tensor is plain and has views in both buffers of the copy. A tensor of whole operators is alone in its
/// buffers.
void check_copies_form(const Plan& plan, Faults& faults);

/// For each tensor of a plan, true if some step copies it.
[[nodiscard]] std::vector<bool> moved_tensors(const Plan& plan);

/// Follows the rows of a copied tensor from view to view. Every view that has rows for a time makes a need, already met
/// there. A read from a view without them is a fault. `uses` are in time order.
[[nodiscard]] std::vector<KeptBytes> follow(const NetworkSteps& part, const model::ClockTree& tree,
                                            TensorId tensor, std::span<const Use> uses, Faults& faults);

}  // namespace stowage::check
