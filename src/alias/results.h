#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lifetime/lives.h"
#include "operators/bodies.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::alias {

/// The results of an operator's bodies that may lie where the bodies have them; see results.cc. `owners` are those
/// of the graph's tensors (owners_of).
[[nodiscard]] std::vector<operators::Result> results_made_in_bodies(
    const Graph& graph, const std::vector<std::optional<std::size_t>>& owners,
    const std::vector<lifetime::Residence>& residences, const Operator& op);

/// When an output that some bodies make in place takes bytes of its own, and when it has a place at all.
struct ResultLives {
  std::vector<Lifetime> held{};               ///< Through branches that do not make it in place.
  std::vector<Lifetime> after{};              ///< For each run: behind the bodies, to its last reader.
  std::vector<std::vector<Lifetime>> seen{};  ///< For each run; the last one goes on while `after` does.
};

/// `lives` of the output, one for each of the `runs` of its operator; `in_place` says which bodies make it there.
[[nodiscard]] ResultLives lives_of_result(const std::vector<Lifetime>& lives,
                                          std::span<const lifetime::RunOfBodies* const> runs, bool is_loop,
                                          const std::vector<bool>& in_place);

}  // namespace stowage::alias
