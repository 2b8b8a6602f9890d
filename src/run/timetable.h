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

/// A model that has no steps: its inputs are given and its outputs read.
struct Idle {};

/// What happens at one time: an operator with all its bodies, a copy, a fork.
struct Event {
  Position at = 0;
  std::size_t model = 0;  ///< Of all but a fork.
  std::variant<Call, Copy, Fork, Idle> what{};
};

/// What happens on each clock of a plan.
struct Timetable {
  model::ClockTree tree;
  std::vector<std::vector<Event>> clocks{};  ///< Per clock.
  std::vector<std::size_t> clock_of{};       ///< Per model.
  std::vector<std::size_t> steps_of{};       ///< Per model: how often it comes in `clocks`; at least once.
};

/// Throws RunFault for steps that the graphs do not have. The plan is as `expect_plan_of` wants it.
[[nodiscard]] Timetable timetable_of(std::span<const Graph* const> graphs, const Plan& plan);

}  // namespace stowage::run
