// Convolutions, and fully connected layers, which are a convolution with one
// window. Their kernels get a table with a pointer for each row under the window.

#include "generate/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/tflite/channels.h"
#include "kernels/tflite/window.h"

namespace stowage::generate {

using kernels::Argument;
using kernels::Operands;
using kernels::refuse;
using kernels::Requantization;
using kernels::Window;
using kernels::WindowOptions;

std::span<const std::byte> constant_data(Writer& writer, std::size_t input) {
  if (!writer.signature().has_input(input)) refuse("its input {} is left out", input);
  const TensorId tensor = *writer.op().inputs[input];
  if (!writer.sources().is_constant(tensor)) refuse("its input {} is not constant", input);
  return writer.sources().program().constants[tensor];
}

std::string stored_weights(Writer& writer) {
  return writer.stores(
      1, "weights",
      writer.sources().constant(writer.op().inputs.at(1).value(), "weights_" + writer.number()));
}

bool is_real(const Operands& operands) {
  const DType in = operands.input(0).dtype;
  const bool is_integer = in == DType::int8 || in == DType::uint8 || in == DType::int16;
  if (in != operands.output().dtype || (!is_integer && in != DType::float32))
    refuse("{} to {} is not supported", name_of(in), name_of(operands.output().dtype));
  return in == DType::float32;
}

namespace {

/// Weights [outer][high][wide][inner] as [outer][wide][high][inner], for columns.
std::string turned_weights(Writer& writer, const Windows& it, std::int64_t outer) {
  const auto data = constant_data(writer, 1);
  const auto taps = static_cast<std::size_t>(it.height.taps * it.width.taps);
  const std::size_t inner = data.size() / taps / static_cast<std::size_t>(outer);
  const auto wide = static_cast<std::size_t>(it.height.taps);  // they have changed places
  std::vector<std::byte> result;
  result.reserve(data.size());
  for (std::size_t o = 0; o < static_cast<std::size_t>(outer); ++o)
    for (std::size_t t = 0; t < taps; ++t) {
      const std::size_t high = t % (taps / wide);
      const std::size_t from = (o * taps + high * wide + t / (taps / wide)) * inner;
      result.insert(result.end(), data.begin() + static_cast<std::ptrdiff_t>(from),
                    data.begin() + static_cast<std::ptrdiff_t>(from + inner));
    }
  return writer.stores(1, "weights",
                       writer.sources().array("weights_" + writer.number(),
                                              "weights of operator " + writer.number() + ", turned",
                                              writer.signature().inputs[1]->dtype, std::move(result)));
}

}  // namespace

// Convolutions

Windows convolution_windows(const Operands& operands) {
  const Shape& in = operands.input(0).shape;
  const Shape& out = operands.output().shape;
  const Shape& weights = operands.input(1).shape;
  expect_images(in);
  const bool is_same = kernels::is_padding_same(operands);
  const auto window = [&](std::size_t d, const char* stride, const char* dilation) {
    return kernels::window_of(in[d], out[d],
                              {.taps = weights.at(d),
                               .stride = operands.integer(stride),
                               .dilation = operands.integer(dilation, 1),
                               .is_same = is_same});
  };
  return {.batches = in[0],
          .height = window(1, "stride_h", "dilation_h_factor"),
          .width = window(2, "stride_w", "dilation_w_factor"),
          .in_channels = in[3],
          .out_channels = out[3]};
}

namespace {

/// The bias minus the input's zero point times the weights of each channel. `channel_of(i)` is that of weight i.
template <typename ChannelOf>
std::vector<std::int32_t> folded_bias(Writer& writer, std::int64_t channels, std::int32_t input_zero,
                                      const ChannelOf& channel_of) {
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(channels), 0);
  const auto weights = constant_data(writer, 1);
  for (std::size_t i = 0; i < weights.size(); ++i)
    sums[channel_of(i)] += static_cast<std::uint32_t>(static_cast<std::int8_t>(weights[i]));
  std::vector<std::int32_t> bias(sums.size(), 0);
  if (writer.signature().has_input(2))
    std::memcpy(bias.data(), constant_data(writer, 2).data(), sums.size() * 4);
  for (std::size_t c = 0; c < sums.size(); ++c)
    bias[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(bias[c]) -
                                        static_cast<std::uint32_t>(input_zero) * sums[c]);
  return bias;
}

/// Weights as the kernel wants them; `outer` is the extent of their first dimension.
std::string weights_for(Writer& writer, const Windows& it, std::int64_t outer) {
  return it.is_columns ? turned_weights(writer, it, outer) : stored_weights(writer);
}

}  // namespace

namespace {

/// The layer of one output channel, if the plan computes channel by channel.
Windows one_of(const Writer& writer, Windows it) {
  if (writes_planes(writer)) it.out_channels = 1;
  return it;
}

/// Weights [outer][taps][blocks * inner] as [outer][high][blocks][wide][inner]; none if that changes nothing.
std::optional<std::vector<std::byte>> weights_by_blocks(std::span<const std::byte> data, const Windows& it,
                                                        std::size_t blocks) {
  const auto wide = static_cast<std::size_t>(it.width.taps);
  if (wide == 1) return std::nullopt;
  const std::size_t inner = static_cast<std::size_t>(it.in_channels);
  std::vector<std::byte> result;
  result.reserve(data.size());
  for (std::size_t row = 0; row < data.size(); row += wide * blocks * inner)
    for (std::size_t b = 0; b < blocks; ++b)
      for (std::size_t tap = 0; tap < wide; ++tap) {
        const auto from = data.begin() + static_cast<std::ptrdiff_t>(row + (tap * blocks + b) * inner);
        result.insert(result.end(), from, from + static_cast<std::ptrdiff_t>(inner));
      }
  return result;
}

/// Scales of a convolution whose weights have a channel for each index on `axis`. Refuses what our kernel refuses.
Requantization checked_requantization(Writer& writer, const Operands& operands, const Windows& it,
                                      std::size_t axis) {
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));
  Requantization to =
      kernels::requantization_of(operands, operands.input(0), operands.input(1), it.out_channels, axis);
  kernels::expect_kind_of_weights(operands, to);
  return to;
}

bool is_int8(const Operands& operands) { return operands.output().dtype == DType::int8; }

/// The input is stored in blocks of channels: each is a row under the window.
void emit_conv_of_blocks(Writer& writer, const Operands& operands, const Windows& it,
                         const std::vector<TensorId>& blocks) {
  if (operands.input(1).shape[3] != it.in_channels * static_cast<std::int64_t>(blocks.size()))
    refuse("it reads blocks in groups");
  const bool is_line = it.width.taps == 1;
  if (it.is_columns && (!is_line || it.height.taps != static_cast<std::int64_t>(blocks.size())))
    refuse("it reads blocks by columns");
  if (is_real(operands)) {
    if (!is_line) refuse("it adds real numbers in another order if it reads blocks");
    writer.need("stowage_conv_f32");
    const std::string weights = stored_weights(writer);
    return call_with_blocks(writer, it, blocks, "conv_f32", real_layer(writer, operands, it, 1, weights));
  }
  const Requantization to = checked_requantization(writer, operands, it, 0);
  const auto data = constant_data(writer, 1);
  auto turned = weights_by_blocks(data, it, blocks.size());
  const std::string weights =
      turned ? writer.sources().array("weights_" + writer.number(),
                                      "weights of operator " + writer.number() + ", by blocks",
                                      operands.input(1).dtype, std::move(*turned))
             : stored_weights(writer);
  if (!is_int8(operands)) {
    const std::string suffix = suffix_of_layer(operands);
    writer.need("stowage_layer_" + suffix);
    return call_with_blocks(writer, it, blocks, "conv_" + suffix, other_layer(writer, it, 1, to, weights));
  }
  const std::size_t window = data.size() / static_cast<std::size_t>(it.out_channels);
  const auto bias =
      folded_bias(writer, it.out_channels, to.input_zero, [window](std::size_t i) { return i / window; });
  writer.need("stowage_conv_s8");
  call_with_blocks(writer, it, blocks, "conv_s8", integer_layer(writer, it, 1, to, bias, weights));
}

/// A convolution of uint8 or int16.
void call_other(Writer& writer, const Operands& operands, const Windows& it, std::int64_t groups,
                const Requantization& to, std::string_view kernel, const std::string& weights) {
  const std::string suffix = suffix_of_layer(operands);
  writer.need("stowage_layer_" + suffix);
  call_with_rows(writer, it, fmt::format("{}_{}", kernel, suffix),
                 other_layer(writer, it, groups, to, weights));
}

void emit_conv(Writer& writer) {
  const Operands operands(writer.signature());
  if (is_hybrid_convolution(operands)) return emit_hybrid_convolution(writer);
  const Windows it = turned(writer, convolution_windows(operands));
  const std::int64_t groups =
      std::max<std::int64_t>(it.in_channels / std::max<std::int64_t>(operands.input(1).shape[3], 1), 1);
  if (it.in_channels != groups * operands.input(1).shape[3] || it.out_channels % groups != 0)
    refuse("its weights are for {} input channels of {}", operands.input(1).shape[3], it.in_channels);
  static_cast<void>(constant_data(writer, 1));
  const std::vector<TensorId> blocks = writer.sources().blocks_of(writer.op().inputs.at(0).value());
  if (!blocks.empty()) return emit_conv_of_blocks(writer, operands, over_blocks(writer, it, blocks), blocks);
  const bool planes = has_planes(writer);
  if (planes && groups != 1) refuse("it runs channel by channel in {} groups", groups);
  const std::int64_t window = it.height.taps * it.width.taps * it.in_channels / groups;
  if (is_real(operands)) {
    const std::string kernel = it.is_columns ? "conv_columns_f32" : "conv_f32";
    if (planes) {
      const std::string weights = stored_weights(writer);
      return call_with_planes(writer, it,
                              {.layer = real_layer(writer, operands, one_of(writer, it), groups, weights),
                               .weights = window,
                               .has_bias = operands.has_input(2),
                               .is_real = true});
    }
    writer.need(it.is_columns ? "stowage_columns_f32" : "stowage_conv_f32");
    const std::string weights = stored_weights(writer);
    call_with_rows(writer, it, kernel, real_layer(writer, operands, it, groups, weights));
    return;
  }
  const Requantization to = checked_requantization(writer, operands, it, 0);
  if (!is_int8(operands)) {
    if (planes) refuse("it runs channel by channel with numbers of {}", name_of(operands.output().dtype));
    return call_other(writer, operands, it, groups, to, "conv", weights_for(writer, it, it.out_channels));
  }
  const auto bias = folded_bias(writer, it.out_channels, to.input_zero,
                                [window](std::size_t i) { return i / static_cast<std::size_t>(window); });
  if (planes)
    return call_with_planes(writer, it,
                            {.layer = integer_layer(writer, one_of(writer, it), groups, to, bias,
                                                    weights_for(writer, it, it.out_channels)),
                             .weights = window});
  writer.need("stowage_conv_s8");
  call_with_rows(writer, it, "conv_s8",
                 integer_layer(writer, it, groups, to, bias, weights_for(writer, it, it.out_channels)));
}

/// Channel by channel: a convolution of one channel, with the weights of each channel together.
void emit_depthwise_planes(Writer& writer, const Operands& operands, const Windows& it) {
  if (!is_int8(operands))
    refuse("it runs channel by channel with numbers of {}", name_of(operands.output().dtype));
  const auto channels = static_cast<std::size_t>(it.out_channels);
  const auto weights = constant_data(writer, 1);
  const std::size_t taps = weights.size() / channels;
  std::vector<std::byte> turned(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) turned[i % channels * taps + i / channels] = weights[i];
  const Requantization to =
      kernels::requantization_of(operands, operands.input(0), operands.input(1), it.out_channels, 3);
  kernels::expect_bias(operands, 2, DType::int32, it.out_channels);
  const auto bias =
      folded_bias(writer, it.out_channels, to.input_zero, [channels](std::size_t i) { return i % channels; });
  Windows one = it;
  one.in_channels = one.out_channels = 1;
  const std::string name = writer.sources().array("weights_" + writer.number(),
                                                  "weights of operator " + writer.number() + " by channels",
                                                  DType::int8, std::move(turned));
  call_with_planes(writer, it,
                   {.layer = integer_layer(writer, one, 1, to, bias, name),
                    .weights = static_cast<std::int64_t>(taps),
                    .is_depthwise = true});
}

void emit_depthwise(Writer& writer) {
  const Operands operands(writer.signature());
  if (is_hybrid_convolution(operands)) return emit_hybrid_convolution(writer);
  const Windows it = turned(writer, convolution_windows(operands));
  const auto channels = static_cast<std::size_t>(it.out_channels);
  if (it.in_channels < 1 || it.out_channels % it.in_channels != 0)
    refuse("{} input channels do not divide {} output channels", it.in_channels, it.out_channels);
  static_cast<void>(constant_data(writer, 1));
  if (has_planes(writer)) return emit_depthwise_planes(writer, operands, it);
  if (is_real(operands)) {
    const std::string kernel = it.is_columns ? "depthwise_columns_f32" : "depthwise_f32";
    writer.need(it.is_columns ? "stowage_columns_f32" : "stowage_depthwise_f32");
    const std::string weights = stored_weights(writer);
    call_with_rows(writer, it, kernel, real_layer(writer, operands, it, 1, weights));
    return;
  }
  const Requantization to = checked_requantization(writer, operands, it, 3);
  if (!is_int8(operands))
    return call_other(writer, operands, it, 1, to, "depthwise", weights_for(writer, it, 1));
  const auto bias =
      folded_bias(writer, it.out_channels, to.input_zero, [channels](std::size_t i) { return i % channels; });
  writer.need("stowage_depthwise_s8");
  call_with_rows(writer, it, "depthwise_s8",
                 integer_layer(writer, it, 1, to, bias, weights_for(writer, it, 1)));
}

// Fully connected layers

/// The input as rows: those that it is stored by, if these lie apart.
struct LayerInput {
  std::int64_t rows = 1;
  std::optional<std::size_t> axis{};
};

LayerInput layer_input(Writer& writer) {
  if (writer.axis() != nullptr || writer.sources().is_constant(writer.op().inputs.at(0).value())) return {};
  const Storage storage = writer.storage_of_input(0);
  if (storage.is_contiguous()) return {};
  const std::size_t axis = *storage.axis();
  const Shape& shape = writer.signature().inputs[0]->shape;
  if (kernels::count_of(shape, 0, axis) != 1) refuse("rows of its input along axis {} are apart", axis);
  return {shape[axis], axis};
}

/// Each row of the output is one window; the rows of a matrix are its places side by side.
void emit_fully_connected(Writer& writer) {
  const Operands operands(writer.seen());
  const Shape& weights = operands.input(1).shape;
  if (weights.size() != 2) refuse("its weights have {} dimensions, expected 2", weights.size());
  static_cast<void>(constant_data(writer, 1));
  const std::int64_t numbers = kernels::count_of(operands.input(0).shape);
  const std::int64_t batches = weights[1] == 0 ? 0 : numbers / weights[1];
  if (batches < 1 || numbers != batches * weights[1] ||
      kernels::count_of(operands.output().shape) != batches * weights[0])
    refuse("its input has {} numbers, expected rows of {}", numbers, weights[1]);
  const LayerInput input = layer_input(writer);
  if (input.axis && batches != 1) refuse("rows of its input are apart, and it has {} of them", batches);
  Windows it{.in_channels = weights[1] / input.rows, .out_channels = weights[0]};
  it.height.taps = input.rows;
  it.width = {.in = batches, .out = batches, .taps = 1};
  std::string layer;
  std::string kernel = "conv_" + std::string(suffix_of(operands.output().dtype));
  std::string file;  // that has the kernel, unless it is named after it
  if (is_real(operands) && operands.input(1).dtype == DType::int8) {
    kernel = "hybrid_f32";
    layer = hybrid_layer(writer, operands, batches, input.rows);
  } else if (is_real(operands)) {
    layer = real_layer(writer, operands, it, 1, stored_weights(writer));
  } else {
    static_cast<void>(
        kernels::prepare(writer.signature(), KernelSet::plain));  // refuses what it cannot compute
    Requantization to =
        kernels::requantization_of(operands, operands.input(0), operands.input(1), weights[0], 0);
    kernels::use_single_product(operands, to);
    const std::string stored = weights_for(writer, it, it.out_channels);
    if (is_int8(operands)) {
      const auto length = static_cast<std::size_t>(weights[1]);
      const auto bias =
          folded_bias(writer, weights[0], to.input_zero, [length](std::size_t i) { return i / length; });
      layer = integer_layer(writer, it, 1, to, bias, stored);
    } else {
      const std::string suffix = suffix_of_layer(operands);
      kernel = "conv_" + suffix;
      file = "layer_" + suffix;
      layer = other_layer(writer, it, 1, to, stored);
    }
  }
  writer.need("stowage_" + (file.empty() ? kernel : file));
  if (input.axis) {
    writer.window(0, *input.axis, "0", it.height);
  } else {
    writer.declare("const void *rows[1];");
    writer.line(fmt::format("rows[0] = {};", writer.input(0).at));
  }
  writer.line(fmt::format("stowage_{}(&{}, rows, {});", kernel, layer, writer.output().at));
}

}  // namespace

EmitPart window_operators() {
  return {{"CONV_2D", emit_conv, RowHandling::own},
          {"DEPTHWISE_CONV_2D", emit_depthwise, RowHandling::own},
          {"FULLY_CONNECTED", emit_fully_connected}};
}

}  // namespace stowage::generate
