// TRANSPOSE_CONV of int8, uint8, int16 and float32, and Convolution2DTransposeBias of MediaPipe: a reversed
// convolution. Each input is spread over the window of outputs from which a convolution would compute it.
//
// Cost: input elements * taps * output channels. Source: as of convolutions.

#include "kernels/tflite/transpose_conv.h"

#include <algorithm>

#include "kernels/tflite/families.h"
#include "kernels/tflite/window.h"

namespace stowage::kernels {

LayerPlaces spread_places(std::string_view type) {
  return type == "TRANSPOSE_CONV" ? LayerPlaces{.data = 2, .bias = 3} : LayerPlaces{};
}

Spread spread_of(const Operands& operands, const LayerPlaces& places) {
  const Shape& weights = operands.input(1).shape;
  const Shape& in = operands.input(places.data).shape;
  const Shape& out = operands.output().shape;
  if (weights.size() != 4 || in.size() != 4 || out.size() != 4)
    refuse("its weights, input and output have {}, {} and {} dimensions, expected 4", weights.size(),
           in.size(), out.size());
  if (in[0] != out[0] || weights[0] != out[3] || weights[3] != in[3])
    refuse("its batches or channels do not agree");
  const bool is_same = is_padding_same(operands);
  return {
      .height = window_of(
          out[1], in[1],
          {.taps = weights[1], .stride = operands.integer("stride_h"), .dilation = 1, .is_same = is_same}),
      .width = window_of(
          out[2], in[2],
          {.taps = weights[2], .stride = operands.integer("stride_w"), .dilation = 1, .is_same = is_same}),
      .batches = in[0],
      .in_channels = in[3],
      .out_channels = out[3]};
}

namespace {

/// Calls `add` with the indices of each output, and of each input and weight whose product is part of it.
template <typename Add>
void spread(const Spread& it, const Add& add) {
  for (std::int64_t in = 0; in < it.batches * it.height.out * it.width.out * it.in_channels; ++in) {
    const std::int64_t channel = in % it.in_channels;
    const std::int64_t x = in / it.in_channels % it.width.out;
    const std::int64_t y = in / (it.in_channels * it.width.out) % it.height.out;
    const std::int64_t batch = in / (it.in_channels * it.width.out * it.height.out);
    for (std::int64_t tap = 0; tap < it.height.taps * it.width.taps; ++tap) {
      const std::int64_t out_y = it.height.place(y, tap / it.width.taps);
      const std::int64_t out_x = it.width.place(x, tap % it.width.taps);
      if (!it.height.has(out_y) || !it.width.has(out_x)) continue;
      const std::int64_t out = ((batch * it.height.in + out_y) * it.width.in + out_x) * it.out_channels;
      for (std::int64_t c = 0; c < it.out_channels; ++c)
        add(out + c, in, (c * it.height.taps * it.width.taps + tap) * it.in_channels + channel);
    }
  }
}

Kernel real_spread(const Operands& operands, const Spread& it, const LayerPlaces& places) {
  expect_bias(operands, places.bias, DType::float32, it.out_channels);
  return {.run = [it, places, limits = real_activation_limits(operands)](const Pointers& at) {
    auto* const output = at.output<float>(0);
    std::fill_n(output, it.outputs(), 0.0F);
    spread(it, [&](std::int64_t out, std::int64_t in, std::int64_t weight) {
      output[out] += at.input<float>(places.data)[in] * at.input<float>(1)[weight];
    });
    const auto* const bias = at.input<float>(places.bias);
    for (std::int64_t i = 0; i < it.outputs(); ++i)
      output[i] = limits.clamp(output[i] + (bias == nullptr ? 0.0F : bias[i % it.out_channels]));
  }};
}

template <typename Number, typename Weight, typename Sum>
Kernel integer_spread(const Operands& operands, const Spread& it, const LayerPlaces& places,
                      const Requantization& quantization) {
  expect_bias(operands, places.bias, bias_type<Sum>, it.out_channels);
  const auto run = [it, places, quantization](const Pointers& at) {
    auto* const sums = reinterpret_cast<Sum*>(at.scratch);
    std::fill_n(sums, it.outputs(), Sum{0});
    spread(it, [&](std::int64_t out, std::int64_t in, std::int64_t weight) {
      const std::int32_t number = at.input<Number>(places.data)[in] - quantization.input_zero;
      sums[out] = sum_of<Sum>(sums[out], number * (at.input<Weight>(1)[weight] - quantization.weights_zero));
    });
    const auto* const bias = at.input<Sum>(places.bias);
    for (std::int64_t i = 0; i < it.outputs(); ++i) {
      const std::int64_t channel = i % it.out_channels;
      at.output<Number>(0)[i] = quantization.apply<Number>(
          bias == nullptr ? sums[i] : sum_of<Sum>(sums[i], bias[channel]), static_cast<std::size_t>(channel));
    }
  };
  return {.run = run, .scratch = it.outputs() * static_cast<Bytes>(sizeof(Sum))};
}

Kernel quantized_spread(const Operands& operands, const Spread& it, const LayerPlaces& places) {
  Requantization quantization =
      requantization_of(operands, operands.input(places.data), operands.input(1), it.out_channels, 0);
  expect_kind_of_weights(operands, quantization, places);
  return for_integer_layer(operands, places, [&]<typename Number, typename Weight, typename Sum>() {
    return integer_spread<Number, Weight, Sum>(operands, it, places, quantization);
  });
}

Kernel prepare_transpose_conv(const Signature& signature) {
  const Operands operands(signature);
  const LayerPlaces places = spread_places(signature.type);
  operands.expect_alike(places.data);
  const Spread it = spread_of(operands, places);
  if (operands.output().dtype == DType::float32) {
    operands.expect_alike(1);
    return real_spread(operands, it, places);
  }
  if (signature.type != "TRANSPOSE_CONV" || !is_integer_layer(operands, places)) refuse_type(operands);
  return quantized_spread(operands, it, places);
}

}  // namespace

TablePart transpose_conv_kernels() {
  return {{"Convolution2DTransposeBias", prepare_transpose_conv}, {"TRANSPOSE_CONV", prepare_transpose_conv}};
}

}  // namespace stowage::kernels
