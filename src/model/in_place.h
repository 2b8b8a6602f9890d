#pragma once

#include <string_view>
#include <vector>

#include "stowage/graph.h"

namespace stowage::model {

/// Whether the operator may write the output over the input, however often it reads the input: a sum of three
/// reads the third while its output has the sum of two.
[[nodiscard]] bool may_write_over(const Graph& graph, const Operator& op, TensorId input, TensorId output);

/// All types for which `updates_in_place` holds for some input.
[[nodiscard]] std::vector<std::string_view> types_updated_in_place();

}  // namespace stowage::model
