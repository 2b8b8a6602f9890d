#pragma once

#include "columns.h"
#include "stowage/planner.h"

namespace stowage::python {

/// What Python calls a plan.
struct Planned {
  PlanResult result;
  NamesOfModels names;  ///< Empty if the models are not known.
};

}  // namespace stowage::python
