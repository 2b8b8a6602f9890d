#pragma once

#include "check/against.h"
#include "stowage/plan.h"

namespace stowage::check {

/// A streamed plan against its network: every row of every tensor is computed from rows that are there, in
/// bytes that are its own from its writing to its last reading. Of the numbers in Plan::streaming it checks
/// what rows run again say about `recomputed`, and that regions have operators of the network, each in one;
/// how many multiplies are run, and the loads, are the planner's word. The plan's form is sound.
[[nodiscard]] Faults check_stream(const Plan& plan, const Given& given);

/// What only the network tells of a streamed plan's form: its tensors, rows that they have, and steps that
/// can be run, each by itself. The rest of the form is sound.
[[nodiscard]] Faults check_stream_form(const Plan& plan, const Graph& graph);

}  // namespace stowage::check
