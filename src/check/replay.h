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

/// The bytes of a tensor must be kept from their write to after their last read.
struct KeptBytes {
  TensorId tensor = 0;
  std::size_t clock = 0;  ///< Of the network's steps.
  Lifetime life{};
  /// When other models need the bytes too: until fed models have read them, until the plan ends, or, for
  /// state, since the plan began.
  std::vector<model::Stretch> beyond{};
  bool is_given = false;  ///< Handed over before the operator at `life.lower` runs, not written by it.
  bool is_read = false;
  bool is_written_over = false;  ///< By the operator at `life.upper`, which reads it first.
  bool is_followed = false;      ///< The tensor moves: its value is followed from view to view (moves.cc).
  const View* view = nullptr;    ///< The view that meets the need; null if there is none.
};

/// A step or the caller gives, writes, reads or copies the value of a tensor that moves.
struct Use {
  TensorId tensor = 0;
  std::size_t clock = 0;
  Lifetime life{};  ///< From the start of its step to the end.
  bool is_given = false;
  bool is_written = false;
  const Copy* copy = nullptr;  ///< If it is a copy.
  std::string by{};
};

/// The need of an input ends at `at` if the output overwrites it, and after `at` otherwise.
struct Update {
  std::size_t read = 0;  ///< Index in Played::needs.
  std::size_t written = 0;
  Position at = 0;
};

/// One run of an operator copies bytes unchanged.
struct PassedOn {
  const Operator* op = nullptr;
  std::size_t copy = 0;               ///< Index in Operator::copies.
  std::optional<std::size_t> read{};  ///< Index in Played::needs; none if the input has no need.
  std::optional<std::size_t> written{};
};

struct Played {
  std::vector<KeptBytes> needs{};
  std::vector<Update> updates{};  ///< In execution order.
  std::vector<PassedOn> copies{};
  std::vector<std::optional<std::size_t>> last_needs{};  ///< Of each tensor: index in `needs`.
  std::map<TensorId, std::vector<Use>> uses{};           ///< Of tensors that move, in time order.
};

/// The steps of one network within a plan.
struct NetworkSteps {
  const Clock* clock = nullptr;
  model::Stretch span{};   ///< All steps of the network; at least one position.
  Position steps_end = 0;  ///< Where the steps end; the start if there are none.
  /// Tensors of the network that another network feeds.
  std::vector<bool> is_fed{};
  /// For each tensor of the plan, its tensor in the network, if steps copy it.
  std::vector<std::optional<TensorId>> moved{};
};

/// Replays the steps of one network; steps that the network does not have are faults.
[[nodiscard]] Played replay(const Graph& graph, const NetworkSteps& part, Faults& faults);

/// Views of one tensor, by the clock of their buffer, those of a clock in time order.
using Views = std::vector<const View*>;

[[nodiscard]] Views views_in_time(const Plan& plan, const PlannedTensor& tensor);

/// Decides which inputs are overwritten in place, and finds the view that meets each need. `views` has those
/// of every tensor.
void meet(const Plan& plan, const model::ClockTree& tree, Played& played, const std::vector<Views>& views);

}  // namespace stowage::check
