// Operators of ONNX on float32: images are [1, channels, height, width].
//
// A plan stores such an image as a whole, or by rows that have all channels. So a row is the same in both but for
// the distance from one channel to the next, which the kernels get. Sums go in the order of our own plain kernels.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "generate/images.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/onnx/convolution.h"

namespace stowage::generate {

Channel Writer::image_row(TensorId tensor, std::string_view index, bool is_read) {
  const std::size_t lines = axis_of_lines(*this);
  const bool is_columns = lines != axis_of_height;
  const Shape& shape = *sources_.network().graph().tensors[tensor].shape;
  if (sources_.is_constant(tensor)) kernels::refuse("its input is constant");
  const bool is_whole = sources_.repeats_of(tensor) == nullptr && sources_.storage(tensor).is_contiguous();
  if (!is_whole) return {operand(tensor, lines, index, is_read).at, shape[is_columns ? 2 : 3], 1};
  if (is_columns && shape[2] != 1) kernels::refuse("it runs by columns, which are apart in memory");
  const Operand whole = operand(tensor, std::nullopt, "0", is_read);
  return {fmt::format("{} + ({}) * {}", whole.at, index, is_columns ? 1 : shape[3]), shape[2] * shape[3], 1};
}

namespace onnx_ops = kernels::onnx_ops;
using kernels::refuse;

std::size_t axis_of_lines(const Writer& writer) {
  return writer.axis() == nullptr ? axis_of_height : writer.axis()->axis;
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
  ImageWindows it{.out = writer.image_row_of_output("y")};
  it.windows = {.height = along(window.axes[1]),
                .width = along(window.axes[2]),
                .in_channels = in_channels,
                .out_channels = out_channels};
  it.windows.is_columns = axis_of_lines(writer) != axis_of_height;
  if (it.windows.is_columns) std::swap(it.windows.height, it.windows.width);
  it.in_plane = writer.image_row_of_input("0").row;
  return it;
}

void call_on_image(Writer& writer, const ImageWindows& it, std::string_view kernel, const std::string& layer,
                   std::string_view cast) {
  const kernels::Window& height = it.windows.height;
  const std::string first = fmt::format("y * {} - {}", height.stride, height.before);
  writer.loop_over(height.out);
  writer.need("stowage_window");
  if (it.in_plane == it.windows.width.in && height.in != 1) {
    writer.window(0, axis_of_lines(writer), first, height);
  } else {
    const auto element =
        static_cast<std::int64_t>(kernels::element_size(writer.signature().inputs.at(0)->dtype));
    writer.declare(fmt::format("const void *rows[{}];", height.taps));
    writer.line(fmt::format("stowage_window_in({}, {}, {}, {}, {}, {}, rows);",
                            writer.image_row_of_input("0").at, it.windows.width.in * element, height.in,
                            first, height.taps, height.dilation));
  }
  writer.line(fmt::format("stowage_{}(&{}, rows, {}{});", kernel, layer, cast, it.out.at));
}

namespace {

/// Refuses all but images of float32, as wholes or by rows.
void expect_real_images(const Writer& writer) {
  for (const auto* const list : {&writer.signature().inputs, &writer.signature().outputs}) {
    const DType dtype = list->at(0).value().dtype;
    if (dtype != DType::float32) refuse("{} is not supported", name_of(dtype));
  }
  expect_images_of_onnx(writer);
}

void call_real(Writer& writer, const ImageWindows& it, std::string_view kernel, const std::string& layer) {
  writer.need("stowage_image_f32");
  call_on_image(writer, it, fmt::format("image_{}_f32", kernel), layer);
}

/// A constant input of float32, or NULL if it is left out.
std::string real_constant(Writer& writer, std::size_t i) {
  if (!writer.signature().has_input(i)) return "NULL";
  static_cast<void>(constant_data(writer, i));
  if (writer.signature().inputs[i]->dtype != DType::float32) refuse("input {} is not float32", i);
  return writer.sources().constant(*writer.op().inputs[i]);
}

void emit_image_conv(Writer& writer) {
  expect_real_images(writer);
  const kernels::Signature& signature = writer.signature();
  const kernels::Argument* const bias = signature.has_input(2) ? &*signature.inputs[2] : nullptr;
  const onnx_ops::Convolution c = onnx_ops::convolution_of(signature, signature.inputs.at(0).value(),
                                                           signature.inputs.at(1).value(), bias);
  const ImageWindows it = image_windows(writer, c.window, c.groups * c.inputs, c.channels());
  const std::string layer =
      writer.layer("stowage_image_conv_layer",
                   fmt::format("{}{}, {}, {}, {}, {}\n", shape_of(it.windows), c.groups, it.in_plane,
                               it.out.row, real_constant(writer, 1), real_constant(writer, 2)));
  call_real(writer, it, it.windows.is_columns ? "conv_columns" : "conv", layer);
}

bool has_padding(const onnx_ops::Window& window) {
  return std::ranges::any_of(window.axes, [](const auto& axis) { return axis.begin != 0 || axis.end != 0; });
}

template <bool is_average>
void emit_image_pool(Writer& writer) {
  if (!is_average && writer.signature().inputs.at(0)->dtype != DType::float32)
    return emit_byte_max_pool(writer);
  if (writer.kind().sums) refuse("it sums up rows of a window");
  expect_real_images(writer);
  const kernels::Signature& signature = writer.signature();
  if (signature.has_output(1)) refuse("it gives indices");
  if (!signature.attributes.has("kernel_shape")) refuse("kernel_shape is missing");
  const Shape& in = signature.inputs.at(0)->shape;
  const onnx_ops::Window window = onnx_ops::window_of(signature, in, signature.outputs.at(0)->shape,
                                                      signature.attributes.integers("kernel_shape", {}));
  if (signature.attributes.integer("count_include_pad", 0) != 0 && has_padding(window))
    refuse("it counts padding");
  const ImageWindows it = image_windows(writer, window, in[1], in[1]);
  if (is_average && it.windows.is_columns && it.windows.height.taps > 1 && it.windows.width.taps > 1)
    refuse("it adds real numbers in another order if it runs by columns");
  call_real(writer, it, is_average ? "average_pool" : "max_pool",
            writer.layer("stowage_image_pool_layer",
                         fmt::format("{}{}, {}\n", shape_of(it.windows), it.in_plane, it.out.row)));
}

/// Row by row into sums if the plan does so, else in one window.
void emit_global_average(Writer& writer) {
  expect_real_images(writer);
  const Shape& in = writer.signature().inputs.at(0)->shape;
  if (!writer.kind().sums) {
    onnx_ops::Window window;
    window.axes[2].input = window.axes[2].kernel = in[2] * in[3];
    if (!writer.storage_of_input(0).is_contiguous()) refuse("it reads rows that are apart");
    ImageWindows it = image_windows(writer, window, in[1], in[1]);
    it.in_plane = in[2] * in[3];
    it.out.row = 1;
    return call_real(writer, it, "average_pool",
                     writer.layer("stowage_image_pool_layer",
                                  fmt::format("{}{}, {}\n", shape_of(it.windows), it.in_plane, it.out.row)));
  }
  if (writer.kind().axis != axis_of_height) refuse("it sums up along another axis than the height");
  writer.need("stowage_image_f32");
  writer.loop_over(in[2]);
  writer.declare_kept(*writer.kind().sums, "float", "sums");
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; y == 0 && i < {}; i++) sums[i] = 0.0F;", in[1]));
  const Channel row = writer.image_row_of_input("y");
  writer.line(fmt::format("stowage_image_sum_f32({}, {}, {}, {}, sums);", row.at, in[1], row.row, in[3]));
  const std::string out = writer.output().at;
  writer.line(fmt::format("for (i = 0; y == {} && i < {}; i++) ({})[i] = (float)((double)sums[i] / {});",
                          in[2] - 1, in[1], out, in[2] * in[3]));
}

/// A matrix of so many rows times constant weights, [columns][terms] if they are turned.
struct RealProduct {
  std::int64_t rows = 1;
  std::int64_t terms = 1;
  std::int64_t columns = 1;
  bool is_turned = false;
};

/// Each row of the output is a convolution of one place.
void call_product(Writer& writer, const RealProduct& it, const std::string& bias) {
  if (writer.signature().outputs.at(0)->dtype != DType::float32) refuse("it is not of float32");
  std::string name = real_constant(writer, 1);
  if (!it.is_turned) {
    const auto data = constant_data(writer, 1);
    std::vector<float> turned(data.size() / sizeof(float));
    for (std::size_t i = 0; i < turned.size(); ++i) {
      const auto columns = static_cast<std::size_t>(it.columns);
      const std::size_t to = i % columns * static_cast<std::size_t>(it.terms) + i / columns;
      std::memcpy(&turned[to], data.data() + i * sizeof(float), sizeof(float));
    }
    name =
        writer.sources().array("weights_" + writer.number(),
                               "weights of operator " + writer.number() + ", turned", DType::float32, turned);
  }
  Windows place{.in_channels = it.terms, .out_channels = it.columns};
  place.width = {.in = 1, .out = 1};
  const std::string layer = writer.layer("stowage_image_conv_layer",
                                         fmt::format("{}1, 1, 1, {}, {}\n", shape_of(place), name, bias));
  writer.need("stowage_image_f32");
  writer.declare("const void *rows[1];");
  const bool has_rows = writer.axis() != nullptr;
  if (!has_rows) writer.loop_over(it.rows);
  if (has_rows && it.rows != 1) writer.declare("int32_t i;");
  const std::string index = !has_rows ? "y" : it.rows != 1 ? "i" : "0";
  if (has_rows && it.rows != 1) writer.line(fmt::format("for (i = 0; i < {}; i++) {{", it.rows));
  writer.line(fmt::format("rows[0] = {} + {} * {};", writer.input(0).at, index, it.terms));
  writer.line(fmt::format("stowage_image_conv_f32(&{}, rows, {} + {} * {});", layer, writer.output().at,
                          index, it.columns));
  if (has_rows && it.rows != 1) writer.line("}");
}

void emit_gemm(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  const Attributes& attributes = signature.attributes;
  if (attributes.integer("transA", 0) != 0 || attributes.real("alpha", 1) != 1 ||
      attributes.real("beta", 1) != 1)
    refuse("it has factors, or turns its first input");
  if (writer.axis() != nullptr) refuse("it runs by rows");
  const Shape& out = signature.outputs.at(0)->shape;
  const bool is_turned = attributes.integer("transB", 0) != 0;
  if (signature.has_input(2) && kernels::count_of(signature.inputs[2]->shape) != out.at(1))
    refuse("its third input is not a number for each column");
  const RealProduct it{.rows = out[0],
                       .terms = signature.inputs.at(1)->shape.at(is_turned ? 1 : 0),
                       .columns = out[1],
                       .is_turned = is_turned};
  call_product(writer, it, real_constant(writer, 2));
}

/// Of two inputs that are computed: a matrix for each index of the dimensions in front.
void emit_product_of_inputs(Writer& writer) {
  const std::size_t rank = writer.signature().inputs.at(0)->shape.size();
  if (writer.axis() != nullptr && writer.axis()->axis + 2 == rank) writer.take_planes();
  const kernels::Signature& signature = writer.seen();
  const Shape& a = signature.inputs.at(0)->shape;
  const Shape& b = signature.inputs.at(1)->shape;
  if (signature.outputs.at(0)->dtype != DType::float32) refuse("it is not of float32");
  if (a.size() < 2 || a.size() != b.size() || !std::equal(a.begin(), a.end() - 2, b.begin()))
    refuse("it repeats {} or {}", show_shape(a), show_shape(b));
  const std::int64_t rows = a[a.size() - 2], terms = a.back(), columns = b.back();
  const std::int64_t matrices = kernels::count_of(a, 0, a.size() - 2);
  writer.need("stowage_image_f32");
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; i < {}; i++)", matrices));
  writer.line(fmt::format("  stowage_product_f32({} + i * {}, {} + i * {}, {} + i * {}, {}, {}, {});",
                          writer.input(0).at, rows * terms, writer.input(1).at, terms * columns,
                          writer.output().at, rows * columns, rows, terms, columns));
}

/// By constant weights; rows of the first input are alike, however many dimensions they are counted in.
void emit_matrix_product(Writer& writer) {
  if (!writer.sources().is_constant(writer.op().inputs.at(1).value())) return emit_product_of_inputs(writer);
  const kernels::Signature& signature = writer.seen();
  const Shape& weights = signature.inputs.at(1).value().shape;
  const Shape& out = signature.outputs.at(0)->shape;
  if (weights.size() != 2) refuse("its second input has {} dimensions, expected 2", weights.size());
  if (kernels::count_of(signature.inputs.at(0)->shape) % weights[0] != 0 || out.empty() ||
      out.back() != weights[1])
    refuse("its rows do not fit its weights");
  call_product(writer,
               {.rows = kernels::count_of(out) / weights[1], .terms = weights[0], .columns = weights[1]},
               "NULL");
}

/// BatchNormalization with given statistics: a factor and a number to add for each channel.
void emit_batch_normalization(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  static_cast<void>(
      kernels::prepare(writer.signature(), KernelSet::plain));  // refuses what it cannot compute
  const Shape& shape = writer.signature().inputs.at(0)->shape;
  if (shape.size() < 2 || shape[0] != 1) refuse("its input is {}", show_shape(shape));
  const auto numbers = [&](std::size_t i) {
    static_cast<void>(real_constant(writer, i));
    std::vector<float> all(static_cast<std::size_t>(shape[1]));
    std::memcpy(all.data(), constant_data(writer, i).data(), all.size() * sizeof(float));
    return all;
  };
  if (signature.inputs[0]->dtype != DType::float32) refuse("it is not of float32");
  const std::vector<float> scale = numbers(1), bias = numbers(2), mean = numbers(3), variance = numbers(4);
  const auto epsilon = static_cast<double>(signature.attributes.real("epsilon", 1e-5F));
  std::vector<float> factors;
  std::vector<float> terms;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double factor =
        static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    factors.push_back(static_cast<float>(factor));
    terms.push_back(static_cast<float>(static_cast<double>(bias[c]) - static_cast<double>(mean[c]) * factor));
  }
  const std::string n = writer.number();
  const std::string by =
      writer.sources().array("scale_" + n, "factors of operator " + n, DType::float32, factors);
  const std::string plus =
      writer.sources().array("shift_" + n, "terms of operator " + n, DType::float32, terms);
  const Operand in = writer.input(0);
  writer.need("stowage_image_f32");
  const std::int64_t channels = in.shape[1];
  writer.line(fmt::format("stowage_image_scale_f32({0}{1}, {2}{1}, {3}, {4}, {5}, {6});", by,
                          writer.of_plane(), plus, in.at, writer.output().at, channels,
                          in.count() / channels));
}

/// A limit in an attribute or a constant input.
float limit_of(Writer& writer, std::size_t input, std::string_view attribute, float otherwise) {
  if (!writer.signature().has_input(input)) return writer.signature().attributes.real(attribute, otherwise);
  static_cast<void>(real_constant(writer, input));
  float limit = 0;
  std::memcpy(&limit, constant_data(writer, input).data(), sizeof limit);
  return limit;
}

void emit_clip(Writer& writer) {
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));
  if (writer.signature().outputs.at(0)->dtype != DType::float32) refuse("it is not of float32");
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float least = limit_of(writer, 1, "min", -infinity);
  const float most = limit_of(writer, 2, "max", infinity);
  const std::string layer =
      writer.layer("stowage_limits_f32", fmt::format("{}, {}", literal(least), literal(most)));
  const Operand in = writer.input(0);
  writer.need("stowage_activation_f32");
  writer.line(
      fmt::format("stowage_clamp_run_f32(&{}, {}, {}, {});", layer, in.at, writer.output().at, in.count()));
}

/// Over the last dimensions.
void emit_softmax_of_onnx(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));
  const Shape& shape = signature.inputs.at(0)->shape;
  if (signature.inputs[0]->dtype != DType::float32) refuse("it is not of float32");
  const bool is_flat = signature.version < 13;
  const std::int64_t given = signature.attributes.integer("axis", is_flat ? 1 : -1);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  const std::int64_t length =
      kernels::count_of(shape, axis, is_flat ? shape.size() : std::min(axis + 1, shape.size()));
  if (kernels::count_of(shape, axis, shape.size()) != length) refuse("its numbers are apart");
  const Operand in = writer.input(0);
  writer.need("stowage_image_f32");
  writer.line(fmt::format("stowage_shares_f32({}, {}, {}, {});", in.at, writer.output().at,
                          in.count() / length, length));
}

}  // namespace

EmitPart onnx_operators() {
  return {{"Conv", emit_image_conv, RowHandling::own},
          {"MaxPool", emit_image_pool<false>, RowHandling::own},
          {"AveragePool", emit_image_pool<true>, RowHandling::own},
          {"GlobalAveragePool", emit_global_average, RowHandling::own},
          {"Gemm", emit_gemm, RowHandling::own},
          {"MatMul", emit_matrix_product},
          {"BatchNormalization", emit_batch_normalization, RowHandling::elements},
          {"Clip", emit_clip, RowHandling::elements},
          {"Softmax", emit_softmax_of_onnx}};
}

}  // namespace stowage::generate
