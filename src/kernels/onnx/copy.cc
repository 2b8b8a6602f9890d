// Operators that copy bytes unchanged: views of other shape, Concat and Split. Outputs in the place of an
// input are already written.

#include <algorithm>
#include <cstring>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t size) {
  if (to != from && size > 0) std::memcpy(to, from, index(size));
}

/// Operators that only change the shape, which the output already has.
Kernel reshape(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  const std::int64_t size = bytes_of(input.dtype, input.shape);
  return {.run = [size](const Pointers& pointers) {
    copy_bytes(pointers.output<std::byte>(0), pointers.input<std::byte>(0), size);
  }};
}

/// At inference everything is kept: the mask is true everywhere. Before operator set 10 it had the input's
/// type.
Kernel dropout(const Signature& signature) {
  const auto training = integers_at(signature, 2);
  if (training && !training->empty() && training->front() != 0) refuse("training draws random numbers");
  if (signature.version < 7 && signature.attributes.integer("is_test", 0) == 0)
    refuse("is_test is 0: training draws random numbers");
  Kernel view = reshape(signature);
  if (!signature.has_output(1)) return view;
  const Argument& mask = output_of(signature, 1);
  const std::int64_t count = count_of(mask.shape);
  return for_type(mask.dtype, every_type, [&]<typename Element>() -> Kernel {
    return {.run = [view, count](const Pointers& pointers) {
      view.run(pointers);
      std::fill_n(pointers.output<Element>(1), count, element_of<Element>(1));
    }};
  });
}

/// Layout, in bytes, of one tensor within the whole that consists of several.
struct Part {
  std::int64_t from;  ///< In each run of the whole.
  std::int64_t size;
};

/// Parts of `whole` along an axis, which they must fill.
std::vector<Part> parts_of(const std::vector<std::optional<Argument>>& parts, const Argument& whole,
                           std::size_t axis) {
  const Split split = split_at(whole.shape, axis);
  if (bits_of(whole.dtype).value_or(1) % 8 != 0)
    refuse("there is no kernel that moves elements of type {}", name_of(whole.dtype));
  const std::int64_t element = bytes_of(whole.dtype, {1});
  std::vector<Part> result;
  std::int64_t used = 0;
  for (const std::optional<Argument>& part : parts) {
    if (!part) refuse("a part is left out");
    Shape expected = whole.shape;
    if (part->shape.size() != expected.size())
      refuse("the part {} is not of the rank of {}", show(part->shape), show(whole.shape));
    expected[axis] = part->shape[axis];
    expect_shape(*part, expected, "a part");
    expect_dtype(*part, whole.dtype, "a part");
    result.push_back({.from = used * split.inner * element, .size = expected[axis] * split.inner * element});
    used += expected[axis];
    if (used > split.size) break;
  }
  if (used != split.size) refuse("the parts do not fill {} on axis {}", show(whole.shape), axis);
  return result;
}

Kernel concatenate(const Signature& signature) {
  const Argument& output = output_of(signature);
  if (signature.version >= 4 && !signature.attributes.has("axis")) refuse("axis is missing");
  const std::size_t axis = axis_of(signature.attributes.integer("axis", 1), output.shape.size());
  const std::vector<Part> parts = parts_of(signature.inputs, output, axis);
  const Split split = split_at(output.shape, axis);
  const std::int64_t stretch = bytes_of(output.dtype, {1}) * split.size * split.inner;
  return {.run = [parts, split, stretch](const Pointers& pointers) {
    auto* const to = pointers.output<std::byte>(0);
    for (std::int64_t i = 0; i < split.outer; ++i) {
      for (std::size_t j = 0; j < parts.size(); ++j)
        copy_bytes(to + i * stretch + parts[j].from, pointers.inputs[j] + i * parts[j].size, parts[j].size);
    }
  }};
}

/// Uses the sizes of the outputs.
Kernel split_up(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const std::size_t axis = axis_of(signature.attributes.integer("axis", 0), input.shape.size());
  const std::vector<Part> parts = parts_of(signature.outputs, input, axis);
  const Split split = split_at(input.shape, axis);
  const std::int64_t stretch = bytes_of(input.dtype, {1}) * split.size * split.inner;
  return {.run = [parts, split, stretch](const Pointers& pointers) {
    const auto* const from = pointers.input<std::byte>(0);
    for (std::int64_t i = 0; i < split.outer; ++i) {
      for (std::size_t j = 0; j < parts.size(); ++j)
        copy_bytes(pointers.outputs[j] + i * parts[j].size, from + i * stretch + parts[j].from,
                   parts[j].size);
    }
  }};
}

}  // namespace

TablePart copy_kernels() {
  return {
      {"Concat", concatenate}, {"Dropout", [](const Signature& it) { return with_values(it, {2}, dropout); }},
      {"Flatten", reshape},    {"Identity", reshape},
      {"Reshape", reshape},    {"Split", split_up},
      {"Squeeze", reshape},    {"Unsqueeze", reshape}};
}

}  // namespace stowage::kernels::onnx_ops
