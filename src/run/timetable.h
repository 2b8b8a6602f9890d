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

/// A step that is rows: of an operator, of an input that arrives, or of an output that leaves.
struct OfRows {
  const Step* step = nullptr;
};

/// One event: an operator with all its bodies, rows, a copy, a fork, or a pause.
struct Event {
  Position at = 0;
  std::size_t model = 0;  ///< Unused for a fork or a pause.
  std::variant<Call, OfRows, Copy, Fork, Pause, Idle> what{};
};

/// The events on each clock of a plan.
struct Timetable {
  model::ClockTree tree;
  std::vector<std::vector<Event>> clocks{};  ///< Per clock.
  std::vector<std::size_t> clock_of{};       ///< Per model.
  std::vector<std::size_t> steps_of{};       ///< Per model: its number of events; at least one.
};

/// Throws RunFault for steps that the graphs do not have. Keeps pointers to steps of
/// the plan, which must have passed `expect_plan_of`.
[[nodiscard]] Timetable timetable_of(std::span<const Graph* const> graphs, const Plan& plan);

}  // namespace stowage::run
