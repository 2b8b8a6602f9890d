// Operators whose output depends on shapes and attributes, not on data: Constant, ConstantOfShape, Shape,
// Size, Range, EyeLike, and the windows of signal processing.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <variant>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// Writes the content of the value.
Kernel write(const Argument& output, const Array& value) {
  expect_dtype(output, value.dtype, "the output");
  expect_shape(output, value.shape, "the output");
  if (extent(value.data.size()) != bytes_of(value.dtype, value.shape))
    refuse("the value has {} bytes", value.data.size());
  const auto size = extent(value.data.size());
  return {.run =
              [data = value.data](const Pointers& pointers) {
                if (!data.empty()) std::memcpy(pointers.output<std::byte>(0), data.data(), data.size());
              },
          .scratch = 0,
          .held = size};
}

template <typename Element>
Array array_of(const std::vector<Element>& elements, const Shape& shape) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(elements.data());
  return {.dtype = dtype_of<Element>(),
          .shape = shape,
          .data = {bytes, bytes + elements.size() * sizeof(Element)}};
}

Kernel constant(const Signature& signature) {
  const Attributes& attributes = signature.attributes;
  const Argument& output = output_of(signature);
  if (const Array* const value = attributes.array("value")) return write(output, *value);
  if (attributes.has("value_int"))
    return write(output, array_of<std::int64_t>({attributes.integer("value_int", 0)}, {}));
  if (attributes.has("value_float"))
    return write(output, array_of<float>({attributes.real("value_float", 0)}, {}));
  if (attributes.has("value_ints")) {
    const auto values = attributes.integers("value_ints", {});
    return write(output, array_of(values, {extent(values.size())}));
  }
  if (attributes.has("value_floats")) {
    const auto values = attributes.reals("value_floats", {});
    return write(output, array_of(values, {extent(values.size())}));
  }
  refuse("a constant without value, value_int, value_float, value_ints or value_floats");
}

Kernel constant_of_shape(const Signature& signature) {
  const Argument& output = output_of(signature);
  const Array* const given = signature.attributes.array("value");
  const Array value = given == nullptr ? array_of<float>({0}, {1}) : *given;
  expect_dtype(output, value.dtype, "the output");
  if (count_of(value.shape) != 1 || extent(value.data.size()) != bytes_of(value.dtype, {1}))
    refuse("the value is not of one element");
  const std::int64_t count = count_of(output.shape);
  return for_size(output.dtype, [&]<typename Element>() -> Kernel {
    Element element{};
    std::memcpy(&element, value.data.data(), sizeof element);
    return {.run = [element, count](const Pointers& pointers) {
      std::fill_n(pointers.output<Element>(0), count, element);
    }};
  });
}

/// The dimensions from `start` up to `end`; the data is not read.
Kernel shape(const Signature& signature) {
  const Shape& all = input_of(signature, 0).shape;
  const std::int64_t rank = extent(all.size());
  const auto place = [rank](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = place(signature.attributes.integer("start", 0));
  const std::int64_t end = std::max(start, place(signature.attributes.integer("end", rank)));
  return write(output_of(signature),
               array_of<std::int64_t>({all.begin() + start, all.begin() + end}, {end - start}));
}

Kernel size(const Signature& signature) {
  return write(output_of(signature), array_of<std::int64_t>({count_of(input_of(signature, 0).shape)}, {}));
}

/// start + i * delta, for each element of the output; its size contains the limit.
Kernel range(const Signature& signature) {
  const Argument& output = output_of(signature);
  expect_rank(output, 1, "the output");
  for (const std::size_t i : {0U, 2U}) {
    expect_dtype(input_of(signature, i), output.dtype, "an input");
    if (count_of(input_of(signature, i).shape) != 1) refuse("an input is not a scalar");
  }
  const std::int64_t count = output.shape[0];
  return for_type(output.dtype, numbers, [&]<typename Element>() -> Kernel {
    return {.run = [count](const Pointers& pointers) {
      using Number = Value<Element>;
      const Number start = value_of(*pointers.input<Element>(0));
      const Number delta = value_of(*pointers.input<Element>(2));
      auto* const to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < count; ++i)
        to[i] = element_of<Element>(sum(start, product(element_of<Number>(i), delta)));
    }};
  });
}

Kernel eye_like(const Signature& signature) {
  const Argument& output = output_of(signature);
  expect_rank(output, 2, "the output");
  const std::int64_t k = signature.attributes.integer("k", 0);
  const std::int64_t rows = output.shape[0];
  const std::int64_t columns = output.shape[1];
  if (k < -rows || k > columns) refuse("k is {} for {}", k, show(output.shape));
  return for_type(output.dtype, every_type, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      auto* const to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j)
          to[i * columns + j] = element_of<Element>(j == i + k ? 1 : 0);
      }
    }};
  });
}

/// A sum of cosines over the window, which is as long as the output.
Kernel window(const Signature& signature, double a0, double a1, double a2) {
  const Argument& output = output_of(signature);
  expect_rank(output, 1, "the output");
  const std::int64_t count = output.shape[0];
  const bool is_periodic = signature.attributes.integer("periodic", 1) != 0;
  const auto length = static_cast<double>(std::max<std::int64_t>(is_periodic ? count : count - 1, 1));
  return for_type(output.dtype, numbers, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      auto* const to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < count; ++i) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i) / length;
        to[i] = element_of<Element>(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
      }
    }};
  });
}

}  // namespace

TablePart constant_kernels() {
  return {
      {"BlackmanWindow", [](const Signature& it) { return window(it, 0.42, 0.5, 0.08); }},
      {"Constant", constant},
      {"ConstantOfShape", constant_of_shape},
      {"EyeLike", eye_like},
      {"HammingWindow", [](const Signature& it) { return window(it, 25.0 / 46, 21.0 / 46, 0); }},
      {"HannWindow", [](const Signature& it) { return window(it, 0.5, 0.5, 0); }},
      {"Range", range},
      {"Shape", shape},
      {"Size", size},
  };
}

}  // namespace stowage::kernels::onnx_ops
