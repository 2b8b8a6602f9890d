#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "check/replay.h"
#include "model/clock_tree.h"
#include "stowage/plan.h"

namespace stowage::check {

/// What is copied is a plain tensor that is alone in its buffers, and has views in both of the copy's.
void check_copies_form(const Plan& plan, Faults& faults);

/// For each tensor of a plan whether some step copies it.
[[nodiscard]] std::vector<bool> moved_tensors(const Plan& plan);

/// Follows the value of a tensor that is copied from view to view: every view that has it for a time makes a
/// need, met there. A fault where somebody looks for the value in a view that does not have it. `name` is
/// the tensor's; `uses` are in the order of time.
[[nodiscard]] std::vector<KeptBytes> follow(const Plan& plan, const model::ClockTree& tree,
                                            std::size_t tensor, const std::string& name,
                                            std::span<const Use> uses, Faults& faults);

}  // namespace stowage::check
