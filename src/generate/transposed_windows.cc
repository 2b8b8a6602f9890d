// Transposed convolutions of TFLite. A row of the output is made of those rows of the input whose window covers it, so
// these operators run by rows as others do that move windows.

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "generate/images.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/tflite/channels.h"
#include "kernels/tflite/transpose_conv.h"

namespace stowage::generate {

using kernels::Operands;
using kernels::refuse;

TransposedRows transposed_rows(const kernels::Window& height, std::string_view y) {
  if (height.before < 0) refuse("its padding is {}, expected 0 or more", height.before);
  const std::int64_t rows = ((height.taps - 1) * height.dilation) / height.stride + 1;
  return {.first = fmt::format("({} + {}) / {} - {}", y, height.before, height.stride, rows - 1),
          .phase =
              fmt::format("({} + {}) % {} + {}", y, height.before, height.stride, (rows - 1) * height.stride),
          .window = {.in = height.in, .taps = rows}};
}

namespace {

/// The bias as the model has it: the kernel subtracts the input's zero point itself.
std::vector<std::int32_t> plain_bias(Writer& writer, std::size_t input, std::int64_t channels) {
  std::vector<std::int32_t> bias(static_cast<std::size_t>(channels), 0);
  if (writer.signature().has_input(input))
    std::memcpy(bias.data(), constant_data(writer, input).data(), bias.size() * sizeof(std::int32_t));
  return bias;
}

void emit_transposed(Writer& writer) {
  constexpr std::size_t lines = 1;
  const Operands operands(writer.signature());
  const kernels::LayerPlaces places = kernels::spread_places(writer.op().type);
  const kernels::Spread spread = kernels::spread_of(operands, places);
  if (writer.axis() != nullptr && writer.axis()->axis != lines)
    refuse("it runs by rows along axis {}, expected {}", writer.axis()->axis, lines);
  if (spread.batches != 1) refuse("it has a batch of {}, expected 1", spread.batches);
  static_cast<void>(constant_data(writer, 1));
  Windows it{.height = spread.height,
             .width = spread.width,
             .in_channels = spread.in_channels,
             .out_channels = spread.out_channels};
  std::swap(it.height.in, it.height.out);  // the window moves over the output
  std::swap(it.width.in, it.width.out);
  static_cast<void>(
      kernels::prepare(writer.signature(), KernelSet::plain));  // refuses what it cannot compute
  std::string suffix(suffix_of(operands.output().dtype));
  std::string layer;
  if (operands.output().dtype == DType::float32) {
    layer = real_layer(writer, operands, it, 1, stored_weights(writer), places.bias);
  } else {
    kernels::Requantization to = kernels::requantization_of(operands, operands.input(places.data),
                                                            operands.input(1), spread.out_channels, 0);
    if (operands.output().dtype == DType::int8) {
      layer = integer_layer(writer, it, 1, to, plain_bias(writer, places.bias, spread.out_channels),
                            stored_weights(writer), places.bias);
    } else {
      kernels::expect_kind_of_weights(operands, to, places);
      suffix = suffix_of_layer(operands, places);
      layer = other_layer(writer, it, 1, to, stored_weights(writer), places.bias);
    }
  }
  writer.need(suffix == "f32" || suffix == "s8" ? "stowage_transposed_" + suffix : "stowage_layer_" + suffix);
  writer.loop_over(it.height.out);
  const TransposedRows rows = transposed_rows(it.height, "y");
  writer.window(places.data, lines, rows.first, rows.window);
  writer.line(fmt::format("stowage_transposed_{}(&{}, {}, rows, {}, {});", suffix, layer, it.height.stride,
                          rows.phase, writer.output_row(lines, "y").at));
}

}  // namespace

EmitPart transposed_operators() {
  return {{"TRANSPOSE_CONV", emit_transposed, RowHandling::own},
          {"Convolution2DTransposeBias", emit_transposed, RowHandling::own}};
}

}  // namespace stowage::generate
