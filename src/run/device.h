#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/clock_tree.h"
#include "run/arena.h"
#include "run/contents.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::run {

/// The index of each graph's first tensor in Plan::tensors.
[[nodiscard]] std::vector<std::size_t> first_tensors(std::span<const Graph* const> graphs);

/// Throws RunFault with the checker's first fault, unless the form of the plan is correct and its tensors and
/// feeds match the graphs. The tensors are in the order of the graphs.
void expect_plan_of(std::span<const Graph* const> graphs, const Plan& plan);

/// " of model 'eye'" if the plan has several models.
[[nodiscard]] std::string of_model(const Plan& plan, std::size_t model);

/// The memories of a plan and their content, shared by the homes of all its models. Tensors are numbered as
/// in Plan::tensors; their contents have these numbers. Those of sums follow.
class Device {
 public:
  /// Requires a plan that passed `expect_plan_of`. Throws RunFault if it reaches outside of its memories.
  Device(std::span<const Graph* const> graphs, const Plan& plan, const model::ClockTree& clocks);

  void move_to(std::size_t clock, Position at);
  /// The clock is done.
  void leave(std::size_t clock);
  /// None before a clock's first step and after its last.
  [[nodiscard]] std::optional<Position> position_of(std::size_t clock) const { return at_[clock]; }
  /// Progress of all steps, from 0 to 1.
  [[nodiscard]] double progress() const;

  [[nodiscard]] Contents& contents() { return contents_; }
  /// The sums of an operator of the main subgraph, or what it carries from row to row.
  [[nodiscard]] std::size_t value_of_sums(std::size_t model, std::size_t op) const;
  /// Names the next step on that clock for messages; before the first it is the caller who writes.
  void begin_step(const std::string& what, std::size_t clock);
  /// The number of the present step.
  [[nodiscard]] std::size_t step() const { return steps_.size() - 1; }

  /// Throws RunFault if `who` wrote to a free byte.
  void expect_unspoilt(const std::string& who, const std::string& when) const;
  [[nodiscard]] const std::vector<Arena>& arenas() const { return arenas_; }
  /// Live bytes of all memories.
  [[nodiscard]] Bytes live() const;
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const model::ClockTree& clocks() const { return clocks_; }
  [[nodiscard]] std::size_t first_tensor_of(std::size_t model) const { return bases_[model]; }
  [[nodiscard]] const Graph& graph_of(std::size_t model) const { return *graphs_[model]; }
  [[nodiscard]] std::string of_model(std::size_t model) const { return run::of_model(plan_, model); }
  [[nodiscard]] std::string describe(std::size_t tensor) const;
  /// "row 3 of tensor 'x', written by operator 'conv' at position 5"
  [[nodiscard]] std::string describe(const Contents::Name& name) const;
  /// "byte 17 of memory 'arena', held by buffer 'x'"
  [[nodiscard]] std::string describe_byte(const std::byte* address) const;
  /// The same with the tensors that are or were there.
  [[nodiscard]] std::string describe(const std::byte* address) const;

 private:
  /// What was in released bytes is lost.
  void lose(const Arena& arena, std::span<const Arena::GivenBack> given_back);

  std::vector<const Graph*> graphs_;
  std::vector<std::size_t> bases_;
  const Plan& plan_;
  const model::ClockTree& clocks_;
  std::vector<Arena> arenas_{};
  std::vector<std::optional<Position>> at_;  ///< Per clock.
  std::vector<bool> is_done_;                ///< Per clock.
  Contents contents_{};
  std::vector<std::string> steps_{"the caller"};
};

}  // namespace stowage::run
