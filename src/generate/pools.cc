// AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D. A pool over all rows may sum them up as they come.

#include <fmt/format.h>

#include <limits>

#include "generate/text.h"
#include "generate/windows.h"
#include "kernels/tflite/channels.h"

namespace stowage::generate {

using kernels::Operands;
using kernels::refuse;

Windows pool_windows(const Operands& operands) {
  const Shape& in = operands.input(0).shape;
  const Shape& out = operands.output().shape;
  operands.expect_alike(0);
  expect_images(in);
  const bool is_same = kernels::is_padding_same(operands);
  const auto window = [&](std::size_t d, const char* filter, const char* stride) {
    return kernels::window_of(
        in[d], out[d],
        {.taps = operands.integer(filter), .stride = operands.integer(stride), .is_same = is_same});
  };
  return {.batches = in[0],
          .height = window(1, "filter_height", "stride_h"),
          .width = window(2, "filter_width", "stride_w"),
          .in_channels = in[3],
          .out_channels = out[3]};
}

namespace {

/// Steps over rows of the input: starts the sums, adds rows, and finishes after the last one.
void pool_in_steps(Writer& writer, const Windows& it, const std::string& kernel, const std::string& layer,
                   std::string_view suffix, std::string_view start) {
  if (it.batches != 1) refuse("it sums up {} images in steps", it.batches);
  const Sums& sums = *writer.kind().sums;
  const Plan& plan = writer.sources().plan();
  const Bytes at = plan.places[sums.buffer].offset + sums.offset;
  const std::string sum = suffix == "f32" ? "float" : "int32_t";
  if (at % 4 != 0) refuse("its sums are at {} of their memory, expected a multiple of 4", at);
  writer.loop_over(it.height.in);
  writer.declare(fmt::format("{0} *const sums = ({0} *)(void *)(memory[{1}] + {2});", sum,
                             plan.places[sums.buffer].memory, at));
  writer.declare("int32_t i;");
  writer.line(
      fmt::format("for (i = 0; y == 0 && i < {}; i++) sums[i] = {};", it.width.out * it.in_channels, start));
  writer.line(fmt::format("stowage_{}_add_{}(&{}, {}, sums);", kernel, suffix, layer,
                          writer.input_row(0, 1, "y").at));
  writer.line(fmt::format("if (y == {}) stowage_{}_end_{}(&{}, {}, sums, {});", it.height.in - 1, kernel,
                          suffix, layer, it.height.in, writer.output().at));
}

std::string real_layer(Writer& writer, const Operands& operands, const Windows& it) {
  const kernels::RealLimits limits = kernels::real_activation_limits(operands);
  return writer.layer("stowage_pool_f32_layer", fmt::format("{}{}, {}, /* limits */\n", shape_of(it),
                                                            literal(limits.least), literal(limits.most)));
}

void emit_root_pool(Writer& writer) {
  const Operands operands(writer.signature());
  const Windows it = turned(writer, pool_windows(operands));
  if (!is_real(operands)) kernels::refuse_type(operands);
  if (it.is_columns) refuse("it runs column by column");
  if (writer.kind().sums) refuse("it sums up its rows in steps");
  writer.need("stowage_l2_pool_f32");
  call_with_rows(writer, it, "l2_pool_f32", real_layer(writer, operands, it));
}

template <bool is_average>
void emit_pool(Writer& writer) {
  const Operands operands(writer.signature());
  const Windows it = turned(writer, pool_windows(operands));
  const bool real = is_real(operands);
  const std::string kernel = is_average ? "average_pool" : "max_pool";
  std::string layer;
  if (real) {
    layer = real_layer(writer, operands, it);
  } else {
    kernels::expect_same_quantization(operands.input(0), operands.output());
    const kernels::Limits limits =
        kernels::activation_limits(operands, kernels::limits_of(operands.output().dtype));
    layer = writer.layer("stowage_pool_layer",
                         fmt::format("{}{}, {}, /* limits */\n", shape_of(it), limits.least, limits.most));
  }
  const bool is_ordered = real && is_average && it.is_columns;  // its sums go line by line
  const std::string suffix(suffix_of(operands.output().dtype));
  writer.need(is_ordered ? "stowage_columns_f32" : "stowage_pool_" + suffix);
  if (writer.kind().sums) {
    const std::string least = real ? literal(std::numeric_limits<float>::lowest())
                                   : std::to_string(kernels::limits_of(operands.output().dtype).least);
    pool_in_steps(writer, it, kernel, layer, suffix, is_average ? (real ? "0.0F" : "0") : least);
  } else {
    call_with_rows(writer, it, kernel + (is_ordered ? "_columns_" : "_") + suffix, layer);
  }
}

}  // namespace

EmitPart pool_operators() {
  return {{"AVERAGE_POOL_2D", emit_pool<true>, RowHandling::own},
          {"L2_POOL_2D", emit_root_pool, RowHandling::own},
          {"MAX_POOL_2D", emit_pool<false>, RowHandling::own}};
}

}  // namespace stowage::generate
