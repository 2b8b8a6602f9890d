#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::run {

/// Throws RunFault unless the plan has just the tensors of these graphs, and all its indices and sizes are in
/// range: nothing else of it is looked at. Gives, per model, the index of its first tensor in Plan::tensors.
[[nodiscard]] std::vector<std::size_t> expect_sound(std::span<const Graph* const> graphs, const Plan& plan);

}  // namespace stowage::run
