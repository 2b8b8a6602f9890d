// Calls of kernels that get a pointer for each row under a window. Rows may be lines of an image, its columns, or
// images of a batch, which are whole.

#include <fmt/format.h>

#include <utility>

#include "generate/windows.h"
#include "kernels/operands.h"
#include "kernels/tflite/operands.h"

namespace stowage::generate {

using kernels::refuse;

std::string shape_of(const Windows& it) {
  return fmt::format(
      "\n    {{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}}}, /* {0} places of {1} channels to {2} of {3}; "
      "window {4}x{5}, "
      "stride {6}, dilation {7}, {8} before */\n    ",
      it.width.in, it.in_channels, it.width.out, it.out_channels, it.height.taps, it.width.taps,
      it.width.stride, it.width.dilation, it.width.before);
}

Windows turned(const Writer& writer, Windows it) {
  it.is_columns = writer.axis() != nullptr && writer.axis()->axis == 2;
  if (it.is_columns) std::swap(it.height, it.width);
  return it;
}

bool writes_planes(const Writer& writer) { return writer.axis() != nullptr && writer.axis()->axis == 3; }

bool has_planes(const Writer& writer) {
  if (writes_planes(writer)) return true;
  if (writer.kind().sums || writer.sources().is_constant(writer.op().inputs.at(0).value())) return false;
  const Storage storage = writer.storage_of_input(0);
  return storage.axis() == 3 && !storage.is_contiguous();
}

namespace {

/// The first row under the window of row y.
std::string first_row_text(const Windows& it) {
  const std::string first = it.height.stride == 1 ? "y" : fmt::format("y * {}", it.height.stride);
  return it.height.before > 0 ? fmt::format("{} - {}", first, it.height.before) : first;
}

std::string first_line(const Windows& it) {
  std::string first = it.height.stride == 1 ? "i" : fmt::format("i * {}", it.height.stride);
  return it.height.before > 0 ? fmt::format("{} - {}", first, it.height.before) : first;
}

/// An output channel from its own input channel.
void write_depthwise_plane(Writer& writer, const Windows& it) {
  const std::int64_t multiplier = it.out_channels / it.in_channels;
  const std::string index = multiplier == 1 ? "y" : fmt::format("y / {}", multiplier);
  const Channel in = writer.input_channel(index);
  const Channel out = writer.output_channel("y");
  writer.need("stowage_planes_s8");
  writer.line(fmt::format("for (i = 0; i < {}; i++) {{", it.height.out));
  writer.line(fmt::format("  stowage_depthwise_plane_s8(&one, {}, {}, {}, {}, {}, {}, {} + i * {}, {});",
                          in.at, it.height.in, in.row, in.step, first_line(it), it.height.dilation, out.at,
                          out.row, out.step));
  writer.line("}");
}

/// An output channel from lines of the whole input.
void write_plane(Writer& writer, const Windows& it, const PlaneLayer& layer) {
  const std::string suffix = layer.is_real ? "f32" : "s8";
  writer.declare(fmt::format("stowage_conv_{}_layer one = {};", suffix, layer.layer));
  writer.declare("int32_t i;");
  writer.line(fmt::format("one.weights = {}.weights + y * {};", layer.layer, layer.weights));
  const auto move = [&](std::string_view field) {
    writer.line(fmt::format("one.{0} = {1}.{0} + y;", field, layer.layer));
  };
  if (layer.has_bias) move("bias");
  if (!layer.is_real) {
    move("multiplier");
    move("shift");
  }
  if (layer.is_depthwise) return write_depthwise_plane(writer, it);
  writer.need("stowage_conv_" + suffix);
  writer.line(fmt::format("for (i = 0; i < {}; i++) {{", it.height.out));
  writer.window(0, 1, first_line(it), it.height);
  writer.line(fmt::format("  stowage_conv_{}(&one, rows, {} + i * {});", suffix, writer.output_row(3, "y").at,
                          it.width.out));
  writer.line("}");
}

}  // namespace

void call_with_planes(Writer& writer, const Windows& it, const PlaneLayer& layer) {
  if (it.batches != 1) refuse("it has a batch of {} and runs channel by channel", it.batches);
  if (writes_planes(writer)) return write_plane(writer, it, layer);
  if (layer.is_real || layer.is_depthwise) refuse("it reads channels that are apart");
  if (writer.axis() != nullptr && writer.axis()->axis != 1)
    refuse("it reads channels that are apart by columns");
  writer.need("stowage_planes_s8");
  writer.loop_over(it.height.out);
  writer.line(fmt::format("stowage_conv_planes_s8(&{}, memory, &{}, {}, {}, {}, {});", layer.layer,
                          writer.input_place(0, 3), it.height.in, first_row_text(it), it.height.dilation,
                          writer.output_row(1, "y").at));
}

namespace {

/// Calls a kernel for each image of a batch.
void call_with_images(Writer& writer, const Windows& it, std::string_view kernel, const std::string& layer) {
  const bool is_whole = writer.axis() == nullptr;
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  const std::int64_t in_row = it.width.in * it.in_channels;
  const std::int64_t out_row = it.width.out * it.out_channels;
  const auto element = static_cast<std::int64_t>(kernels::element_size(in.dtype));
  const auto of_image = [&](const Operand& operand, std::int64_t count) {
    return operand.at + (is_whole ? fmt::format(" + y * {}", count) : "");
  };
  writer.loop_over(it.batches);
  writer.need("stowage_window");
  writer.declare(fmt::format("const void *rows[{}];", it.height.taps));
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; i < {}; i++) {{", it.height.out));
  writer.line(fmt::format("  stowage_window_in({}, {}, {}, i * {} - {}, {}, {}, rows);",
                          of_image(in, it.height.in * in_row), in_row * element, it.height.in,
                          it.height.stride, it.height.before, it.height.taps, it.height.dilation));
  writer.line(fmt::format("  stowage_{}(&{}, rows, {} + i * {});", kernel, layer,
                          of_image(out, it.height.out * out_row), out_row));
  writer.line("}");
}

}  // namespace

void call_with_rows(Writer& writer, const Windows& it, std::string_view kernel, const std::string& layer) {
  const std::size_t rows = it.is_columns ? 2 : 1;  // the axis
  const std::size_t axis = writer.axis() == nullptr ? rows : writer.axis()->axis;
  const bool is_whole = writer.axis() == nullptr && writer.storage_of_input(0).is_contiguous();
  if (axis == 0 || (it.batches != 1 && is_whole)) return call_with_images(writer, it, kernel, layer);
  if (axis != rows) refuse("it runs by rows along axis {}, expected 1 or 2", axis);
  writer.loop_over(it.height.out);
  writer.window(0, rows, first_row_text(it), it.height);
  const Operand out = writer.output_row(rows, "y");
  if (it.batches == 1) return writer.line(fmt::format("stowage_{}(&{}, rows, {});", kernel, layer, out.at));
  const auto element = static_cast<std::int64_t>(kernels::element_size(out.dtype));
  writer.need("stowage_window");
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; i < {}; i++) {{", it.batches));
  writer.line(fmt::format("  stowage_{}(&{}, rows, {} + i * {});", kernel, layer, out.at,
                          it.width.out * it.out_channels));
  writer.line(fmt::format("  stowage_advance_rows(rows, {}, {});", it.height.taps,
                          it.width.in * it.in_channels * element));
  writer.line("}");
}

Windows over_blocks(const Writer& writer, Windows it, const std::vector<TensorId>& blocks) {
  constexpr std::size_t channels = 3;
  const auto count = static_cast<std::int64_t>(blocks.size());
  const Graph& graph = writer.sources().network().graph();
  for (const TensorId block : blocks) {
    if ((*graph.tensors[block].shape)[channels] * count != it.in_channels)
      refuse("it reads blocks of different sizes, or along another axis than the channels");
  }
  if (it.batches != 1) refuse("it has a batch of {} and reads blocks", it.batches);
  it.in_channels /= count;
  it.height.taps *= count;
  return it;
}

void call_with_blocks(Writer& writer, const Windows& it, const std::vector<TensorId>& blocks,
                      std::string_view kernel, const std::string& layer) {
  const std::size_t rows = it.is_columns ? 2 : 1;  // the axis
  if (writer.axis() != nullptr && writer.axis()->axis != rows)
    refuse("it reads blocks and runs by rows along axis {}, expected 1 or 2", writer.axis()->axis);
  writer.loop_over(it.height.out);
  writer.need("stowage_window");
  const auto count = static_cast<std::int64_t>(blocks.size());
  writer.declare(fmt::format("const void *rows[{}];", it.height.taps));
  writer.line(fmt::format("stowage_window_of_blocks(memory, {}, {}, {}, {}, {}, rows);",
                          writer.sources().places_of(blocks, rows), count, first_row_text(it),
                          it.height.taps / count, it.height.dilation));
  writer.line(fmt::format("stowage_{}(&{}, rows, {});", kernel, layer, writer.output_row(rows, "y").at));
}

void expect_images(const Shape& shape) {
  if (shape.size() != 4) refuse("its input has {} dimensions, expected 4", shape.size());
}

}  // namespace stowage::generate
