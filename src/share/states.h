#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "share/feeds.h"
#include "share/timeline.h"
#include "stowage/options.h"

namespace stowage::share {

/// A model's part of a state that several models share: the old value that it reads, the new one that it writes.
struct StateUser {
  std::size_t model = 0;
  std::optional<TensorId> input{};
  std::optional<TensorId> output{};
  bool is_copied =
      false;  ///< The output has bytes of its own, which are copied to the state when the model has run.
};

/// A state that several models share.
struct SharedState {
  std::vector<StateUser> users{};       ///< As they stand in the run expression; with a writer at least.
  std::vector<ResolvedFeed> becomes{};  ///< As given, then those of single models.
};

/// Finds the states that `--state MODEL.OUTPUT=MODEL.INPUT` join. Throws UsageError unless tensors that are joined may be
/// one state (model::may_be_one_state), each model has one input and one output of it at most, and models that run at the
/// same time only read it.
[[nodiscard]] std::vector<SharedState> resolve_states(std::span<const FeedNames> states,
                                                      std::span<const NamedGraph> networks,
                                                      const Timeline& timeline);

/// Those that lie in the place of a state.
[[nodiscard]] std::set<ModelTensor> tensors_of(std::span<const SharedState> states);

/// Throws UsageError if a tensor of a state is fed or released.
void expect_no_state(std::span<const ResolvedFeed> feeds, std::span<const ModelTensor> released,
                     const std::set<ModelTensor>& shared, std::span<const NamedGraph> networks);

}  // namespace stowage::share
