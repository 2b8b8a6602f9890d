// The layers of convolutions and fully connected layers: what their kernels are told of windows, weights and scales.

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "generate/text.h"
#include "generate/windows.h"
#include "kernels/tflite/channels.h"

namespace stowage::generate {

using kernels::Operands;
using kernels::refuse;
using kernels::Requantization;

namespace {

/// Names of the arrays with a layer's factors, and with their powers of two.
std::pair<std::string, std::string> factors_of(Writer& writer, const Requantization& to) {
  std::vector<std::int32_t> mantissas;
  std::vector<std::int8_t> shifts;
  for (const kernels::Multiplier& factor : to.factors) {
    mantissas.push_back(factor.mantissa);
    shifts.push_back(static_cast<std::int8_t>(factor.shift));
  }
  const std::string n = writer.number();
  return {writer.sources().array("multiplier_" + n, "factors of operator " + n, DType::int32, mantissas),
          writer.sources().array("shift_" + n, "powers of two of these factors", DType::int8, shifts)};
}

}  // namespace

std::string stored_bias(Writer& writer, std::size_t input) {
  if (!writer.signature().has_input(input)) return "NULL";
  static_cast<void>(constant_data(writer, input));
  return writer.stores(input, "bias",
                       writer.sources().constant(*writer.op().inputs[input], "bias_" + writer.number()));
}

std::string integer_layer(Writer& writer, const Windows& it, std::int64_t groups, const Requantization& to,
                          const std::vector<std::int32_t>& bias, const std::string& weights,
                          std::size_t bias_input) {
  if (to.weights_zero != 0) refuse("its weights have zero point {}, expected 0", to.weights_zero);
  const std::string n = writer.number();
  const std::string biases = writer.stores(
      bias_input, "bias", writer.sources().array("bias_" + n, "biases of operator " + n, DType::int32, bias));
  const auto [factors, powers] = factors_of(writer, to);
  return writer.layer(
      "stowage_conv_s8_layer",
      fmt::format(
          "{}{}, {}, {}, {}, {},\n    {}, {}, {}, {}, /* zero points of input and output, limits */\n",
          shape_of(it), groups, weights, biases, factors, powers, to.input_zero, to.output_zero,
          to.limits.least, to.limits.most));
}

std::string suffix_of_layer(const Operands& operands, const kernels::LayerPlaces& places) {
  const std::string suffix(suffix_of(operands.output().dtype));
  const bool is_narrow = operands.has_input(places.bias) && operands.input(places.bias).dtype == DType::int32;
  return suffix == "s16" && is_narrow ? "s16_b32" : suffix;
}

std::string other_layer(Writer& writer, const Windows& it, std::int64_t groups, const Requantization& to,
                        const std::string& weights, std::size_t bias_input) {
  const std::string bias = stored_bias(writer, bias_input);
  const auto [factors, powers] = factors_of(writer, to);
  return writer.layer("stowage_layer",
                      fmt::format("{}{}, {}, {}, {}, {},\n    {}, {}, {}, {}, {}, /* zero points of input, "
                                  "weights and output, limits */\n",
                                  shape_of(it), groups, weights, bias, factors, powers, to.input_zero,
                                  to.weights_zero, to.output_zero, to.limits.least, to.limits.most));
}

std::string real_layer(Writer& writer, const Operands& operands, const Windows& it, std::int64_t groups,
                       const std::string& weights, std::size_t bias_input) {
  kernels::expect_bias(operands, bias_input, DType::float32, operands.output().shape.back());
  const kernels::RealLimits limits = kernels::real_activation_limits(operands);
  const std::string bias = stored_bias(writer, bias_input);
  return writer.layer("stowage_conv_f32_layer",
                      fmt::format("{}{}, {}, {},\n    {}, {}, /* limits */\n", shape_of(it), groups, weights,
                                  bias, literal(limits.least), literal(limits.most)));
}

std::string hybrid_layer(Writer& writer, const Operands& operands, std::int64_t batches,
                         std::int64_t pieces) {
  kernels::expect_bias(operands, 2, DType::float32, operands.output().shape.back());
  const Shape& weights = operands.input(1).shape;
  const std::string n = writer.number();
  const std::string scales =
      writer.sources().array("scales_" + n, "scales of weights of operator " + n, DType::float32,
                             kernels::symmetric_scales_of(operands.input(1), weights[0], 0));
  const kernels::RealLimits limits = kernels::real_activation_limits(operands);
  return writer.layer(
      "stowage_hybrid_layer",
      fmt::format("{}, {}, {}, {}, {}, {}, {}, {},\n    {}, {}, /* limits */\n", batches, pieces,
                  weights[1] / pieces, weights[0], operands.flag("asymmetric_quantize_inputs") ? 1 : 0,
                  stored_weights(writer), scales, stored_bias(writer, 2), literal(limits.least),
                  literal(limits.most)));
}

}  // namespace stowage::generate
