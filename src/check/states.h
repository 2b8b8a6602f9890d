#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "check/replay.h"
#include "check/sharing.h"
#include "model/clock_tree.h"
#include "stowage/plan.h"

namespace stowage::check {

/// A model's part of a state that several models share, as indices of the plan's tensors.
struct StateUser {
  std::size_t model = 0;
  std::optional<std::size_t> input{};
  std::optional<std::size_t> output{};
  /// The tensor whose value the input has: the output of the model that wrote the state last, or the first input that
  /// has what was there before the run. None: it is that input.
  std::optional<std::size_t> source{};
  bool is_overwritten = false;  ///< The output, by a later model.
  /// The output has bytes of its own, which the caller copies to the place of the state when the model has run.
  bool is_copied = false;
};

/// The users of a state, in the order in which they run.
using SharedState = std::vector<StateUser>;

/// The states of a plan of correct form.
[[nodiscard]] std::vector<SharedState> shared_states(const Plan& plan);

/// For each input that has the value of another tensor of its state, that tensor.
[[nodiscard]] std::map<std::size_t, std::size_t> sources_of_states(const Plan& plan);

/// The tensors of all of them.
[[nodiscard]] std::set<std::size_t> tensors_of_states(const Plan& plan);

/// States join tensors of one type that are equal but for one axis, one input and one output of each model at most, that
/// are not fed or released.
void check_states_form(const Plan& plan, Faults& faults);

/// The tensors of a state have one place, which is reserved for them at all times, and models that run at the same time
/// only read it.
[[nodiscard]] Faults check_states(const Plan& plan);

/// The tensors are outputs and inputs of their networks; a network that has both ties them.
void check_states_of(const Plan& plan, std::span<const Graph* const> graphs, const Ids& ids, Faults& faults);

/// Of a network's ties: those that are copied are states of the plan, and the places of those that grow are reserved for
/// the larger tensor at all times.
void check_places_of_ties(const Plan& plan, const Graph& graph, std::span<const PlannedTensor* const> matched,
                          Position end, Faults& faults);

/// Keeps what a model writes into a state until all models that read it run, and until the next run. Appends inputs, and
/// the tensors whose content they have.
void join_states(const Plan& plan, const model::ClockTree& tree, const Ids& ids,
                 std::vector<Network>& networks, std::vector<Joined>& joined);

}  // namespace stowage::check
