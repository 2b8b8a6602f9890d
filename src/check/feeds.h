#pragma once

#include <vector>

#include "stowage/plan.h"

namespace stowage::check {

/// Both tensors are there, of one size and type. `how` says how the input gets what the output has.
void check_pair_form(const Plan& plan, const Feed& feed, const char* how, Faults& faults);

/// Feeds join equal tensors of different models, and feed each input once. No tensor is released twice.
void check_feeds_form(const Plan& plan, Faults& faults);

/// An input has the place of the output that feeds it, and its model runs after the output's model.
[[nodiscard]] Faults check_feeds(const Plan& plan);

/// The feeds, each after the feed into its own output, without feeds in circles.
[[nodiscard]] std::vector<Feed> feeds_from_their_sources(const Plan& plan);

}  // namespace stowage::check
