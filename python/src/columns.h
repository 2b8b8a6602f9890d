#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>
#include <vector>

#include "stowage/plan.h"

namespace stowage::python {

/// An operator's name and type.
struct OperatorNames {
  std::string name;
  std::string type;
};

/// By model, subgraph and operator.
using NamesOfModels = std::vector<std::vector<std::vector<OperatorNames>>>;

/// Dicts of columns, each a NumPy array of int64 or a list.
[[nodiscard]] nanobind::dict buffer_columns(const Plan& plan);
[[nodiscard]] nanobind::dict tensor_columns(const Plan& plan);
[[nodiscard]] nanobind::dict step_columns(const Plan& plan, const NamesOfModels& names);

}  // namespace stowage::python
