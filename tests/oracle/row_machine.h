#pragma once

#include <optional>
#include <string>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::oracle {

/// Runs a streamed plan byte by byte: every byte of the memories remembers which byte of which tensor (or of
/// whose sums or scratch) it holds, and forgets it when no piece of a buffer has it any more. Says the first
/// thing that goes wrong: a byte that is read and not there, a step out of turn, a view that is missing or
/// one too many, bytes of a step that are in each other's way. The plan's form is sound, its tensors are
/// those of the graph in their order, and all elements are bytes.
[[nodiscard]] std::optional<std::string> difference_by_rows(const Graph& graph, const Plan& plan);

}  // namespace stowage::oracle
