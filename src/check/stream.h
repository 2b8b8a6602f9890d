#pragma once

#include "check/against.h"
#include "stowage/plan.h"

namespace stowage::check {

/// Checks a streamed plan against its network: every row of every tensor is computed from rows that are
/// present, in bytes of its own from its write to its last read. Of Plan::streaming it checks `recomputed`
/// against rows that run again, and that each region has operators of the network, each in one region. It
/// does not prove the number of multiplies and the loads. Requires a correct form.
[[nodiscard]] Faults check_stream(const Plan& plan, const Given& given);

/// Checks the form of a streamed plan as far as it depends on the network: its tensors, their rows, and that
/// each step by itself can run. Requires a correct form otherwise.
[[nodiscard]] Faults check_stream_form(const Plan& plan, const Graph& graph);

}  // namespace stowage::check
