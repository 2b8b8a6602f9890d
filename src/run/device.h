#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/clock_tree.h"
#include "run/arena.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::run {

/// Throws RunFault with the checker's first fault, unless the form of the plan is correct and its tensors and
/// feeds match the graphs. The tensors are in the order of the graphs.
void expect_plan_of(std::span<const Graph* const> graphs, const Plan& plan);

/// A present or past place of a tensor.
struct Spot {
  std::size_t memory = 0;
  std::size_t buffer = 0;
  Bytes begin = 0;
  bool has_value = false;
  std::string lost_to{};  ///< The writer that overwrote its value; empty: none.
};

/// The memories of a plan and their content, shared by the homes of all its models. Tensors are numbered as
/// in Plan::tensors.
class Device {
 public:
  /// Requires a plan that passed `expect_plan_of`. Throws RunFault if it reaches outside of its memories.
  Device(std::span<const Graph* const> graphs, const Plan& plan, const model::ClockTree& clocks);

  /// Returns the bytes that buffers released.
  std::vector<Arena::GivenBack> move_to(std::size_t clock, Position at);
  /// The clock is done.
  void leave(std::size_t clock);
  /// None before a clock's first step and after its last.
  [[nodiscard]] std::optional<Position> position_of(std::size_t clock) const { return at_[clock]; }
  /// Progress of all steps, from 0 to 1.
  [[nodiscard]] double progress() const;

  /// The tensor is about to be written: removes its places.
  void forget(std::size_t tensor) { spots_[tensor].clear(); }
  /// The tensor's place in a view; a new place has no value.
  [[nodiscard]] Spot& spot_at(std::size_t tensor, const View& view);
  /// In the order in which the tensor got them.
  [[nodiscard]] std::vector<Spot>& spots_of(std::size_t tensor) { return spots_[tensor]; }
  /// Values in these bytes are lost, except the value of `own`.
  void overwrite(const std::byte* begin, Bytes size, std::span<const std::size_t> own,
                 const std::string& who);

  /// Throws RunFault if `who` wrote to a free byte.
  void expect_unspoilt(const std::string& who, const std::string& when) const;
  [[nodiscard]] const std::vector<Arena>& arenas() const { return arenas_; }
  /// Live bytes of all memories.
  [[nodiscard]] Bytes live() const;
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const model::ClockTree& clocks() const { return clocks_; }
  [[nodiscard]] std::size_t first_tensor_of(std::size_t model) const { return bases_[model]; }
  [[nodiscard]] const Graph& graph_of(std::size_t model) const { return *graphs_[model]; }
  /// " of model 'eye'" if the plan has several models.
  [[nodiscard]] std::string of_model(std::size_t model) const;
  [[nodiscard]] std::string describe(std::size_t tensor) const;
  /// The tensors at this address and its holder, for messages.
  [[nodiscard]] std::string describe(const std::byte* address) const;

 private:
  /// Removes the values in these bytes.
  void lose(std::span<const Arena::GivenBack> given_back);
  [[nodiscard]] Bytes size_of(std::size_t tensor) const { return plan_.tensors[tensor].tensor.bytes; }

  std::vector<const Graph*> graphs_;
  std::vector<std::size_t> bases_;
  const Plan& plan_;
  const model::ClockTree& clocks_;
  std::vector<Arena> arenas_{};
  std::vector<std::optional<Position>> at_;           ///< Per clock.
  std::vector<bool> is_done_;                         ///< Per clock.
  std::vector<std::vector<Spot>> spots_;              ///< Per tensor.
  std::vector<std::vector<std::size_t>> tensors_of_;  ///< Per buffer: its tensors, present and past.
};

}  // namespace stowage::run
