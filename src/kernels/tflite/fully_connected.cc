// FULLY_CONNECTED of int8, uint8, int16 and float32.
//
// Each output is a dot product of a row of the input and a row of the weights, in batches. A zero point
// of the weights is moved out of the sum: sum x (w - z) = sum x w - z sum x, modulo 2^32.
//
// Where the input is float32 and the weights are int8 (dynamic-range quantization), each row of the input is rounded to
// 8 bits with a scale of its own; sums of products are integers. That is what LiteRT computes.
//
// Cost: outputs * length of a row. Source: as of convolutions. LiteRT 2.3 scales sums of int16 by a real factor: its numbers
// may be one apart.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "kernels/tflite/channels.h"
#include "kernels/tflite/families.h"
#include "kernels/tflite/hybrid.h"

namespace stowage::kernels {
namespace {

struct Layer {
  std::int64_t batches = 0;
  std::int64_t length = 0;
  std::int64_t outputs = 0;
};

/// One row of the input times all rows of the weights.
template <typename Number, typename Weight, typename Sum>
void multiply(const Layer& layer, const Requantization& it, const Number* input, const Weight* weights,
              const Sum* bias, std::int16_t* row, Number* output) {
  std::uint32_t total = 0;
  for (std::int64_t i = 0; i < layer.length; ++i) {
    row[i] = static_cast<std::int16_t>(input[i] - it.input_zero);
    total += static_cast<std::uint32_t>(row[i]);
  }
  const std::int32_t excess = wrapping_multiply(static_cast<std::int32_t>(total), -it.weights_zero);
  for (std::int64_t o = 0; o < layer.outputs; ++o) {
    Sum sum = sum_of<Sum>(dot<Sum>(row, weights + o * layer.length, layer.length), excess);
    if (bias != nullptr) sum = sum_of<Sum>(sum, bias[o]);
    output[o] = it.apply<Number>(sum, static_cast<std::size_t>(o));
  }
}

/// All rows of reals.
void multiply_real(const Layer& layer, const RealLimits& limits, const Pointers& at) {
  const auto* const weights = at.input<float>(1);
  const auto* const bias = at.input<float>(2);
  for (std::int64_t b = 0; b < layer.batches; ++b) {
    const float* const input = at.input<float>(0) + b * layer.length;
    for (std::int64_t o = 0; o < layer.outputs; ++o) {
      float sum = 0;
      for (std::int64_t i = 0; i < layer.length; ++i) sum += input[i] * weights[o * layer.length + i];
      at.output<float>(0)[b * layer.outputs + o] = limits.clamp(sum + (bias == nullptr ? 0.0F : bias[o]));
    }
  }
}

/// Rows of reals times weights of int8.
struct HybridLayer {
  Layer layer;
  bool has_zero_point = false;
  RealLimits limits;
  std::vector<float> scales;  ///< One for each output.

  void run(const Pointers& at) const {
    const auto* const weights = at.input<std::int8_t>(1);
    const auto* const bias = at.input<float>(2);
    auto* const bytes = reinterpret_cast<std::int16_t*>(at.scratch);
    for (std::int64_t b = 0; b < layer.batches; ++b) {
      const std::span<const float> row(at.input<float>(0) + b * layer.length,
                                       static_cast<std::size_t>(layer.length));
      const ByteScale by = byte_scale_of(row, has_zero_point);
      std::ranges::transform(row, bytes, [&](float x) { return by.without_zero(x); });
      for (std::int64_t o = 0; o < layer.outputs; ++o) {
        const auto sum = static_cast<float>(dot(bytes, weights + o * layer.length, layer.length));
        const float real = sum * (by.scale * scales[static_cast<std::size_t>(o)]);
        at.output<float>(0)[b * layer.outputs + o] = limits.clamp((bias == nullptr ? 0.0F : bias[o]) + real);
      }
    }
  }
};

Layer layer_of(const Operands& operands) {
  const Argument& weights = operands.input(1);
  const Shape& output = operands.output().shape;
  if (weights.shape.size() != 2 || output.empty())
    refuse("its weights and output have {} and {} dimensions, expected 2 and at least 1",
           weights.shape.size(), output.size());
  const Layer layer{.batches = count_of(output, 0, output.size() - 1),
                    .length = weights.shape[1],
                    .outputs = weights.shape[0]};
  if (output.back() != layer.outputs)
    refuse("its output has rows of {}, expected {}", output.back(), layer.outputs);
  const std::int64_t numbers = count_of(operands.input(0).shape);
  const std::int64_t rows = layer.length == 0 ? layer.batches : numbers / layer.length;
  if (rows != layer.batches || numbers != rows * layer.length)
    refuse("its input has {} numbers, expected {} rows of {}", numbers, layer.batches, layer.length);
  return layer;
}

Kernel real_layer(const Operands& operands, const Layer& layer) {
  expect_bias(operands, 2, DType::float32, layer.outputs);
  return {.run = [layer, limits = real_activation_limits(operands)](const Pointers& at) {
    multiply_real(layer, limits, at);
  }};
}

Kernel hybrid_layer(const Operands& operands, const Layer& layer) {
  expect_bias(operands, 2, DType::float32, layer.outputs);
  HybridLayer it{.layer = layer,
                 .has_zero_point = operands.flag("asymmetric_quantize_inputs"),
                 .limits = real_activation_limits(operands),
                 .scales = symmetric_scales_of(operands.input(1), layer.outputs, 0)};
  return {.run = [it = std::move(it)](const Pointers& at) { it.run(at); },
          .scratch = layer.length * static_cast<Bytes>(sizeof(std::int16_t))};
}

template <typename Number, typename Weight, typename Sum>
Kernel integer_layer(const Operands& operands, const Layer& layer, const Requantization& it) {
  expect_bias(operands, 2, bias_type<Sum>, layer.outputs);
  const auto run = [layer, it](const Pointers& at) {
    for (std::int64_t b = 0; b < layer.batches; ++b)
      multiply<Number, Weight, Sum>(layer, it, at.input<Number>(0) + b * layer.length, at.input<Weight>(1),
                                    at.input<Sum>(2), reinterpret_cast<std::int16_t*>(at.scratch),
                                    at.output<Number>(0) + b * layer.outputs);
  };
  return {.run = run, .scratch = layer.length * static_cast<Bytes>(sizeof(std::int16_t))};
}

Kernel prepare_fully_connected(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_alike(0);
  if (operands.integer("weights_format") != 0) refuse("its weights are shuffled");
  const Layer layer = layer_of(operands);
  const DType dtype = operands.output().dtype;
  const DType weights = operands.input(1).dtype;
  if (dtype == DType::float32 && weights == DType::float32) return real_layer(operands, layer);
  if (dtype == DType::float32 && weights == DType::int8) return hybrid_layer(operands, layer);
  if (!is_integer_layer(operands))
    refuse("{} with weights {} is not supported", name_of(dtype), name_of(weights));
  Requantization it = requantization_of(operands, operands.input(0), operands.input(1), layer.outputs, 0);
  if (dtype == DType::int16 && it.weights_zero != 0)
    refuse("its weights have zero point {}, expected 0", it.weights_zero);
  use_single_product(operands, it);
  return for_integer_layer(operands, {}, [&]<typename Number, typename Weight, typename Sum>() {
    return integer_layer<Number, Weight, Sum>(operands, layer, it);
  });
}

}  // namespace

TablePart fully_connected_kernels() { return {{"FULLY_CONNECTED", prepare_fully_connected}}; }

}  // namespace stowage::kernels
