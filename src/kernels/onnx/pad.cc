// Pad. On each axis, a table gives the input element of each output element, or none; modes differ only
// in the table.

#include "kernels/onnx/pad.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

constexpr std::int64_t filled = -1;

/// The remainder, never negative.
std::int64_t modulo(std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; }

/// The element, of `size`, for a place that may be outside.
std::int64_t source_of(std::int64_t place, std::int64_t size, std::string_view mode) {
  if (place >= 0 && place < size) return place;
  if (mode == "constant") return filled;
  if (size == 0) refuse("mode {} has nothing to pad with", mode);
  if (mode == "edge") return std::clamp<std::int64_t>(place, 0, size - 1);
  if (mode == "wrap") return modulo(place, size);
  if (mode != "reflect") refuse("there is no mode {}", mode);
  if (size == 1) return 0;
  const std::int64_t period = 2 * (size - 1);
  const std::int64_t there = modulo(place, period);
  return std::min(there, period - there);
}

/// Per axis, per place in the output: its offset in the input, in elements, or `filled`.
using Sources = std::vector<std::vector<std::int64_t>>;

template <typename Element>
void fill(const Sources& sources, std::size_t axis, const Element* from, bool is_inside, const Element& value,
          Element*& to) {
  if (axis == sources.size()) {
    *to++ = is_inside ? *from : value;
    return;
  }
  for (const std::int64_t source : sources[axis]) {
    const bool is_own = is_inside && source != filled;
    fill(sources, axis + 1, is_own ? from + source : from, is_own, value, to);
  }
}

}  // namespace

std::vector<std::int64_t> pads_of(const Signature& signature, std::size_t rank) {
  const auto given = integers_at(signature, signature.version < 2 ? "paddings" : "pads", 1);
  if (!given) refuse("pads are missing");
  std::vector<std::size_t> axes;
  if (const auto named = integers_at(signature, 3)) {
    for (const std::int64_t axis : *named) axes.push_back(axis_of(axis, rank));
  } else {
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(d);
  }
  if (given->size() != 2 * axes.size()) refuse("{} pads for {} axes", given->size(), axes.size());
  std::vector<std::int64_t> pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    pads[axes[i]] = (*given)[i];
    pads[axes[i] + rank] = (*given)[i + axes.size()];
  }
  return pads;
}

namespace {

/// The padding value if it is not an input.
std::vector<std::byte> attribute_value(const Signature& signature, DType dtype) {
  const float value = signature.attributes.real("value", 0);
  std::vector<std::byte> bytes(sizeof(Wide));
  if (value == 0) return bytes;
  static_cast<void>(for_type(dtype, every_type, [&]<typename Element>() {
    const auto element = element_of<Element>(value);
    std::memcpy(bytes.data(), &element, sizeof element);
    return Kernel{};
  }));
  return bytes;
}

Kernel pad(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  const std::size_t rank = input.shape.size();
  const std::string mode = signature.attributes.text("mode", "constant");
  expect_dtype(output, input.dtype, "the output");
  expect_rank(output, rank, "the output");
  const std::vector<std::int64_t> pads = pads_of(signature, rank);
  if (signature.has_input(2)) {
    expect_dtype(*signature.inputs[2], input.dtype, "the value");
    if (count_of(signature.inputs[2]->shape) != 1) refuse("the value is not a scalar");
  }
  constexpr std::int64_t limit = std::int64_t{1} << 60;
  const Shape strides = strides_of(input.shape);
  const bool is_empty = count_of(output.shape) == 0;
  auto sources = std::make_shared<Sources>();
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t size = input.shape[d];
    if (std::max(std::abs(pads[d] / 2), std::abs(pads[d + rank] / 2)) > limit ||
        output.shape[d] != size + pads[d] + pads[d + rank])
      refuse("pads {} and {} do not make {} of {}", pads[d], pads[d + rank], output.shape[d], size);
    if (!is_empty) expect_table_size(output.shape[d]);
    std::vector<std::int64_t> own;
    for (std::int64_t i = 0; i < output.shape[d] && !is_empty; ++i) {
      const std::int64_t source = source_of(i - pads[d], size, mode);
      own.push_back(source == filled ? filled : source * strides[d]);
    }
    sources->push_back(std::move(own));
  }
  const std::vector<std::byte> otherwise = attribute_value(signature, input.dtype);
  return for_size(input.dtype, [&]<typename Element>() -> Kernel {
    return {.run = [sources, otherwise, is_empty](const Pointers& pointers) {
      if (is_empty) return;
      Element value{};
      std::memcpy(&value, otherwise.data(), sizeof value);
      if (const auto* const given = pointers.input<Element>(2)) value = *given;
      auto* to = pointers.output<Element>(0);
      fill(*sources, 0, pointers.input<Element>(0), true, value, to);
    }};
  });
}

}  // namespace

TablePart pad_kernels() {
  return {{"Pad", [](const Signature& it) { return with_values(it, {1, 3}, pad); }}};
}

}  // namespace stowage::kernels::onnx_ops
