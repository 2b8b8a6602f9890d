#include "run/tflite/channels.h"

#include <cmath>

namespace stowage::run {

Requantization requantization_of(const Operands& operands, const Argument& input, const Argument& weights,
                                 std::int64_t channels, std::size_t axis) {
  const Affine from = affine_of(input);
  const Affine to = affine_of(operands.output());
  const Quantization* const it = weights.quantization;
  if (it == nullptr || it->scales.empty() || it->scales.size() != it->zero_points.size())
    unsupported("its weights have no scale");
  Requantization result{.input_zero = from.zero_point, .output_zero = to.zero_point};
  result.limits = activation_limits(operands, limits_of<std::int8_t>());
  const auto factor = [&](float weight_scale) {
    return static_cast<double>(from.scale) * static_cast<double>(weight_scale) /
           static_cast<double>(to.scale);
  };
  if (it->scales.size() == 1) {
    result.weights_zero = affine_of(weights).zero_point;
    result.factors.assign(static_cast<std::size_t>(channels), multiplier_of(factor(it->scales.front())));
    return result;
  }
  if (it->axis != axis || static_cast<std::int64_t>(it->scales.size()) != channels)
    unsupported("its weights have {} scales on dimension {}, expected {} on {}", it->scales.size(), it->axis,
                channels, axis);
  for (std::size_t c = 0; c < it->scales.size(); ++c) {
    if (it->zero_points[c] != 0)
      unsupported("channel {} of its weights has zero point {}", c, it->zero_points[c]);
    result.factors.push_back(multiplier_of(factor(it->scales[c])));
  }
  return result;
}

void expect_bias(const Operands& operands, std::size_t input, DType dtype, std::int64_t channels) {
  if (!operands.has_input(input)) return;
  const Argument& bias = operands.input(input);
  if (bias.dtype != dtype || count_of(bias.shape) != channels)
    unsupported("its bias has {} numbers of type {}, expected {} of {}", count_of(bias.shape),
                name_of(bias.dtype), channels, name_of(dtype));
}

}  // namespace stowage::run
