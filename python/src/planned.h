#pragma once

#include <optional>

#include "cli/given_plan.h"
#include "cli/options.h"
#include "columns.h"
#include "stowage/offset_functions.h"
#include "stowage/planner.h"

namespace stowage::python {

/// What Python calls a plan.
struct Planned {
  PlanResult result;
  std::optional<OffsetFunctions> functions{};  ///< Of a plan that is read and has some.
  NamesOfModels names;                         ///< Empty if the models are not known.
  cli::ModelTexts
      texts{};  ///< Of a plan that is read: sizes and values of its models, also those that only it has.

  [[nodiscard]] cli::GivenPlan given() const { return {.plan = result.plan, .functions = functions}; }
};

}  // namespace stowage::python
