#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "check/replay.h"
#include "model/clock_tree.h"
#include "stowage/plan.h"

namespace stowage::check {

/// A copied tensor is plain, alone in its buffers, and has views in both buffers of the copy.
void check_copies_form(const Plan& plan, Faults& faults);

/// For each tensor of a plan, true if some step copies it.
[[nodiscard]] std::vector<bool> moved_tensors(const Plan& plan);

/// Follows the value of a copied tensor from view to view. Every view that has the value for a time makes a
/// need, already met there. A read from a view without the value is a fault. `name` is the name of the
/// tensor; `uses` are in time order.
[[nodiscard]] std::vector<KeptBytes> follow(const Plan& plan, const model::ClockTree& tree,
                                            std::size_t tensor, const std::string& name,
                                            std::span<const Use> uses, Faults& faults);

}  // namespace stowage::check
