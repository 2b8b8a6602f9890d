// CONV_2D and DEPTHWISE_CONV_2D of int8, uint8, int16 and float32, with dilation and fused activations, CONV_2D also in
// groups.
//
// Gathers the inputs under the window of each output place, 0 in the padding. For integers, each output
// channel is then a dot product of two contiguous runs. For float32, channels are summed side by side, so
// that each sums in the order of the window and the compiler can vectorize a loop over channels. Depthwise,
// the loop over channels is the innermost one of the data.
//
// Where the input is float32 and the weights are int8 (dynamic-range quantization), each image is rounded to 8 bits
// with a scale of its own; sums of products are integers. That is what LiteRT computes: DEPTHWISE_CONV_2D with a zero
// point, CONV_2D if each channel of the weights has a scale.
//
// Cost: output elements * taps * input channels of a group. Source: the TensorFlow Lite 8-bit quantization
// specification; order of sums as in TensorFlow Lite's reference kernels.

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "kernels/rows.h"
#include "kernels/tflite/channels.h"
#include "kernels/tflite/families.h"
#include "kernels/tflite/hybrid.h"
#include "kernels/tflite/window.h"

namespace stowage::kernels {
namespace {

struct Convolution {
  Window height{};
  Window width{};
  std::int64_t batches = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t groups = 1;

  [[nodiscard]] std::int64_t group_inputs() const { return in_channels / groups; }
  [[nodiscard]] std::int64_t group_outputs() const { return out_channels / groups; }
  [[nodiscard]] std::int64_t taps() const { return height.taps * width.taps; }

  /// Calls `use` with the index of each tap that is not in the padding, and the element under it.
  template <typename Element, typename Use>
  void for_taps(const RowPointers& at, std::int64_t batch, std::int64_t y, std::int64_t x,
                const Use& use) const {
    for (std::int64_t ky = 0; ky < height.taps; ++ky) {
      const std::int64_t in_y = height.place(y, ky);
      if (!height.has(in_y)) continue;
      const auto* const row = at.input.at<Element>(in_y, batch);
      for (std::int64_t kx = 0; kx < width.taps; ++kx) {
        const std::int64_t in_x = width.place(x, kx);
        if (width.has(in_x)) use(ky * width.taps + kx, row + in_x * in_channels);
      }
    }
  }

  /// Calls `use` with each output place, and its first element.
  template <typename Element, typename Use>
  void for_places(const RowPointers& at, const Use& use) const {
    for (std::int64_t b = 0; b < batches; ++b)
      for (std::int64_t y = at.begin; y < at.end; ++y) {
        auto* out = at.output.at<Element>(y, b);
        for (std::int64_t x = 0; x < width.out; ++x, out += out_channels) use(b, y, x, out);
      }
  }

  /// The kernel with these `run_rows`.
  [[nodiscard]] Kernel kernel(std::size_t element, std::function<void(const RowPointers&)> run_rows,
                              Bytes scratch) const {
    const auto bytes = static_cast<std::int64_t>(element);
    return kernel_by_rows(
        {.batches = batches, .rows = height.in, .row = width.in * in_channels, .element = bytes},
        {.batches = batches, .rows = height.out, .row = width.out * out_channels, .element = bytes},
        std::move(run_rows), scratch);
  }
};

Convolution convolution_of(const Operands& operands, const Argument& input, const Argument& weights,
                           const Argument& output) {
  if (input.shape.size() != 4 || weights.shape.size() != 4 || output.shape.size() != 4)
    refuse("its input, weights and output have {}, {} and {} dimensions, expected 4", input.shape.size(),
           weights.shape.size(), output.shape.size());
  if (input.shape[0] != output.shape[0])
    refuse("its input has {} batches, its output {}", input.shape[0], output.shape[0]);
  const bool is_same = is_padding_same(operands);
  Convolution result{
      .batches = input.shape[0], .in_channels = input.shape[3], .out_channels = output.shape[3]};
  result.height = window_of(input.shape[1], output.shape[1],
                            {.taps = weights.shape[1],
                             .stride = operands.integer("stride_h"),
                             .dilation = operands.integer("dilation_h_factor", 1),
                             .is_same = is_same});
  result.width = window_of(input.shape[2], output.shape[2],
                           {.taps = weights.shape[2],
                            .stride = operands.integer("stride_w"),
                            .dilation = operands.integer("dilation_w_factor", 1),
                            .is_same = is_same});
  return result;
}

/// Refuses weights that do not fit, and computes the groups.
void expect_weights(Convolution& it, const Argument& weights) {
  const std::int64_t inputs = weights.shape[3];
  if (weights.shape[0] != it.out_channels)
    refuse("its weights are for {} output channels, expected {}", weights.shape[0], it.out_channels);
  if (inputs < 1 || it.in_channels % inputs != 0)
    refuse("its weights are for {} input channels, expected a divisor of {}", inputs, it.in_channels);
  it.groups = std::max<std::int64_t>(it.in_channels / inputs, 1);
  if (it.in_channels == 0 || it.out_channels % it.groups != 0)
    refuse("{} groups do not divide {} output channels", it.groups, it.out_channels);
}

/// The numbers under a window, minus the zero point; 0 in the padding.
template <typename Number>
void gather(const Convolution& it, const RowPointers& at, std::int32_t zero, std::int64_t group,
            std::int64_t taps_per_place, std::int16_t* window, std::int64_t b, std::int64_t y,
            std::int64_t x) {
  const std::int64_t channels = it.group_inputs();
  std::fill_n(window, taps_per_place, std::int16_t{0});
  it.for_taps<Number>(at, b, y, x, [&](std::int64_t tap, const Number* in) {
    const Number* const from = in + group * channels;
    std::int16_t* const to = window + tap * channels;
    for (std::int64_t c = 0; c < channels; ++c) to[c] = static_cast<std::int16_t>(from[c] - zero);
  });
}

template <typename Number, typename Weight, typename Sum>
Kernel integer_convolution(const Operands& operands, Convolution it, Requantization quantization) {
  expect_bias(operands, 2, bias_type<Sum>, it.out_channels);
  const std::int64_t size = it.taps() * it.group_inputs();  // of a window
  const auto run = [it, quantization = std::move(quantization), size](const RowPointers& at) {
    const auto* const weights = at.whole.input<Weight>(1);
    const auto* const bias = at.whole.input<Sum>(2);
    auto* const window = reinterpret_cast<std::int16_t*>(at.whole.scratch);
    it.for_places<Number>(at, [&](std::int64_t b, std::int64_t y, std::int64_t x, Number* out) {
      for (std::int64_t g = 0; g < it.groups; ++g) {
        gather<Number>(it, at, quantization.input_zero, g, size, window, b, y, x);
        // sum x (w - z) = sum x w - z sum x
        const std::int32_t excess =
            wrapping_multiply(quantization.weights_zero == 0
                                  ? 0
                                  : static_cast<std::int32_t>(std::accumulate(window, window + size, 0)),
                              -quantization.weights_zero);
        for (std::int64_t i = 0; i < it.group_outputs(); ++i) {
          const std::int64_t c = g * it.group_outputs() + i;
          const Sum sum = sum_of<Sum>(dot<Sum>(window, weights + c * size, size), excess);
          out[c] = quantization.apply<Number>(bias == nullptr ? sum : sum_of<Sum>(sum, bias[c]),
                                              static_cast<std::size_t>(c));
        }
      }
    });
  };
  return it.kernel(sizeof(Number), run, size * static_cast<Bytes>(sizeof(std::int16_t)));
}

Kernel float_convolution(const Operands& operands, Convolution it) {
  expect_bias(operands, 2, DType::float32, it.out_channels);
  const RealLimits limits = real_activation_limits(operands);
  const std::int64_t size = it.taps() * it.group_inputs();
  const auto run = [it, limits, size](const RowPointers& at) {
    const auto* const given = at.whole.input<float>(1);
    const auto* const bias = at.whole.input<float>(2);
    const std::int64_t outputs = it.group_outputs();
    auto* const sums = reinterpret_cast<float*>(at.whole.scratch);
    float* const weights = sums + outputs;  // of each group, output channels innermost
    for (std::int64_t c = 0; c < it.out_channels; ++c)
      for (std::int64_t k = 0; k < size; ++k)
        weights[(c / outputs * size + k) * outputs + c % outputs] = given[c * size + k];
    it.for_places<float>(at, [&](std::int64_t b, std::int64_t y, std::int64_t x, float* out) {
      for (std::int64_t g = 0; g < it.groups; ++g) {
        std::fill_n(sums, outputs, 0.0F);
        it.for_taps<float>(at, b, y, x, [&](std::int64_t tap, const float* in) {
          for (std::int64_t k = 0; k < it.group_inputs(); ++k) {
            const float number = in[g * it.group_inputs() + k];
            const float* const row = weights + (g * size + tap * it.group_inputs() + k) * outputs;
            for (std::int64_t c = 0; c < outputs; ++c) sums[c] += number * row[c];
          }
        });
        for (std::int64_t c = 0; c < outputs; ++c) {
          const std::int64_t channel = g * outputs + c;
          out[channel] = limits.clamp(sums[c] + (bias == nullptr ? 0.0F : bias[channel]));
        }
      }
    });
  };
  const Bytes scratch = (it.group_outputs() + it.out_channels * size) * static_cast<Bytes>(sizeof(float));
  return it.kernel(sizeof(float), run, scratch);
}

/// `sum` accumulates each output channel; `multiplier` of them belong to one input channel.
template <typename Element, typename Weight, typename Sum, typename Add>
void add_depthwise(const Convolution& it, std::int64_t multiplier, const RowPointers& at, Sum* sums,
                   std::int64_t b, std::int64_t y, std::int64_t x, const Add& add) {
  const auto* const weights = at.whole.input<Weight>(1);
  std::fill_n(sums, it.out_channels, Sum{0});
  it.for_taps<Element>(at, b, y, x, [&](std::int64_t tap, const Element* from) {
    const Weight* const row = weights + tap * it.out_channels;
    if (multiplier == 1) {
      for (std::int64_t c = 0; c < it.out_channels; ++c) sums[c] = add(sums[c], from[c], row[c]);
    } else {
      for (std::int64_t c = 0; c < it.out_channels; ++c) sums[c] = add(sums[c], from[c / multiplier], row[c]);
    }
  });
}

template <typename Number, typename Weight, typename Sum>
Kernel integer_depthwise(const Operands& operands, Convolution it, std::int64_t multiplier,
                         Requantization quantization) {
  expect_bias(operands, 2, bias_type<Sum>, it.out_channels);
  const auto run = [it, multiplier, quantization = std::move(quantization)](const RowPointers& at) {
    const auto* const bias = at.whole.input<Sum>(2);
    auto* const sums = reinterpret_cast<Sum*>(at.whole.scratch);
    const auto add = [zero = quantization.input_zero, weights_zero = quantization.weights_zero](
                         Sum sum, Number number, Weight weight) {
      return sum_of<Sum>(sum, (number - zero) * (weight - weights_zero));
    };
    it.for_places<Number>(at, [&](std::int64_t b, std::int64_t y, std::int64_t x, Number* out) {
      add_depthwise<Number, Weight>(it, multiplier, at, sums, b, y, x, add);
      for (std::int64_t c = 0; c < it.out_channels; ++c)
        out[c] = quantization.apply<Number>(bias == nullptr ? sums[c] : sum_of<Sum>(sums[c], bias[c]),
                                            static_cast<std::size_t>(c));
    });
  };
  return it.kernel(sizeof(Number), run, it.out_channels * static_cast<Bytes>(sizeof(Sum)));
}

Kernel float_depthwise(const Operands& operands, Convolution it, std::int64_t multiplier) {
  expect_bias(operands, 2, DType::float32, it.out_channels);
  const auto run = [it, multiplier, limits = real_activation_limits(operands)](const RowPointers& at) {
    const auto* const bias = at.whole.input<float>(2);
    auto* const sums = reinterpret_cast<float*>(at.whole.scratch);
    const auto add = [](float sum, float number, float weight) { return sum + number * weight; };
    it.for_places<float>(at, [&](std::int64_t b, std::int64_t y, std::int64_t x, float* out) {
      add_depthwise<float, float>(it, multiplier, at, sums, b, y, x, add);
      for (std::int64_t c = 0; c < it.out_channels; ++c)
        out[c] = limits.clamp(sums[c] + (bias == nullptr ? 0.0F : bias[c]));
    });
  };
  return it.kernel(sizeof(float), run, it.out_channels * static_cast<Bytes>(sizeof(float)));
}

/// The weights of a channel, and those under a tap, are so many elements apart; those of input channels follow each
/// other.
struct HybridWeights {
  std::int64_t channel_step = 0;
  std::int64_t tap_step = 0;
  std::vector<float> scales{};  ///< One for each output channel.
  bool has_zero_point = false;  ///< Images are rounded with one.
};

/// An image as bytes without their zero point, in scratch memory. Returns their scale.
float round_image(const Pointers& at, std::int64_t index, std::int64_t size, bool has_zero_point) {
  const std::span<const float> image(at.input<float>(0) + index * size, static_cast<std::size_t>(size));
  const ByteScale by = byte_scale_of(image, has_zero_point);
  std::ranges::transform(image, reinterpret_cast<std::int16_t*>(at.scratch),
                         [&](float x) { return by.without_zero(x); });
  return by.scale;
}

Kernel hybrid_convolution(const Operands& operands, Convolution it, const HybridWeights& weights) {
  expect_bias(operands, 2, DType::float32, it.out_channels);
  const std::int64_t images = std::exchange(it.batches, 1);
  const Image in{.rows = it.height.in, .row = it.width.in * it.in_channels, .element = sizeof(std::int16_t)};
  const Image out{.rows = it.height.out, .row = it.width.out * it.out_channels, .element = sizeof(float)};
  const auto convolve = [=, limits = real_activation_limits(operands)](const Pointers& at, std::byte* image,
                                                                       float scale) {
    const auto from = rows_of(in, static_cast<const std::byte*>(at.scratch));
    const auto to = rows_of(out, image);
    const RowPointers rows{.input = from, .output = to, .begin = 0, .end = out.rows, .whole = at};
    const auto* const data = at.input<std::int8_t>(1);
    const auto* const bias = at.input<float>(2);
    std::vector<std::int32_t> sums(static_cast<std::size_t>(it.out_channels));
    it.for_places<float>(rows, [&](std::int64_t b, std::int64_t y, std::int64_t x, float* output) {
      std::ranges::fill(sums, 0);
      it.for_taps<std::int16_t>(rows, b, y, x, [&](std::int64_t tap, const std::int16_t* numbers) {
        for (std::int64_t c = 0; c < it.out_channels; ++c) {
          const std::int16_t* const own = numbers + c / it.group_outputs() * it.group_inputs();
          std::int32_t& sum = sums[static_cast<std::size_t>(c)];
          const std::int8_t* const taken = data + c * weights.channel_step + tap * weights.tap_step;
          sum = sum_of<std::int32_t>(sum, dot(own, taken, it.group_inputs()));
        }
      });
      for (std::int64_t c = 0; c < it.out_channels; ++c) {
        const auto i = static_cast<std::size_t>(c);
        const float real = static_cast<float>(sums[i]) * weights.scales[i] * scale;
        output[c] = limits.clamp(real + (bias == nullptr ? 0.0F : bias[c]));
      }
    });
  };
  const auto run = [=](const Pointers& at) {
    for (std::int64_t b = 0; b < images; ++b) {
      const float scale = round_image(at, b, in.rows * in.row, weights.has_zero_point);
      convolve(at, at.outputs[0] + b * out.rows * out.row * out.element, scale);
    }
  };
  return {.run = run, .scratch = in.rows * in.row * in.element};
}

enum class Precision : std::uint8_t { integer, real_input, float32 };

Precision precision_of(const Operands& operands) {
  const DType input = operands.input(0).dtype;
  const DType weights = operands.input(1).dtype;
  if (is_integer_layer(operands)) return Precision::integer;
  if (input == DType::float32 && operands.output().dtype == input) {
    if (weights == input) return Precision::float32;
    if (weights == DType::int8) return Precision::real_input;
  }
  refuse("input {}, weights {} and output {} are not supported", name_of(input), name_of(weights),
         name_of(operands.output().dtype));
}

Kernel prepare_conv_2d(const Signature& signature) {
  const Operands operands(signature);
  const Argument& input = operands.input(0);
  const Argument& weights = operands.input(1);
  const Precision precision = precision_of(operands);
  Convolution it = convolution_of(operands, input, weights, operands.output());
  expect_weights(it, weights);
  if (precision == Precision::float32) return float_convolution(operands, it);
  if (precision == Precision::real_input) {
    const std::int64_t size = it.taps() * it.group_inputs();
    return hybrid_convolution(operands, it,
                              {.channel_step = size,
                               .tap_step = it.group_inputs(),
                               .scales = symmetric_scales_of(weights, it.out_channels, 0),
                               .has_zero_point = rounds_with_zero_point(operands)});
  }
  Requantization quantization = requantization_of(operands, input, weights, it.out_channels, 0);
  expect_kind_of_weights(operands, quantization);
  return for_integer_layer(operands, {}, [&]<typename Number, typename Weight, typename Sum>() {
    return integer_convolution<Number, Weight, Sum>(operands, it, quantization);
  });
}

Kernel prepare_depthwise_conv_2d(const Signature& signature) {
  const Operands operands(signature);
  const Argument& input = operands.input(0);
  const Argument& weights = operands.input(1);
  const Precision precision = precision_of(operands);
  Convolution it = convolution_of(operands, input, weights, operands.output());
  if (weights.shape[0] != 1 || weights.shape[3] != it.out_channels)
    refuse("its weights are for {} times {} channels, expected 1 times {}", weights.shape[0],
           weights.shape[3], it.out_channels);
  if (it.in_channels < 1 || it.out_channels % it.in_channels != 0)
    refuse("{} input channels do not divide {} output channels", it.in_channels, it.out_channels);
  const std::int64_t multiplier = it.out_channels / it.in_channels;
  if (precision == Precision::real_input) {
    it.groups = it.in_channels;
    return hybrid_convolution(operands, it,
                              {.channel_step = 1,
                               .tap_step = it.out_channels,
                               .scales = symmetric_scales_of(weights, it.out_channels, 3),
                               .has_zero_point = rounds_with_zero_point(operands)});
  }
  if (precision == Precision::float32) return float_depthwise(operands, it, multiplier);
  Requantization quantization = requantization_of(operands, input, weights, it.out_channels, 3);
  expect_kind_of_weights(operands, quantization);
  return for_integer_layer(operands, {}, [&]<typename Number, typename Weight, typename Sum>() {
    return integer_depthwise<Number, Weight, Sum>(operands, it, multiplier, quantization);
  });
}

}  // namespace

TablePart convolution_kernels() {
  return {{"CONV_2D", prepare_conv_2d}, {"DEPTHWISE_CONV_2D", prepare_depthwise_conv_2d}};
}

}  // namespace stowage::kernels
