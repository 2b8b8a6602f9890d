#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "model/clock_tree.h"
#include "run/program.h"
#include "stowage/plan.h"

namespace stowage::run {

/// A model without steps: its inputs are given and its outputs are read.
struct Idle {};

/// One event: an operator with all its bodies, a copy, or a fork.
struct Event {
  Position at = 0;
  std::size_t model = 0;  ///< Unused for a fork.
  std::variant<Call, Copy, Fork, Idle> what{};
};

/// The events on each clock of a plan.
struct Timetable {
  model::ClockTree tree;
  std::vector<std::vector<Event>> clocks{};  ///< Per clock.
  std::vector<std::size_t> clock_of{};       ///< Per model.
  std::vector<std::size_t> steps_of{};       ///< Per model: its number of events; at least one.
};

/// Throws RunFault for steps that the graphs do not have. Requires a plan that passed `expect_plan_of`.
[[nodiscard]] Timetable timetable_of(std::span<const Graph* const> graphs, const Plan& plan);

}  // namespace stowage::run
