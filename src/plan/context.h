#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "alias/buffers.h"
#include "alias/sharing.h"
#include "base/deadline.h"
#include "lifetime/lives.h"
#include "plan/places.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Tensors in one buffer.
struct Joined {
  std::vector<TensorId> tensors{};
  Bytes end = 0;  ///< Of the last byte of any of them, in the buffer.
};

/// Tensors that share bytes, and the resulting buffers.
struct Shares {
  std::vector<Joined> joined{};  ///< Only of two and more tensors.
  CopiesRemoved removed{};
  std::vector<KeptCopy> kept{};
  alias::Buffers buffers{};
};

using SharesPtr = std::shared_ptr<const Shares>;

/// An order of a network's operators, and facts derived from it. Computed once for each order.
struct Schedule {
  std::vector<lifetime::OperatorId> operators{};  ///< Those that run; they say how the clock is.
  lifetime::Uses uses{};
  SharesPtr shares{};  ///< With all allowed sharing.
  Bytes load = 0;      ///< The most live bytes at any step.
};

using SchedulePtr = std::shared_ptr<const Schedule>;
using Residences = std::vector<lifetime::Residence>;

/// A network and what the options imply for it in every order.
class NetworkFacts {
 public:
  /// `model` is the network's index in the plan. Throws Error if no order respects all dependences.
  NetworkFacts(const Input& input, std::size_t model, const PlanOptions& options,
               std::vector<GivenPlace> places = {});

  [[nodiscard]] const Input& input() const { return *input_; }
  [[nodiscard]] std::size_t model() const { return model_; }
  [[nodiscard]] const Graph& graph() const { return *graph_; }
  [[nodiscard]] const alias::BufferOptions& buffer_options() const { return buffer_options_; }
  [[nodiscard]] Alias alias() const { return alias_; }
  [[nodiscard]] const Residences& residences() const { return residences_; }
  /// What the options say of its tensors.
  [[nodiscard]] const std::vector<GivenPlace>& places() const { return places_; }
  /// In the network's own order, or the nearest one that respects all dependences.
  [[nodiscard]] const SchedulePtr& own() const { return own_; }

  [[nodiscard]] SchedulePtr schedule_of(Clock clock) const;
  /// The clock of an order, which is large and made anew.
  [[nodiscard]] Clock clock_of(const Schedule& schedule) const;
  /// Tensors marked in `apart` share with no other tensor, and those with places. If it is empty, all others may share.
  [[nodiscard]] SharesPtr shares_of(std::span<const lifetime::OperatorId> operators,
                                    const lifetime::Uses& uses, const Residences& residences,
                                    std::vector<bool> apart = {}) const;

 private:
  const Input* input_;
  const Graph* graph_;
  std::size_t model_;
  alias::BufferOptions buffer_options_;
  Alias alias_;
  Target target_;
  std::vector<GivenPlace> places_;
  SchedulePtr own_{};
  Residences residences_{};
};

/// Networks on one device, their options, and the deadline of planning.
struct Context {
  /// Adds an unlimited memory for tensors that change if the options have none. Throws UsageError if the
  /// options do not fit the networks.
  Context(std::span<const Input> inputs, const PlanOptions& options, base::Deadline deadline);

  /// The strictest alignment of all networks.
  [[nodiscard]] Bytes alignment() const;

  std::span<const Input> inputs;
  PlanOptions options;
  std::vector<Memory> working{};  ///< Memories for tensors that change.
  base::Deadline deadline;
  std::vector<NetworkFacts> networks{};
};

[[nodiscard]] std::vector<ModelInfo> infos_of(std::span<const Input> inputs);

/// The alignment of a network's buffers: a multiple of what the options or the format give, and of the granules
/// of all memories, for any buffer may be in any of them. Throws UsageError if there is no such number.
[[nodiscard]] Bytes alignment_in(const PlanOptions& options, ModelFormat format);

/// The alignment if neither options nor input give one.
[[nodiscard]] Bytes default_alignment_of(ModelFormat format);

/// Calls a function and adds the network's file name to its errors.
template <typename Function>
auto in_file_of(const Input& input, const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    throw error.in_file(input.info.source);
  }
}

}  // namespace stowage::plan
