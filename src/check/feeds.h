#pragma once

#include <vector>

#include "stowage/plan.h"

namespace stowage::check {

/// Feeds join tensors of different models that are alike, and feed an input once. No tensor is released
/// twice.
void check_feeds_form(const Plan& plan, Faults& faults);

/// An input lies where the output does that it is fed from, and its model runs after that output's.
[[nodiscard]] Faults check_feeds(const Plan& plan);

/// The feeds so that what feeds an input has been fed itself before. Without those that feed each other in a
/// circle.
[[nodiscard]] std::vector<Feed> feeds_from_their_sources(const Plan& plan);

}  // namespace stowage::check
