// Windows over images of ONNX, [batch, channels, height, width]: convolutions and pools of float32.
//
// A tensor of three dimensions is an image of one line, [batch, channels, 1, width]; its rows are the columns of this
// image. Images of a batch are computed one after the other; where rows are along the batch, a row is an image.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generate/images.h"
#include "generate/text.h"
#include "generate/volumes.h"
#include "kernels/onnx/convolution.h"

namespace stowage::generate {

namespace onnx_ops = kernels::onnx_ops;
using kernels::refuse;

namespace {

constexpr std::size_t axis_of_width = 3;

/// Three dimensions have one line.
Shape image_shape(Shape shape) {
  if (shape.size() == 3) shape.insert(shape.begin() + axis_of_height, 1);
  return shape;
}

std::size_t axis_in_image(std::size_t axis, std::size_t rank) {
  return rank == 3 && axis == 2 ? axis_of_width : axis;
}

/// Whether the plan stores the first input or the output row by row.
bool is_stored_by_rows(const Writer& writer) {
  const Sources& sources = writer.sources();
  const auto has_rows = [&](TensorId tensor) {
    return !sources.is_constant(tensor) && !sources.storage(tensor).is_contiguous();
  };
  return has_rows(writer.op().inputs.at(0).value()) || has_rows(writer.op().outputs.at(0).value());
}

bool is_by_images(const Writer& writer) { return axis_of_lines(writer) == 0; }

/// The row that the body computes: of an image, where each row of the plan is one.
std::string_view row_index(const Writer& writer) { return is_by_images(writer) ? "i" : "y"; }

}  // namespace

Channel Writer::image_row(TensorId tensor, std::string_view index, bool is_read) {
  const std::size_t lines = axis_of_lines(*this);
  const bool is_columns = lines == axis_of_width;
  const Shape& own = *sources_.network().graph().tensors[tensor].shape;
  const Shape shape = image_shape(own);
  if (sources_.is_constant(tensor)) kernels::refuse("its input is constant");
  const auto in_image = [&](const Operand& image) {
    return Channel{fmt::format("{} + ({}) * {}", image.at, index, is_columns ? 1 : shape[3]),
                   shape[2] * shape[3], 1};
  };
  if (lines == 0) return in_image(operand(tensor, 0, "y", is_read));
  const bool is_whole = sources_.repeats_of(tensor) == nullptr && sources_.storage(tensor).is_contiguous();
  if (!is_whole) {
    const std::size_t axis = lines + own.size() - shape.size();
    return {operand(tensor, axis, index, is_read).at, shape[is_columns ? 2 : 3], 1};
  }
  if (is_columns && shape[2] != 1) kernels::refuse("it runs by columns, which are apart in memory");
  return in_image(operand(tensor, std::nullopt, "0", is_read));
}

std::size_t axis_of_lines(const Writer& writer) {
  const std::size_t rank = writer.signature().outputs.at(0).value().shape.size();
  if (writer.kind().axis) return axis_in_image(*writer.kind().axis, rank);
  return rank == 3 && is_stored_by_rows(writer) ? axis_of_width : axis_of_height;
}

void expect_windows_of_onnx(const Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  for (const auto* const list : {&signature.inputs, &signature.outputs}) {
    const Shape& shape = list->at(0).value().shape;
    if (shape.size() != 3 && shape.size() != 4)
      refuse("its images are {}, expected three or four dimensions", show_shape(shape));
  }
  const std::size_t lines = axis_of_lines(writer);
  if (lines == 1) refuse("it runs by rows along axis 1, expected 0, 2 or 3");
}

void expect_images_of_onnx(const Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  for (const auto* const list : {&signature.inputs, &signature.outputs}) {
    const kernels::Argument& argument = list->at(0).value();
    if (argument.shape.size() != 4 || argument.shape[0] != 1)
      refuse("its images are {}, expected four dimensions and a batch of 1", show_shape(argument.shape));
  }
  const std::size_t lines = axis_of_lines(writer);
  if (lines != 2 && lines != 3) refuse("it runs by rows along axis {}, expected 2 or 3", lines);
}

ImageWindows image_windows(Writer& writer, const onnx_ops::Window& window, std::int64_t in_channels,
                           std::int64_t out_channels) {
  const auto along = [](const onnx_ops::WindowAxis& axis) {
    return kernels::Window{.in = axis.input,
                           .out = axis.output,
                           .taps = axis.kernel,
                           .stride = axis.stride,
                           .dilation = axis.dilation,
                           .before = axis.begin};
  };
  ImageWindows it{.out = writer.image_row_of_output(row_index(writer))};
  it.windows = {.batches = is_by_images(writer) ? 1 : writer.signature().inputs.at(0)->shape.at(0),
                .height = along(window.axes[1]),
                .width = along(window.axes[2]),
                .in_channels = in_channels,
                .out_channels = out_channels};
  it.windows.is_columns = axis_of_lines(writer) == axis_of_width;
  if (it.windows.is_columns) std::swap(it.windows.height, it.windows.width);
  it.in_plane = writer.image_row_of_input("0").row;
  return it;
}

namespace {

/// Fills `rows` with those that a step adds, of the rows under the window that begins at row `first`; others are null.
void take_part(Writer& writer, const ImageWindows& it, std::string_view first,
               const kernels::Window& height) {
  const std::string part = fmt::format("parts_{}[step]", writer.kind().op);
  const auto element =
      static_cast<std::int64_t>(kernels::element_size(writer.signature().inputs.at(0)->dtype));
  writer.declare(fmt::format("const void *rows[{}];", height.taps));
  writer.declare("int32_t k;");
  writer.line(fmt::format("for (k = 0; k < {}; k++) {{", height.taps));
  writer.line(fmt::format("  const int32_t row = {} + k * {};", first, height.dilation));
  writer.line("  rows[k] = NULL;");
  writer.line(fmt::format("  if (row < {0}.begin || row >= {0}.end) continue;", part));
  if (it.in_plane == it.windows.width.in && height.in != 1) {
    const kernels::Window one{.in = height.in, .taps = 1};
    writer.window(0, axis_of_lines(writer), "row", one, "one");
    writer.line("  rows[k] = one[0];");
  } else {
    writer.line(fmt::format("  rows[k] = (const uint8_t *)(const void *)({}) + row * {};",
                            writer.image_row_of_input("0").at, it.windows.width.in * element));
  }
  writer.line("}");
}

/// Fills `rows` with those under the window that begins at row `first`.
void take_rows(Writer& writer, const ImageWindows& it, std::string_view first,
               const kernels::Window& height) {
  const std::size_t rank = writer.signature().inputs.at(0)->shape.size();
  writer.need("stowage_window");
  if (writer.kind().adds_parts) return take_part(writer, it, first, height);
  if (!is_by_images(writer) && it.in_plane == it.windows.width.in && height.in != 1)
    return writer.window(0, axis_of_lines(writer) + rank - 4, first, height);
  const auto element =
      static_cast<std::int64_t>(kernels::element_size(writer.signature().inputs.at(0)->dtype));
  writer.declare(fmt::format("const void *rows[{}];", height.taps));
  writer.line(fmt::format("stowage_window_in({}, {}, {}, {}, {}, {}, rows);",
                          writer.image_row_of_input("0").at, it.windows.width.in * element, height.in, first,
                          height.taps, height.dilation));
}

}  // namespace

void call_on_image(Writer& writer, const ImageWindows& it, const ImageCall& call) {
  const bool is_by_images = generate::is_by_images(writer);
  const std::int64_t lines = it.windows.height.out;
  writer.loop_over(is_by_images ? writer.signature().inputs.at(0)->shape[0] : lines);
  if (is_by_images) {
    writer.declare("int32_t i;");
    writer.line(fmt::format("for (i = 0; i < {}; i++) {{", lines));
  }
  take_rows(writer, it, call.first, call.window);
  const auto call_text = [&](const std::string& more) {
    return fmt::format("stowage_{}(&{}, rows, {}{}{}{});", call.kernel, call.layer, call.arguments, call.cast,
                       it.out.at, more);
  };
  if (it.windows.batches == 1) {
    writer.line(call_text(""));
  } else {
    const auto element =
        static_cast<std::int64_t>(kernels::element_size(writer.signature().inputs.at(0)->dtype));
    writer.declare("int32_t b;");
    writer.line(fmt::format("for (b = 0; b < {}; b++) {{", it.windows.batches));
    writer.line("  " + call_text(fmt::format(" + b * {}", it.windows.out_channels * it.out.row)));
    writer.line(fmt::format("  stowage_advance_rows(rows, {}, {});", call.window.taps,
                            it.windows.in_channels * it.in_plane * element));
    writer.line("}");
  }
  if (is_by_images) writer.line("}");
}

void call_on_image(Writer& writer, const ImageWindows& it, std::string_view kernel, const std::string& layer,
                   std::string_view cast) {
  const kernels::Window& height = it.windows.height;
  call_on_image(writer, it,
                {.kernel = kernel,
                 .layer = layer,
                 .cast = cast,
                 .first = fmt::format("{} * {} - {}", row_index(writer), height.stride, height.before),
                 .window = height});
}

void expect_real_images(const Writer& writer) {
  for (const auto* const list : {&writer.signature().inputs, &writer.signature().outputs}) {
    const DType dtype = list->at(0).value().dtype;
    if (dtype != DType::float32) refuse("{} is not supported", name_of(dtype));
  }
  expect_windows_of_onnx(writer);
}

namespace {

bool has_padding(const onnx_ops::Window& window) {
  return std::ranges::any_of(window.axes, [](const auto& axis) { return axis.begin != 0 || axis.end != 0; });
}

}  // namespace

std::int64_t counted_elements(const kernels::Signature& signature, const onnx_ops::Window& window) {
  if (signature.attributes.integer("count_include_pad", 0) == 0 || !has_padding(window)) return 0;
  for (const onnx_ops::WindowAxis& axis : window.axes)
    if (axis.place(axis.output - 1, axis.kernel - 1) >= axis.input + axis.end)
      refuse("it counts padding, and a window reaches behind that");
  return window.elements();
}

std::string real_constant(Writer& writer, std::size_t i) {
  if (!writer.signature().has_input(i)) return "NULL";
  static_cast<void>(constant_data(writer, i));
  if (writer.signature().inputs[i]->dtype != DType::float32) refuse("input {} is not float32", i);
  return writer.stores(i, i == 1 ? "weights" : "bias", writer.sources().constant(*writer.op().inputs[i]));
}

namespace {

void call_real(Writer& writer, const ImageWindows& it, std::string_view kernel, const std::string& layer) {
  writer.need("stowage_image_f32");
  call_on_image(writer, it, fmt::format("image_{}_f32", kernel), layer);
}

std::string conv_layer_of_image(Writer& writer, const ImageWindows& it, std::int64_t groups) {
  return fmt::format("{}{}, {}, {}, {}, {}", shape_of(it.windows), groups, it.in_plane, it.out.row,
                     real_constant(writer, 1), real_constant(writer, 2));
}

void emit_image_conv(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  const auto is_computed = [&](std::size_t i) {
    return signature.has_input(i) && !writer.sources().is_constant(*writer.op().inputs[i]);
  };
  if (has_volumes(signature) || is_computed(1) || is_computed(2)) return emit_volume_conv(writer);
  expect_real_images(writer);
  const kernels::Argument* const bias = signature.has_input(2) ? &*signature.inputs[2] : nullptr;
  const onnx_ops::Convolution c = onnx_ops::convolution_of(signature, signature.inputs.at(0).value(),
                                                           signature.inputs.at(1).value(), bias);
  const ImageWindows it = image_windows(writer, c.window, c.groups * c.inputs, c.channels());
  const std::string layer =
      writer.layer("stowage_image_conv_layer", conv_layer_of_image(writer, it, c.groups) + "\n");
  if (!writer.kind().adds_parts)
    return call_real(writer, it, it.windows.is_columns ? "conv_columns" : "conv", layer);
  const kernels::Window& height = it.windows.height;
  writer.need("stowage_image_f32");
  call_on_image(writer, it,
                {.kernel = "image_conv_add_f32",
                 .layer = layer,
                 .arguments = fmt::format("{}, parts_{}[step].is_first, ", it.windows.is_columns ? 1 : 0,
                                          writer.kind().op),
                 .first = fmt::format("{} * {} - {}", row_index(writer), height.stride, height.before),
                 .window = height});
}

/// Each row of the output is made of rows of the input under a window with these steps: row y of those before `phase`,
/// counted from the first row on, is that of tap phase - y * stride.
void emit_transposed_conv(Writer& writer) {
  expect_real_images(writer);
  const kernels::Signature& signature = writer.signature();
  const Shape& weights = signature.inputs.at(1).value().shape;
  const Shape& in = signature.inputs[0]->shape;
  const std::int64_t groups = signature.attributes.integer("group", 1);
  ImageWindows it =
      image_windows(writer,
                    onnx_ops::transposed_window_of(signature, in, signature.outputs.at(0)->shape,
                                                   Shape(weights.begin() + 2, weights.end())),
                    in[1], groups * weights[1]);
  std::swap(it.windows.height.in, it.windows.height.out);  // the window moves over the output
  std::swap(it.windows.width.in, it.windows.width.out);
  const TransposedRows rows = transposed_rows(it.windows.height, row_index(writer));
  const std::string layer = writer.layer(
      "stowage_image_spread_layer",
      fmt::format("{{{}}}, {}, {}, {}\n", conv_layer_of_image(writer, it, groups), it.windows.height.stride,
                  it.windows.height.dilation, it.windows.is_columns ? 1 : 0));
  writer.need("stowage_spread_f32");
  call_on_image(writer, it,
                {.kernel = "image_spread_f32",
                 .layer = layer,
                 .arguments = rows.phase + ", ",
                 .first = rows.first,
                 .window = rows.window});
}

template <bool is_average>
void emit_image_pool(Writer& writer) {
  if (!is_average && writer.signature().inputs.at(0)->dtype != DType::float32)
    return emit_byte_max_pool(writer);
  if (has_volumes(writer.signature())) return emit_volume_pool(writer, is_average);
  if (writer.kind().sums) refuse("it sums up rows of a window");
  expect_real_images(writer);
  const kernels::Signature& signature = writer.signature();
  if (signature.has_output(1)) refuse("it gives indices");
  if (!signature.attributes.has("kernel_shape")) refuse("kernel_shape is missing");
  const Shape& in = signature.inputs.at(0)->shape;
  const onnx_ops::Window window = onnx_ops::window_of(signature, in, signature.outputs.at(0)->shape,
                                                      signature.attributes.integers("kernel_shape", {}));
  const ImageWindows it = image_windows(writer, window, in[1], in[1]);
  if (is_average && it.windows.is_columns && it.windows.height.taps > 1 && it.windows.width.taps > 1)
    refuse("it adds real numbers in another order if it runs by columns");
  call_real(writer, it, is_average ? "average_pool" : "max_pool",
            writer.layer("stowage_image_pool_layer",
                         fmt::format("{}{}, {}, {}\n", shape_of(it.windows), it.in_plane, it.out.row,
                                     counted_elements(signature, window))));
}

/// Row by row into sums if the plan does so, else in one window.
void emit_global_average(Writer& writer) {
  if (has_volumes(writer.signature())) return emit_volume_average(writer);
  expect_real_images(writer);
  const Shape in = image_shape(writer.signature().inputs.at(0)->shape);
  if (!writer.kind().sums) {
    onnx_ops::Window window;
    window.axes[2].input = window.axes[2].kernel = in[2] * in[3];
    if (!writer.storage_of_input(0).is_contiguous()) refuse("it reads rows that are apart");
    ImageWindows it = image_windows(writer, window, in[1], in[1]);
    it.in_plane = in[2] * in[3];
    it.out.row = 1;
    return call_real(
        writer, it, "average_pool",
        writer.layer("stowage_image_pool_layer",
                     fmt::format("{}{}, {}, 0\n", shape_of(it.windows), it.in_plane, it.out.row)));
  }
  if (writer.kind().axis != axis_of_height) refuse("it sums up along another axis than the height");
  if (in[0] != 1) refuse("it sums up {} images", in[0]);
  const std::int64_t lines = in[axis_of_lines(writer)];
  writer.need("stowage_image_f32");
  writer.loop_over(lines);
  writer.declare_kept(*writer.kind().sums, "float", "sums");
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; y == 0 && i < {}; i++) sums[i] = 0.0F;", in[1]));
  const Channel row = writer.image_row_of_input("y");
  writer.line(fmt::format("stowage_image_sum_f32({}, {}, {}, {}, sums);", row.at, in[1], row.row,
                          in[2] * in[3] / lines));
  const std::string out = writer.output().at;
  writer.line(fmt::format("for (i = 0; y == {} && i < {}; i++) ({})[i] = (float)((double)sums[i] / {});",
                          lines - 1, in[1], out, in[2] * in[3]));
}

}  // namespace

EmitPart image_window_operators() {
  return {{"Conv", emit_image_conv, RowHandling::own},
          {"ConvTranspose", emit_transposed_conv, RowHandling::own},
          {"MaxPool", emit_image_pool<false>, RowHandling::own},
          {"AveragePool", emit_image_pool<true>, RowHandling::own},
          {"GlobalAveragePool", emit_global_average, RowHandling::own}};
}

}  // namespace stowage::generate
