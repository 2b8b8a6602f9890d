#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "import/known.h"
#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage::import {

/// Throws UsageError for a value of something that is no input of the network.
void expect_values_of_inputs(const ImportOptions& options, const Graph& graph);

/// The dimensions of an input that has this value: an open one follows from the number of elements. Throws UsageError
/// if the number does not fit, or several are open.
[[nodiscard]] Dims dims_of_value(const std::string& input, const GivenValue& given, const Dims& dims);

/// The value of an input of this type and shape, and its elements in the graph. Throws UsageError for elements of
/// another type or number, and for types and sizes that decide no shape.
[[nodiscard]] Value known_value(const GivenValue& given, int elem_type, const Shape& shape, Tensor& tensor);

/// What is known of tensors that may decide sizes.
struct Deciding {
  /// The shape of such a tensor, a small one of integers without a known value; none for others.
  std::function<std::optional<Shape>(TensorId)> shape_of;
  std::function<const Value*(TensorId)> value_of;  ///< Null for what is not known.
};

/// How to give the inputs of the network from which the size of a tensor follows: "; it follows from what input 'x'
/// holds: give that with --value x=NUMBER; the model compares it with 8000, 16000"; empty if there is none.
[[nodiscard]] std::string values_behind(const Graph& graph, TensorId tensor, const Deciding& known);
/// The same for what an operator does, such as the branch that an If takes.
[[nodiscard]] std::string values_behind(const Graph& graph, const Operator& op, const Deciding& known);

}  // namespace stowage::import
