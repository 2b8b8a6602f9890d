/// Runs a network with real bytes twice at once: with every tensor in memory of its own, and in the memories
/// of a plan, where bytes that no live piece holds are poisoned before every step. What is read must be the
/// same in both. Knows nothing of views that may overlap, of sources or of lives. Example:
///
///     const Trial trial = try_plan(graph, plan);
///     EXPECT_FALSE(trial.difference) << *trial.difference;
#pragma once

#include <optional>
#include <string>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::oracle {

struct Trial {
  /// The first byte that is not what it should be: which tensor, who looked at it, and when.
  std::optional<std::string> difference{};
  /// Copies whose bytes were in place already whenever their operator ran.
  CopiesRemoved removed{};
};

/// Runs the plan's steps, all bodies of an If one after the other, and loops two rounds; then some bodies and rounds
/// only. The plan's tensors are those of the graph, one for one.
/// Throws std::invalid_argument for steps that the graph does not have.
[[nodiscard]] Trial try_plan(const Graph& graph, const Plan& plan);

}  // namespace stowage::oracle
