#pragma once

#include "cli/options.h"
#include "columns.h"
#include "stowage/planner.h"

namespace stowage::python {

/// What Python calls a plan.
struct Planned {
  PlanResult result;
  NamesOfModels names;  ///< Empty if the models are not known.
  cli::ModelTexts
      texts{};  ///< Of a plan that is read: sizes and values of its models, also those that only it has.
};

}  // namespace stowage::python
