// Normalizations over the last dimensions: LayerNormalization, RMSNormalization and their variants in other
// domains. Statistics are summed in float64.

#include <cmath>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {
namespace {

struct Layer {
  std::int64_t rows = 1;
  std::int64_t size = 1;
  Walk<2> parameters{};  ///< Over the elements of the input: places of scale and bias.
  double epsilon = 0;
  bool subtracts_mean = true;
  bool has_bias = false;
};

Layer layer_of(const Signature& signature, std::size_t axis, std::size_t scale, std::size_t bias) {
  const Argument& input = input_of(signature, 0);
  const std::size_t rank = input.shape.size();
  Shape scale_strides = broadcast_strides(input_of(signature, scale).shape, input.shape);
  Shape bias_strides(rank, 0);
  const bool has_bias = signature.has_input(bias);
  if (has_bias) bias_strides = broadcast_strides(signature.inputs[bias]->shape, input.shape);
  return {.rows = count_of(input.shape, 0, axis),
          .size = count_of(input.shape, axis, rank),
          .parameters = merged<2>(input.shape, {scale_strides, bias_strides}),
          .epsilon = static_cast<double>(signature.attributes.real("epsilon", 1e-5F)),
          .subtracts_mean = true,
          .has_bias = has_bias};
}

/// Mean and reciprocal deviation (or reciprocal root mean square) of a row.
struct RowMoments {
  double mean;
  double scale;
};

template <typename Element>
RowMoments moments_of(const Element* row, const Layer& layer) {
  const auto count = static_cast<double>(layer.size);
  double mean = 0;
  if (layer.subtracts_mean) {
    for (std::int64_t j = 0; j < layer.size; ++j) mean += static_cast<double>(value_of(row[j]));
    mean /= count;
  }
  double squares = 0;
  for (std::int64_t j = 0; j < layer.size; ++j) {
    const double away = static_cast<double>(value_of(row[j])) - mean;
    squares += away * away;
  }
  return {.mean = mean, .scale = 1 / std::sqrt(squares / count + layer.epsilon)};
}

/// Normalizes `from` to `to`, which may be equal; writes statistics unless their pointers are null.
template <typename Element, typename Statistic>
void normalize(const Layer& layer, const Element* from, Element* to, const Element* scale,
               const Element* bias, Statistic* means, Statistic* scales) {
  if (layer.size == 0) return;
  for (std::int64_t i = 0; i < layer.rows; ++i) {
    const std::int64_t start = i * layer.size;
    const RowMoments moments = moments_of(from + start, layer);
    if (means != nullptr) means[i] = element_of<Statistic>(moments.mean);
    if (scales != nullptr) scales[i] = element_of<Statistic>(moments.scale);
    for (std::int64_t j = start; j < start + layer.size; ++j)
      to[j] = element_of<Element>((static_cast<double>(value_of(from[j])) - moments.mean) * moments.scale);
  }
  for_each_row(layer.parameters, [&](std::int64_t at, const std::array<std::int64_t, 2>& place) {
    for (std::int64_t j = 0; j < layer.parameters.row(); ++j) {
      const auto factor = value_of(scale[place[0] + j * layer.parameters.step(0)]);
      const auto shift =
          layer.has_bias ? value_of(bias[place[1] + j * layer.parameters.step(1)]) : Value<Element>{0};
      to[at + j] = element_of<Element>(value_of(to[at + j]) * factor + shift);
    }
  });
}

/// The statistics have the dimensions of the input up to the axis, and then ones.
void expect_statistics(const Signature& signature, std::size_t axis) {
  Shape shape = input_of(signature, 0).shape;
  std::fill(shape.begin() + extent(axis), shape.end(), 1);
  for (const std::size_t i : {1U, 2U}) {
    if (!signature.has_output(i)) continue;
    expect_shape(*signature.outputs[i], shape, "a statistic");
    if (i == 2 && signature.has_output(1))
      expect_dtype(*signature.outputs[2], signature.outputs[1]->dtype, "a statistic");
  }
}

Kernel layer_normalization(const Signature& signature, bool subtracts_mean) {
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  const std::size_t axis = axis_of(signature.attributes.integer("axis", -1), input.shape.size());
  Layer layer = layer_of(signature, axis, 1, subtracts_mean ? 2 : 99);
  layer.subtracts_mean = subtracts_mean;
  expect_dtype(input_of(signature, 1), input.dtype, "the scale");
  if (layer.has_bias) expect_dtype(*signature.inputs[2], input.dtype, "the bias");
  expect_statistics(signature, axis);
  DType statistic = DType::float32;
  for (const std::size_t i : {1U, 2U}) {
    if (signature.has_output(i)) statistic = signature.outputs[i]->dtype;
  }
  // A normalization without mean has its scales as second output.
  return for_type(input.dtype, floats, [&]<typename Element>() {
    return for_type(statistic, floats, [&]<typename Statistic>() -> Kernel {
      return {.run = [=](const Pointers& pointers) {
        auto* const second = pointers.output<Statistic>(1);
        auto* const third = pointers.output<Statistic>(2);
        normalize(layer, pointers.input<Element>(0), pointers.output<Element>(0), pointers.input<Element>(1),
                  pointers.input<Element>(2), subtracts_mean ? second : nullptr,
                  subtracts_mean ? third : second);
      }};
    });
  });
}

/// The normalized sum of input and skip (and a bias). The fourth output is the sum.
Kernel skip_normalization(const Signature& signature, bool subtracts_mean) {
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  if (input.shape.empty()) refuse("the input is a scalar");
  for (const std::size_t i : {1U, 2U}) {
    if (signature.has_output(i)) refuse("statistics are wanted");
  }
  const std::size_t bias = subtracts_mean ? 4 : 3;
  for (std::size_t i = 1; i <= bias; ++i) {
    if (signature.has_input(i)) expect_dtype(*signature.inputs[i], input.dtype, "an input");
  }
  Layer layer = layer_of(signature, input.shape.size() - 1, 2, subtracts_mean ? 3 : 99);
  layer.subtracts_mean = subtracts_mean;
  layer.epsilon = static_cast<double>(signature.attributes.real("epsilon", 1e-12F));
  Shape bias_strides(input.shape.size(), 0);
  if (signature.has_input(bias)) bias_strides = broadcast_strides(signature.inputs[bias]->shape, input.shape);
  const Walk<2> walk =
      merged<2>(input.shape, {broadcast_strides(input_of(signature, 1).shape, input.shape), bias_strides});
  if (signature.has_output(3)) expect_copy(input, *signature.outputs[3]);
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      const auto* const skip = pointers.input<Element>(1);
      const auto* const shift = pointers.input<Element>(bias);
      auto* const to = pointers.output<Element>(0);
      auto* const sums = pointers.output<Element>(3);
      for_each_row(walk, [&](std::int64_t at, const std::array<std::int64_t, 2>& place) {
        for (std::int64_t j = 0; j < walk.row(); ++j) {
          auto x = value_of(from[at + j]) + value_of(skip[place[0] + j * walk.step(0)]);
          if (shift != nullptr) x += value_of(shift[place[1] + j * walk.step(1)]);
          to[at + j] = element_of<Element>(x);
          if (sums != nullptr) sums[at + j] = to[at + j];
        }
      });
      normalize<Element, float>(layer, to, to, pointers.input<Element>(2), pointers.input<Element>(3),
                                nullptr, nullptr);
    }};
  });
}

}  // namespace

TablePart layer_kernels() {
  return {
      {"LayerNormalization", [](const Signature& it) { return layer_normalization(it, true); }},
      {"RMSNormalization", [](const Signature& it) { return layer_normalization(it, false); }},
      {"SimplifiedLayerNormalization", [](const Signature& it) { return layer_normalization(it, false); }},
      {"com.microsoft.SkipLayerNormalization",
       [](const Signature& it) { return skip_normalization(it, true); }},
      {"com.microsoft.SkipSimplifiedLayerNormalization",
       [](const Signature& it) { return skip_normalization(it, false); }},
  };
}

}  // namespace stowage::kernels::onnx_ops
