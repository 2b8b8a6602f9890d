// The shapes that operators of TFLite give their outputs, where one of their inputs has them. Source: TensorFlow
// Lite's kernels of these names.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "import/tflite.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

using SizeRule = std::optional<Shape> (*)(const Shape& input, const Shape& given);

/// The input that has sizes, the one that they apply to, and how.
struct SizedOperator {
  std::string_view type{};
  std::size_t sizes = 1;
  std::size_t input = 0;
  SizeRule rule = nullptr;
};

std::optional<Shape> as_given(const Shape& /*input*/, const Shape& given) { return given; }

std::int64_t elements_in(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::optional<Shape> reshaped(const Shape& input, const Shape& given) {
  Shape shape = given;
  const auto open = std::ranges::find(shape, -1);
  if (open == shape.end()) return shape;
  *open = 1;
  const std::int64_t others = elements_in(shape);
  if (others <= 0) return std::nullopt;
  *open = elements_in(input) / others;
  return shape;
}

std::optional<Shape> with_new_axis(const Shape& input, const Shape& given) {
  const auto rank = static_cast<std::int64_t>(input.size());
  if (given.size() != 1 || given[0] < -rank - 1 || given[0] > rank) return std::nullopt;
  Shape shape = input;
  const std::int64_t axis = given[0] < 0 ? given[0] + rank + 1 : given[0];
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return shape;
}

std::optional<Shape> tiled(const Shape& input, const Shape& given) {
  if (given.size() != input.size()) return std::nullopt;
  Shape shape = input;
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] *= given[d];
  return shape;
}

std::optional<Shape> permuted(const Shape& input, const Shape& given) {
  if (given.size() != input.size()) return std::nullopt;
  Shape shape;
  for (const std::int64_t axis : given) {
    if (axis < 0 || axis >= std::ssize(input)) return std::nullopt;
    shape.push_back(input[static_cast<std::size_t>(axis)]);
  }
  return shape;
}

std::optional<Shape> resized(const Shape& input, const Shape& given) {
  if (input.size() != 4 || given.size() != 2) return std::nullopt;
  return Shape{input[0], given[0], given[1], input[3]};
}

constexpr std::array sized_operators{
    SizedOperator{"RESHAPE", 1, 0, reshaped},
    SizedOperator{"FILL", 0, 1, as_given},
    SizedOperator{"BROADCAST_TO", 1, 0, as_given},
    SizedOperator{"EXPAND_DIMS", 1, 0, with_new_axis},
    SizedOperator{"TILE", 1, 0, tiled},
    SizedOperator{"TRANSPOSE", 1, 0, permuted},
    SizedOperator{"RESIZE_BILINEAR", 1, 0, resized},
    SizedOperator{"RESIZE_NEAREST_NEIGHBOR", 1, 0, resized},
};

template <typename Element>
Shape sizes_in(std::span<const std::byte> bytes) {
  Shape numbers;
  for (std::size_t at = 0; at + sizeof(Element) <= bytes.size(); at += sizeof(Element)) {
    Element element{};
    std::memcpy(&element, bytes.data() + at, sizeof(Element));
    numbers.push_back(element);
  }
  return numbers;
}

}  // namespace

ShapesOfData tflite_shapes_of_data(const Graph& graph, const Operator& op) {
  const auto it = std::ranges::find(sized_operators, std::string_view(op.type), &SizedOperator::type);
  if (it == sized_operators.end() || op.outputs.size() != 1) return {};
  for (const std::size_t i : {it->sizes, it->input}) {
    if (i >= op.inputs.size() || !op.inputs[i] || !graph.tensors[*op.inputs[i]].shape) return {};
  }
  const Tensor& sizes = graph.tensors[*op.inputs[it->sizes]];
  if (is_constant(sizes.kind) || (sizes.dtype != DType::int32 && sizes.dtype != DType::int64)) return {};
  return [rule = *it, dtype = sizes.dtype, input = *graph.tensors[*op.inputs[it->input]].shape](
             std::span<const std::span<const std::byte>> bytes) {
    const std::span<const std::byte> own = bytes[rule.sizes];
    const Shape given = dtype == DType::int32 ? sizes_in<std::int32_t>(own) : sizes_in<std::int64_t>(own);
    return std::vector<std::optional<Shape>>{rule.rule(input, given)};
  };
}

}  // namespace stowage::import
