#include "kernels/tflite/channels.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace stowage::kernels {

namespace {

/// The scale of each output channel, and the zero point of all.
std::pair<std::vector<float>, std::int32_t> weight_scales(const Argument& weights, std::int64_t channels,
                                                          std::size_t axis) {
  const Quantization* const it = weights.quantization;
  if (it == nullptr || it->scales.empty() || it->scales.size() != it->zero_points.size())
    refuse("its weights have no scale");
  if (it->scales.size() == 1) {
    const Affine all = affine_of(weights);
    return {std::vector<float>(static_cast<std::size_t>(channels), all.scale), all.zero_point};
  }
  if (it->axis != axis || static_cast<std::int64_t>(it->scales.size()) != channels)
    refuse("its weights have {} scales on dimension {}, expected {} on {}", it->scales.size(), it->axis,
           channels, axis);
  for (std::size_t c = 0; c < it->scales.size(); ++c)
    if (it->zero_points[c] != 0) refuse("channel {} of its weights has zero point {}", c, it->zero_points[c]);
  return {it->scales, 0};
}

}  // namespace

Requantization requantization_of(const Operands& operands, const Argument& input, const Argument& weights,
                                 std::int64_t channels, std::size_t axis) {
  const Affine from = affine_of(input);
  const Affine to = affine_of(operands.output());
  const auto [scales, weights_zero] = weight_scales(weights, channels, axis);
  Requantization result{.input_zero = from.zero_point,
                        .weights_zero = weights_zero,
                        .output_zero = to.zero_point,
                        .limits = activation_limits(operands, limits_of(operands.output().dtype))};
  constexpr int most_shift = 14;  // of sums of 64 bits
  for (const float weight_scale : scales)
    result.factors.push_back(multiplier_of(
        static_cast<double>(from.scale) * static_cast<double>(weight_scale) / static_cast<double>(to.scale)));
  if (operands.output().dtype == DType::int16 &&
      std::ranges::any_of(result.factors, [](const Multiplier& it) { return it.shift > most_shift; }))
    refuse("a scale of its weights is too large");
  return result;
}

void use_single_product(const Operands& operands, Requantization& it, const LayerPlaces& places) {
  const Quantization& weights = *operands.input(1).quantization;
  if (weights.scales.size() != 1) return;
  const float product = affine_of(operands.input(places.data)).scale * weights.scales.front();
  const double factor =
      static_cast<double>(product) / static_cast<double>(affine_of(operands.output()).scale);
  std::ranges::fill(it.factors, multiplier_of(factor));
}

void expect_kind_of_weights(const Operands& operands, Requantization& it, const LayerPlaces& places) {
  if (operands.input(1).dtype == DType::uint8) return use_single_product(operands, it, places);
  if (it.weights_zero != 0) refuse("its weights have zero point {}, expected 0", it.weights_zero);
}

bool is_integer_layer(const Operands& operands, const LayerPlaces& places) {
  const auto is_integer = [](DType dtype) {
    return dtype == DType::int8 || dtype == DType::uint8 || dtype == DType::int16;
  };
  const DType input = operands.input(places.data).dtype;
  return input == operands.output().dtype && is_integer(input) && is_integer(operands.input(1).dtype);
}

std::vector<float> symmetric_scales_of(const Argument& weights, std::int64_t channels, std::size_t axis) {
  auto [scales, zero] = weight_scales(weights, channels, axis);
  if (zero != 0) refuse("its weights have zero point {}, expected 0", zero);
  return std::move(scales);
}

void expect_bias(const Operands& operands, std::size_t input, DType dtype, std::int64_t channels) {
  if (!operands.has_input(input)) return;
  const Argument& bias = operands.input(input);
  if (bias.dtype != dtype || count_of(bias.shape) != channels)
    refuse("its bias has {} numbers of type {}, expected {} of {}", count_of(bias.shape), name_of(bias.dtype),
           channels, name_of(dtype));
}

}  // namespace stowage::kernels
