#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "stowage/graph.h"

namespace stowage::stream {

/// Whether tensors of that kind are passed from operator to operator.
[[nodiscard]] bool is_passed_on(TensorKind kind);

/// By tensor: the axis of its rows; none if it has no rows.
using Axes = std::vector<std::optional<std::size_t>>;

/// Axes that are chosen for some tensors. All others follow.
using ChosenAxes = std::map<TensorId, std::size_t>;

/// The axes of all tensors of the main subgraph (`add_rows`). A chosen axis without rows is not taken. Cost:
/// operators * operands.
[[nodiscard]] Axes axes_of(const Graph& graph, const ChosenAxes& chosen);

}  // namespace stowage::stream
