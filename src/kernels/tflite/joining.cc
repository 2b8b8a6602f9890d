// CONCATENATION and PACK join tensors side by side on an axis; SPLIT, SPLIT_V and UNPACK divide one.
//
// Each part is one run of bytes for each index before the axis. A part may already be in its final
// place.
//
// Cost: bytes of the whole. Source: the definitions of the TFLite operators, and for parts of uint8 that are quantized
// in another way than the whole, the steps of TensorFlow Lite's reference kernel. Like TensorFlow Lite Micro, requires
// equal quantization of all other parts and whole.

#include "kernels/tflite/joining.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/tflite/families.h"
#include "kernels/tflite/fixed_point.h"

namespace stowage::kernels {
namespace {

using Integers = std::vector<std::int64_t>;

/// A region of a tensor that is copied to or from a dense one: `count` runs of `run` bytes.
struct Runs {
  std::size_t count = 0;
  std::size_t run = 0;
  std::size_t begin = 0;   ///< Of the first run in the larger tensor, in bytes.
  std::size_t stride = 0;  ///< From run to run in the larger tensor.
};

/// Parts of a tensor side by side on an axis. Parts with a null operand are skipped.
std::vector<Runs> parts_of(const Argument& whole, std::size_t axis, const Integers& extents) {
  const auto bytes = static_cast<std::int64_t>(element_size(whole.dtype));
  const std::int64_t inner = count_of(whole.shape, axis + 1, whole.shape.size()) * bytes;
  std::vector<Runs> result;
  std::int64_t begin = 0;
  for (const std::int64_t extent : extents) {
    result.push_back({static_cast<std::size_t>(count_of(whole.shape, 0, axis)),
                      static_cast<std::size_t>(extent * inner), static_cast<std::size_t>(begin * inner),
                      static_cast<std::size_t>(whole.shape[axis] * inner)});
    begin += extent;
  }
  if (begin != whole.shape[axis])
    refuse("its parts have extent {} in all, expected {}", begin, whole.shape[axis]);
  return result;
}

void copy_run(const JoinTable& table, const std::byte* from, std::size_t bytes, std::byte* to) {
  if (table.empty()) {
    std::memmove(to, from, bytes);
    return;
  }
  for (std::size_t i = 0; i < bytes; ++i)
    to[i] = static_cast<std::byte>(table[std::to_integer<std::size_t>(from[i])]);
}

/// `tables` has one for each part.
Kernel join_kernel(std::vector<Runs> parts, std::vector<JoinTable> tables) {
  return {.run = [parts = std::move(parts), tables = std::move(tables)](const Pointers& at) {
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (std::size_t i = 0; i < parts[p].count && parts[p].run > 0; ++i)
        copy_run(tables[p], at.inputs[p] + i * parts[p].run, parts[p].run,
                 at.outputs[0] + parts[p].begin + i * parts[p].stride);
  }};
}

Kernel part_kernel(std::vector<Runs> parts, std::size_t input) {
  return {.run = [parts = std::move(parts), input](const Pointers& at) {
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (std::size_t i = 0; i < parts[p].count && parts[p].run > 0 && at.outputs[p] != nullptr; ++i)
        std::memmove(at.outputs[p] + i * parts[p].run,
                     at.inputs[input] + parts[p].begin + i * parts[p].stride, parts[p].run);
  }};
}

Kernel prepare_concatenation(const Signature& signature) {
  const Operands operands(signature);
  const Argument& output = operands.output();
  if (operands.integer("fused_activation_function") != 0) refuse("it has a fused activation");
  const std::size_t axis = axis_of(operands.integer("axis"), output.shape.size());
  Integers extents;
  std::vector<JoinTable> tables;
  for (std::size_t i = 0; i < operands.inputs(); ++i) {
    operands.expect_alike(i);
    tables.push_back(join_table_of(operands.input(i), output));
    Shape expected = operands.input(i).shape;
    if (expected.size() != output.shape.size())
      refuse("input {} has {} dimensions, its output {}", i, expected.size(), output.shape.size());
    extents.push_back(std::exchange(expected[axis], output.shape[axis]));
    operands.expect_shape(output, expected, "output");
  }
  return join_kernel(parts_of(output, axis, extents), std::move(tables));
}

Kernel prepare_pack(const Signature& signature) {
  const Operands operands(signature);
  const Argument& output = operands.output();
  const std::size_t axis = axis_of(operands.integer("axis"), output.shape.size());
  Shape expected = output.shape;
  expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(axis));
  for (std::size_t i = 0; i < operands.inputs(); ++i) {
    expect_moved(operands, i);
    operands.expect_shape(operands.input(i), expected, "input");
  }
  return join_kernel(parts_of(output, axis, Integers(operands.inputs(), 1)),
                     std::vector<JoinTable>(operands.inputs()));
}

/// Omitted outputs have no shape to compare.
void expect_part(const Signature& signature, const Argument& input, std::size_t i, const Shape& expected) {
  if (!signature.has_output(i)) return;
  const Operands operands(signature);
  if (operands.output(i).dtype != input.dtype)
    refuse("output {} is {}, its input {}", i, name_of(operands.output(i).dtype), name_of(input.dtype));
  expect_same_quantization(input, operands.output(i));
  operands.expect_shape(operands.output(i), expected, "output");
}

Kernel prepare_unpack(const Signature& signature) {
  const Operands operands(signature);
  const Argument& input = operands.input(0);
  const std::size_t axis = axis_of(operands.integer("axis"), input.shape.size());
  Shape expected = input.shape;
  expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(axis));
  for (std::size_t i = 0; i < operands.outputs(); ++i) expect_part(signature, input, i, expected);
  return part_kernel(parts_of(input, axis, Integers(operands.outputs(), 1)), 0);
}

Kernel split_kernel(const Signature& signature, std::size_t from, std::size_t axis, const Integers& extents) {
  const Operands operands(signature);
  const Argument& input = operands.input(from);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    Shape expected = input.shape;
    expected[axis] = extents[i];
    expect_part(signature, input, i, expected);
  }
  return part_kernel(parts_of(input, axis, extents), from);
}

std::int64_t single(const Integers& numbers, std::string_view what) {
  if (numbers.size() != 1) refuse("it has {} numbers as its {}", numbers.size(), what);
  return numbers.front();
}

/// SPLIT: axis, input.
Kernel prepare_split(const Signature& signature) {
  const Operands operands(signature);
  const Shape& shape = operands.input(1).shape;
  const std::size_t axis = axis_of(single(operands.constants(0, "axis"), "axis"), shape.size());
  const auto parts = static_cast<std::int64_t>(operands.outputs());
  if (parts == 0 || shape[axis] % parts != 0) refuse("{} parts do not divide {}", parts, shape[axis]);
  return split_kernel(signature, 1, axis, Integers(operands.outputs(), shape[axis] / parts));
}

/// SPLIT_V: input, sizes, axis. One size may be -1: the remaining extent.
Kernel prepare_split_v(const Signature& signature) {
  const Operands operands(signature);
  const Shape& shape = operands.input(0).shape;
  const std::size_t axis = axis_of(single(operands.constants(2, "axis"), "axis"), shape.size());
  Integers sizes = operands.constants(1, "sizes");
  if (sizes.size() != operands.outputs())
    refuse("it has {} sizes for {} outputs", sizes.size(), operands.outputs());
  std::int64_t rest = shape[axis];
  for (const std::int64_t size : sizes) {
    if (size < -1 || size > rest) refuse("a part has size {} of {} that are left", size, rest);
    if (size >= 0) rest -= size;
  }
  if (const auto open = std::ranges::find(sizes, -1); open != sizes.end()) *open = rest;
  if (std::ranges::find(sizes, -1) != sizes.end()) refuse("several of its sizes are -1");
  return split_kernel(signature, 0, axis, sizes);
}

}  // namespace

JoinTable join_table_of(const Argument& part, const Argument& whole) {
  if (is_same_quantization(part, whole)) return {};
  if (part.dtype != DType::uint8) expect_same_quantization(part, whole);
  const Affine from = affine_of(part);
  const Affine to = affine_of(whole);
  const float factor = from.scale * (1 / to.scale);
  const float term = static_cast<float>(-from.zero_point) * factor;
  constexpr float largest = 1 << 20;
  JoinTable table;
  for (int number = 0; number < 256; ++number) {
    const float real = std::round(static_cast<float>(number) * factor + term);
    table.push_back(nearest_of<std::uint8_t>(static_cast<std::int32_t>(std::clamp(real, -largest, largest)) +
                                             to.zero_point));
  }
  return table;
}

TablePart joining_kernels() {
  return {{"CONCATENATION", prepare_concatenation},
          {"PACK", prepare_pack},
          {"SPLIT", prepare_split},
          {"SPLIT_V", prepare_split_v},
          {"UNPACK", prepare_unpack}};
}

}  // namespace stowage::kernels
