#include "kernels/tflite/operands.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace stowage::kernels {
namespace {

template <typename Integer>
std::vector<std::int64_t> integers_in(std::span<const std::byte> data) {
  std::vector<std::int64_t> result;
  for (std::size_t at = 0; at + sizeof(Integer) <= data.size(); at += sizeof(Integer)) {
    Integer value = 0;
    std::memcpy(&value, data.data() + at, sizeof(Integer));
    result.push_back(value);
  }
  return result;
}

/// Ensures that no product of dimensions overflows, not even of a tensor without elements.
const Argument& addressable(const Argument& argument) {
  constexpr std::int64_t largest = std::int64_t{1} << 40;
  std::int64_t most = 1;
  for (const std::int64_t dimension : argument.shape) {
    if (dimension < 0 || dimension > largest / most)
      refuse("a tensor has shape [{}]", fmt::join(argument.shape, ","));
    most *= std::max<std::int64_t>(dimension, 1);
  }
  return argument;
}

}  // namespace

const Argument& Operands::input(std::size_t i) const {
  if (!signature_.has_input(i)) refuse("input {} is left out", i);
  return addressable(*signature_.inputs[i]);
}

const Argument& Operands::output(std::size_t i) const {
  if (!signature_.has_output(i)) refuse("output {} is left out", i);
  return addressable(*signature_.outputs[i]);
}

std::vector<std::int64_t> Operands::constants(std::size_t i, std::string_view what) const {
  const Argument& argument = input(i);
  if (!argument.is_constant) refuse("its {} are not constant", what);
  std::vector<std::int64_t> result;
  if (argument.dtype == DType::int32) {
    result = integers_in<std::int32_t>(argument.constant);
  } else if (argument.dtype == DType::int64) {
    result = integers_in<std::int64_t>(argument.constant);
  } else {
    refuse("its {} are of type {}", what, name_of(argument.dtype));
  }
  if (static_cast<std::int64_t>(result.size()) != count_of(argument.shape))
    refuse("its {} are {} numbers for shape [{}]", what, result.size(), fmt::join(argument.shape, ","));
  return result;
}

void Operands::expect_counts(std::size_t inputs, std::size_t outputs) const {
  if (signature_.inputs.size() != inputs || signature_.outputs.size() != outputs)
    refuse("it has {} inputs and {} outputs, expected {} and {}", signature_.inputs.size(),
           signature_.outputs.size(), inputs, outputs);
}

void Operands::expect_alike(std::size_t i) const {
  if (input(i).dtype != output().dtype)
    refuse("input {} is {}, the output {}", i, name_of(input(i).dtype), name_of(output().dtype));
}

void Operands::expect_shape(const Argument& operand, const Shape& shape, std::string_view what) const {
  if (operand.shape != shape)
    refuse("its {} has shape [{}], expected [{}]", what, fmt::join(operand.shape, ","),
           fmt::join(shape, ","));
}

bool is_same_quantization(const Argument& a, const Argument& b) {
  if (a.quantization == nullptr || b.quantization == nullptr) return a.quantization == b.quantization;
  return a.quantization->scales == b.quantization->scales &&
         a.quantization->zero_points == b.quantization->zero_points;
}

void expect_same_quantization(const Argument& a, const Argument& b) {
  if (!is_same_quantization(a, b)) refuse("input and output are quantized differently");
}

void expect_moved(const Operands& operands, std::size_t input) {
  operands.expect_alike(input);
  expect_same_quantization(operands.input(input), operands.output());
}

void refuse_type(const Operands& operands) {
  refuse("element type {} is not supported", name_of(operands.output().dtype));
}

std::size_t element_size(DType dtype) {
  const auto bits = bits_of(dtype);
  if (!bits || *bits % 8 != 0) refuse("element type {} is not supported", name_of(dtype));
  return static_cast<std::size_t>(*bits / 8);
}

}  // namespace stowage::kernels
