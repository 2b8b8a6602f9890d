#pragma once

#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/onnx/elements.h"

/// Calls of single kernels in tests. Example:
///
///     EXPECT_EQ(outputs_of({.type = "Relu", .inputs = {array<float>({2}, {-1, 1})},
///                           .outputs = {result<float>({2})}}).at(0),
///               array<float>({2}, {0, 1}));
namespace stowage::testing {

using Elements = std::initializer_list<double>;

/// An array of elements of a type, which are given as float64.
template <typename Element>
Array array(const Shape& shape, const std::vector<double>& values) {
  Array result{.dtype = kernels::onnx_ops::dtype_of<Element>(), .shape = shape, .data = {}};
  for (const double value : values) {
    const auto element = kernels::onnx_ops::element_of<Element>(value);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&element);
    result.data.insert(result.data.end(), bytes, bytes + sizeof element);
  }
  return result;
}

/// What an output will be: its type and shape.
template <typename Element>
Array result(const Shape& shape) {
  return {.dtype = kernels::onnx_ops::dtype_of<Element>(), .shape = shape, .data = {}};
}

template <typename Element>
std::vector<double> values_of(const Array& array) {
  std::vector<double> values;
  for (std::size_t i = 0; i < array.data.size() / sizeof(Element); ++i) {
    Element element{};
    std::memcpy(&element, array.data.data() + i * sizeof element, sizeof element);
    values.push_back(static_cast<double>(kernels::onnx_ops::value_of(element)));
  }
  return values;
}

struct KernelCall {
  std::string_view type{};
  std::vector<std::optional<Array>> inputs{};
  std::vector<std::optional<Array>> outputs{};
  std::vector<std::pair<std::string, Attributes::Value>> attributes{};
  std::int64_t version = 17;
  bool has_constants = true;              ///< All inputs are known before.
  std::optional<std::size_t> in_place{};  ///< The input that the first output is written over.
};

/// Prepares a plain kernel and runs it. Memory is just as large as the operands, so that the sanitizer sees
/// what is outside.
[[nodiscard]] std::vector<Array> outputs_of(const KernelCall& call);

/// Why it is refused, or what it ends with; empty when it runs.
[[nodiscard]] std::string refusal_of(const KernelCall& call);

}  // namespace stowage::testing
