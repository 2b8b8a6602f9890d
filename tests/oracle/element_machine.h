#pragma once

#include <optional>
#include <string>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::oracle {

/// Runs a streamed plan, also one of blocks, element by element: every byte of the memories remembers which byte
/// of which element it holds, and forgets it when no piece of a buffer has it any more. An element of an output
/// reads the elements that both its row and its block read. Says the first thing that goes wrong. The plan's form
/// is sound, its tensors are those of the graph in their order, and it has no sums and no parts.
[[nodiscard]] std::optional<std::string> difference_by_elements(const Graph& graph, const Plan& plan);

}  // namespace stowage::oracle
