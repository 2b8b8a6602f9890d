#pragma once

#include <vector>

#include "stowage/plan.h"

namespace stowage::check {

/// Whether an output with this shape may be an input with that one, as far as sizes are concerned.
using MayJoin = bool (*)(const Tensor&, const Tensor&);

/// Both tensors are there, of sizes that may be joined and of one type. `how` says how the input gets what the output has.
void check_pair_form(const Plan& plan, const Feed& feed, const char* how, MayJoin may_join, Faults& faults);

/// Feeds join equal tensors of different models, and feed each input once. No tensor is released twice.
void check_feeds_form(const Plan& plan, Faults& faults);

/// An input has the place of the output that feeds it, and its model runs after the output's model.
[[nodiscard]] Faults check_feeds(const Plan& plan);

/// The feeds, each after the feed into its own output, without feeds in circles.
[[nodiscard]] std::vector<Feed> feeds_from_their_sources(const Plan& plan);

}  // namespace stowage::check
