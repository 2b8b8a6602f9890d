#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/clock_tree.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::check {

/// A tensor's bytes must be kept from when they are written to after their last reading.
struct KeptBytes {
  TensorId tensor = 0;
  std::size_t clock = 0;  ///< Of the network's steps.
  Lifetime life{};
  /// When other models need the bytes, too: those that are fed with them, or nobody until the plan ends or
  /// since it began, if they are state.
  std::vector<model::Stretch> beyond{};
  bool is_given = false;  ///< Handed over before the operator at `life.lower` runs, not written by it.
  bool is_read = false;
  bool is_written_over = false;  ///< By the operator at `life.upper`, which reads it first.
  bool is_followed = false;      ///< The tensor moves: its value is followed from view to view (moves.cc).
  const View* view = nullptr;    ///< Where the plan meets it; null if nowhere.
};

/// Somebody gives, writes, reads or copies the value of a tensor that moves.
struct Use {
  TensorId tensor = 0;
  std::size_t clock = 0;
  Lifetime life{};  ///< From its step to when it is over.
  bool is_given = false;
  bool is_written = false;
  const Copy* copy = nullptr;  ///< If it is one.
  std::string by{};
};

/// An input's need that ends at `at`, if the output is written over it, and else after that.
struct Update {
  std::size_t read = 0;  ///< Index in Played::needs.
  std::size_t written = 0;
  Position at = 0;
};

/// An operator passes on bytes, in one of its runs.
struct PassedOn {
  const Operator* op = nullptr;
  std::size_t copy = 0;               ///< Index in Operator::copies.
  std::optional<std::size_t> read{};  ///< Index in Played::needs; none if the input has none.
  std::optional<std::size_t> written{};
};

struct Played {
  std::vector<KeptBytes> needs{};
  std::vector<Update> updates{};  ///< In the order of the run.
  std::vector<PassedOn> copies{};
  std::vector<std::optional<std::size_t>> last_needs{};  ///< Of each tensor: index in `needs`.
  std::vector<std::vector<Use>> uses{};                  ///< Of each tensor that moves, in the order of time.
};

/// The part of a plan's steps that is a network's.
struct NetworkSteps {
  const Clock* clock = nullptr;
  model::Stretch span{};   ///< All steps of the network; at least one position.
  Position steps_end = 0;  ///< Where the steps end; where they begin if there is none.
  /// Tensors of the network that come from another one.
  std::vector<bool> is_fed{};
  /// For each tensor of the plan, the tensor of the network that it is, if that one is copied.
  std::vector<std::optional<TensorId>> moved{};
};

/// Plays a part of the plan's steps back on the network they are of; faults where they are not steps of it.
[[nodiscard]] Played replay(const Graph& graph, const NetworkSteps& part, Faults& faults);

/// Views of one tensor: by the clock of their buffer, and in order of time.
using Views = std::map<std::size_t, std::vector<const View*>>;

[[nodiscard]] Views views_in_time(const Plan& plan, const PlannedTensor& tensor);

/// Decides which inputs are written over where they lie, and finds the view in which each need is met.
/// `views` has those of every tensor.
void meet(const model::ClockTree& tree, Played& played, const std::vector<Views>& views);

}  // namespace stowage::check
