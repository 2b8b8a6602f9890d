// Operators of ONNX on int8 and uint8: what DequantizeLinear, an operator and QuantizeLinear are joined to, these two
// themselves, and operators of files that have QLinear... of their own.
//
// Both types count from their least number on, so that one kernel does for both. Weights are stored as their
// distance from their zero point. A real factor is a mantissa of 24 bits, with which kernels compute in integers the
// bits that float32 would give.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "generate/element_loops.h"
#include "generate/images.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/onnx/convolution.h"
#include "kernels/onnx/product.h"
#include "kernels/onnx/quantized.h"

namespace stowage::generate {
namespace {

namespace onnx_ops = kernels::onnx_ops;
using kernels::refuse;
using kernels::Signature;

const kernels::Argument& input_of(const Writer& writer, std::size_t i) {
  if (!writer.signature().has_input(i)) refuse("input {} is left out", i);
  return *writer.signature().inputs[i];
}

/// What makes a number of this type count from the least one on.
int flip_of(DType dtype) { return dtype == DType::int8 ? 128 : 0; }

std::vector<float> scales_of(Writer& writer, std::size_t i) {
  if (input_of(writer, i).dtype != DType::float32) refuse("scale {} is not float32", i);
  const auto data = constant_data(writer, i);
  std::vector<float> scales(data.size() / sizeof(float));
  std::memcpy(scales.data(), data.data(), data.size());
  return scales;
}

float scale_of(Writer& writer, std::size_t i) {
  const std::vector<float> scales = scales_of(writer, i);
  if (scales.size() != 1 || !(scales[0] > 0) || !std::isfinite(scales[0]))
    refuse("input {} is not one positive scale", i);
  return scales[0];
}

int number_of(DType dtype, std::byte byte) {
  const int plain = std::to_integer<int>(byte);
  return dtype == DType::int8 && plain > 127 ? plain - 256 : plain;
}

/// Zero points; 0 if they are left out.
std::vector<int> zeros_of(Writer& writer, std::size_t i, DType dtype) {
  if (!writer.signature().has_input(i)) return {0};
  if (input_of(writer, i).dtype != dtype) refuse("zero point {} is not {}", i, name_of(dtype));
  std::vector<int> zeros;
  for (const std::byte byte : constant_data(writer, i)) zeros.push_back(number_of(dtype, byte));
  return zeros;
}

/// A zero point, counted from the least number of its type on.
int zero_of(Writer& writer, std::size_t i, DType dtype) {
  const std::vector<int> zeros = zeros_of(writer, i, dtype);
  if (zeros.size() != 1) refuse("input {} is not one zero point", i);
  return zeros[0] + flip_of(dtype);
}

/// Mantissa and shift.
struct Factor {
  std::int32_t mantissa = 0;
  std::int32_t shift = 0;

  [[nodiscard]] std::string text() const { return fmt::format("{{{}, {}}}", mantissa, shift); }
};

Factor factor_of(float factor) {
  constexpr int bits = 24;
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(factor), &exponent);
  const Factor it{.mantissa = static_cast<std::int32_t>(std::ldexp(fraction, bits)),
                  .shift = bits - exponent};
  if (!(factor > 0) || !std::isfinite(factor) || it.shift < 16 || it.shift > 62)
    refuse("its scales give the factor {}, expected 2^-38 to 2^8", factor);
  return it;
}

// Element by element

std::string affine_layer(Writer& writer, DType dtype) {
  writer.need("stowage_q8");
  return writer.layer("stowage_q8_affine", fmt::format("{}, {}, {}", literal(scale_of(writer, 1)),
                                                       zero_of(writer, 2, dtype), flip_of(dtype)));
}

void emit_quantize_linear(Writer& writer) {
  const kernels::Argument& output = writer.signature().outputs.at(0).value();
  expect_byte(output);
  if (input_of(writer, 0).dtype != DType::float32) refuse("its input is not float32");
  const std::string layer = affine_layer(writer, output.dtype);
  const Operand in = writer.input(0);
  writer.line(fmt::format("stowage_q8_quantize(&{}, {}, {}{}, {});", layer, in.at, byte_out,
                          writer.output().at, in.count()));
}

void emit_dequantize_linear(Writer& writer) {
  expect_byte(input_of(writer, 0));
  if (writer.signature().outputs.at(0)->dtype != DType::float32) refuse("its output is not float32");
  const std::string layer = affine_layer(writer, input_of(writer, 0).dtype);
  const Operand in = writer.input(0);
  writer.line(fmt::format("stowage_q8_dequantize(&{}, (const uint8_t *){}, {}, {});", layer, in.at,
                          writer.output().at, in.count()));
}

/// Both inputs and the output are of one type.
DType type_of_pair(const Writer& writer) {
  const kernels::Argument& output = writer.signature().outputs.at(0).value();
  expect_byte(output);
  for (const std::size_t i : {0U, 3U})
    if (input_of(writer, i).dtype != output.dtype) refuse("its operands have different types");
  return output.dtype;
}

std::string zeros_of_pair(Writer& writer, DType dtype) {
  return fmt::format("{}, {}, {}, {}", zero_of(writer, 2, dtype), zero_of(writer, 5, dtype),
                     zero_of(writer, 7, dtype), flip_of(dtype));
}

template <bool is_difference>
void emit_scaled_sum(Writer& writer) {
  const DType dtype = type_of_pair(writer);
  onnx_ops::ScaledSum sum =
      onnx_ops::scaled_sum_of(scale_of(writer, 1), scale_of(writer, 4), scale_of(writer, 6));
  if (is_difference) sum.b = -sum.b;
  writer.need("stowage_q8");
  const std::string layer =
      writer.layer("stowage_q8_add_layer",
                   fmt::format("{}, {}, {}, {}", sum.a, sum.b, sum.shift, zeros_of_pair(writer, dtype)));
  emit_binary(writer, "q8_add", layer, 0, 3, "uint8_t");
}

void emit_scaled_product(Writer& writer) {
  const DType dtype = type_of_pair(writer);
  const float factor = scale_of(writer, 1) * scale_of(writer, 4) / scale_of(writer, 6);
  writer.need("stowage_q8");
  const std::string layer = writer.layer(
      "stowage_q8_mul_layer", fmt::format("{}, {}", factor_of(factor).text(), zeros_of_pair(writer, dtype)));
  emit_binary(writer, "q8_mul", layer, 0, 3, "uint8_t");
}

// Windows and products

/// Inputs of a convolution or product: where its bias and its output's scale are.
struct ScaledPlaces {
  std::size_t output = 6;
  std::size_t bias = 8;
};

/// Weights [outer][of each] as int8, less their zero points.
std::vector<std::int8_t> centred_weights(Writer& writer, std::int64_t outer) {
  const DType dtype = input_of(writer, 3).dtype;
  expect_byte(input_of(writer, 3));
  std::vector<int> zeros = zeros_of(writer, 5, dtype);
  if (std::ranges::all_of(zeros, [&](int zero) { return zero == zeros[0]; })) zeros.resize(1);
  const auto data = constant_data(writer, 3);
  if (zeros.size() != 1 && static_cast<std::int64_t>(zeros.size()) != outer)
    refuse("its weights have {} different zero points, expected 1 or {}", zeros.size(), outer);
  const std::size_t each = data.size() / static_cast<std::size_t>(outer);
  std::vector<std::int8_t> weights;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const int centred = number_of(dtype, data[i]) - zeros[zeros.size() == 1 ? 0 : i / each];
    if (centred < -128 || centred > 127)
      refuse("a weight is {} from its zero point, expected -128 to 127", centred);
    weights.push_back(static_cast<std::int8_t>(centred));
  }
  return weights;
}

/// [terms][columns] as [columns][terms].
std::vector<std::int8_t> columns_first(const std::vector<std::int8_t>& weights, std::int64_t columns) {
  const auto wide = static_cast<std::size_t>(columns);
  const std::size_t terms = weights.size() / wide;
  std::vector<std::int8_t> turned(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) turned[i % wide * terms + i / wide] = weights[i];
  return turned;
}

std::string conv_layer(Writer& writer, const ImageWindows& it, std::int64_t groups,
                       const std::vector<std::int8_t>& weights, const ScaledPlaces& at) {
  const DType in = input_of(writer, 0).dtype;
  const DType out = writer.signature().outputs.at(0)->dtype;
  expect_byte(input_of(writer, 0));
  expect_byte(*writer.signature().outputs[0]);
  const auto channels = static_cast<std::size_t>(it.windows.out_channels);
  const std::vector<float> scales = scales_of(writer, 4);
  if (scales.size() != 1 && scales.size() != channels) refuse("its weights have {} scales", scales.size());
  std::vector<std::int32_t> mantissas;
  std::vector<std::int8_t> shifts;
  for (std::size_t c = 0; c < channels; ++c) {
    const Factor factor =
        factor_of(scale_of(writer, 1) * scales[scales.size() == 1 ? 0 : c] / scale_of(writer, at.output));
    mantissas.push_back(factor.mantissa);
    shifts.push_back(static_cast<std::int8_t>(factor.shift));
  }
  std::string bias = "NULL";
  if (writer.signature().has_input(at.bias)) {
    if (input_of(writer, at.bias).dtype != DType::int32 ||
        constant_data(writer, at.bias).size() != channels * sizeof(std::int32_t))
      refuse("its bias is not an int32 for each channel");
    bias = writer.stores(at.bias, "bias", writer.sources().constant(*writer.op().inputs[at.bias]));
  }
  Sources& sources = writer.sources();
  const std::string n = writer.number();
  const std::string of = " of operator " + n;
  writer.need("stowage_q8");
  writer.need("stowage_q8_image");
  return writer.layer(
      "stowage_q8_conv_layer",
      fmt::format(
          "{}{}, {}, {}, {},\n    {}, {}, {},\n    {}, {}, {}, {}, /* zero points, kinds of numbers */\n",
          shape_of(it.windows), groups, it.in_plane, it.out.row,
          writer.stores(3, "weights", sources.array("weights_" + n, "weights" + of, DType::int8, weights)),
          bias, sources.array("mantissa_" + n, "factors" + of, DType::int32, mantissas),
          sources.array("shift_" + n, "powers of two of these factors", DType::int8, shifts),
          zero_of(writer, 2, in), zero_of(writer, at.output + 1, out), flip_of(in), flip_of(out)));
}

/// [..][high][wide] as [..][wide][high]; the windows have changed theirs already.
void turn_windows(std::vector<std::int8_t>& weights, const Windows& it) {
  const auto high = static_cast<std::size_t>(it.width.taps);
  const auto wide = static_cast<std::size_t>(it.height.taps);
  const std::vector<std::int8_t> given = weights;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t tap = i % (high * wide);
    weights[i] = given[i - tap + tap % high * wide + tap / high];
  }
}

void emit_scaled_conv(Writer& writer) {
  expect_windows_of_onnx(writer);
  const Signature& signature = writer.signature();
  const kernels::Argument* const bias = signature.has_input(8) ? &*signature.inputs[8] : nullptr;
  const onnx_ops::Convolution c =
      onnx_ops::convolution_of(signature, input_of(writer, 0), input_of(writer, 3), bias);
  const ImageWindows it = image_windows(writer, c.window, c.groups * c.inputs, c.channels());
  std::vector<std::int8_t> weights = centred_weights(writer, c.channels());
  if (it.windows.is_columns) turn_windows(weights, it.windows);
  const std::string layer = conv_layer(writer, it, c.groups, weights, ScaledPlaces{});
  call_on_image(writer, it, "q8_conv", layer, byte_out);
}

/// Each row of the output is a product of a row with all columns, however many dimensions rows are counted in.
void call_product_of_bytes(Writer& writer, const onnx_ops::MatrixProduct& p, bool is_turned,
                           const ScaledPlaces& at) {
  const Shape& out = writer.seen().outputs.at(0)->shape;
  if (writer.axis() != nullptr && writer.axis()->axis + 1 == out.size()) refuse("it runs column by column");
  ImageWindows it{.in_plane = 1, .out = {.row = 1}};
  it.windows = {.in_channels = p.terms, .out_channels = p.columns};
  std::vector<std::int8_t> weights = centred_weights(writer, is_turned ? p.columns : 1);
  if (!is_turned) weights = columns_first(weights, p.columns);
  const std::string layer = conv_layer(writer, it, 1, weights, at);
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; i < {}; i++)", kernels::count_of(out) / p.columns));
  writer.line(fmt::format("  stowage_q8_product(&{}, (const uint8_t *){} + i * {}, {}{} + i * {});", layer,
                          writer.input(0).at, p.terms, byte_out, writer.output().at, p.columns));
}

/// Of two inputs that are computed: a matrix for each index of the dimensions in front, or one for all.
void emit_scaled_product_of_inputs(Writer& writer) {
  const Signature& seen = writer.seen();
  const kernels::Argument& a = seen.inputs.at(0).value();
  const kernels::Argument& b = seen.inputs.at(3).value();
  const kernels::Argument& out = seen.outputs.at(0).value();
  for (const auto* const argument : {&a, &b, &out}) expect_byte(*argument);
  const onnx_ops::MatrixProducts products = onnx_ops::matrix_products_of(a.shape, b.shape, out.shape);
  const onnx_ops::MatrixProduct& p = products.one;
  const std::int64_t matrices = kernels::count_of(products.batch);
  const auto step_of = [&](const kernels::Argument& argument, std::int64_t size) {
    const std::int64_t count = kernels::count_of(argument.shape);
    if (count != size && count != size * matrices) refuse("it repeats some of its matrices");
    return count == size ? 0 : size;
  };
  const std::string layer = writer.layer(
      "stowage_q8_matrix_layer",
      fmt::format("{}, {}, {}, {}, {}, {}, {}",
                  factor_of(scale_of(writer, 1) * scale_of(writer, 4) / scale_of(writer, 6)).text(),
                  zero_of(writer, 2, a.dtype), zero_of(writer, 5, b.dtype), zero_of(writer, 7, out.dtype),
                  flip_of(a.dtype), flip_of(b.dtype), flip_of(out.dtype)));
  writer.need("stowage_q8");
  writer.need("stowage_q8_image");
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; i < {}; i++)", matrices));
  writer.line(
      fmt::format("  stowage_q8_matrix(&{}, (const uint8_t *){} + i * {}, (const uint8_t *){} + i * {}, "
                  "{}{} + i * {}, {}, {}, {});",
                  layer, writer.input(0).at, step_of(a, p.rows * p.terms), writer.input(3).at,
                  step_of(b, p.terms * p.columns), byte_out, writer.output().at, p.rows * p.columns, p.rows,
                  p.terms, p.columns));
}

void emit_scaled_matrix_product(Writer& writer) {
  if (!writer.sources().is_constant(writer.op().inputs.at(3).value()) ||
      input_of(writer, 3).shape.size() != 2)
    return emit_scaled_product_of_inputs(writer);
  const onnx_ops::MatrixProducts products = onnx_ops::matrix_products_of(
      input_of(writer, 0).shape, input_of(writer, 3).shape, writer.signature().outputs.at(0)->shape);
  call_product_of_bytes(writer, products.one, false, {.output = 6, .bias = 8});
}

void emit_scaled_gemm(Writer& writer) {
  static_cast<void>(
      kernels::prepare(writer.signature(), KernelSet::plain));  // refuses what it cannot compute
  const Signature& signature = writer.signature();
  if (signature.attributes.integer("transA", 0) != 0) refuse("it turns its first input");
  const bool is_turned = signature.attributes.integer("transB", 0) != 0;
  const onnx_ops::MatrixProduct p =
      onnx_ops::matrix_products_of(input_of(writer, 0).shape, input_of(writer, 3).shape,
                                   signature.outputs.at(0)->shape, {}, {.is_transposed = is_turned})
          .one;
  call_product_of_bytes(writer, p, is_turned, {.output = 7, .bias = 6});
}

/// The mean of all behind the first numbers. Row by row into sums if the plan does so.
void call_mean(Writer& writer, std::int64_t planes) {
  const kernels::Argument& x = input_of(writer, 0);
  expect_byte(x);
  if (planes == 0) refuse("it has no elements");
  const std::int64_t count = kernels::count_of(x.shape) / planes;
  const float factor = scale_of(writer, 1) / (scale_of(writer, 3) * static_cast<float>(count));
  writer.need("stowage_q8");
  writer.need("stowage_q8_image");
  const std::string layer =
      writer.layer("stowage_q8_mean_layer",
                   fmt::format("{}, {}, {}, {}, {}", factor_of(factor).text(), planes,
                               zero_of(writer, 2, x.dtype), zero_of(writer, 4, x.dtype), flip_of(x.dtype)));
  if (!writer.kind().sums) {
    writer.line(fmt::format("stowage_q8_mean(&{}, (const uint8_t *){}, {}, {}{});", layer, writer.input(0).at,
                            count, byte_out, writer.output().at));
    return;
  }
  expect_images_of_onnx(writer);
  if (writer.kind().axis != axis_of_height) refuse("it sums up along another axis than the height");
  if (planes != x.shape[1]) refuse("it sums up more than planes");
  writer.loop_over(x.shape[2]);
  writer.declare_kept(*writer.kind().sums, "int32_t", "sums");
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; y == 0 && i < {}; i++) sums[i] = 0;", planes));
  const Channel row = writer.image_row_of_input("y");
  writer.line(fmt::format("stowage_q8_mean_add(&{}, (const uint8_t *){}, {}, {}, sums);", layer, row.at,
                          row.row, x.shape[3]));
  writer.line(fmt::format("if (y == {}) stowage_q8_mean_end(&{}, sums, {}{});", x.shape[2] - 1, layer,
                          byte_out, writer.output().at));
}

void emit_scaled_mean(Writer& writer) {
  expect_images_of_onnx(writer);
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));
  call_mean(writer, input_of(writer, 0).shape[1]);
}

/// Over axes behind all others.
void emit_scaled_mean_over_axes(Writer& writer) {
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));
  const Shape& in = input_of(writer, 0).shape;
  std::vector<std::size_t> axes =
      kernels::onnx_ops::axes_of(writer.signature().attributes.integers("axes", {}), in.size());
  std::ranges::sort(axes);
  if (!axes.empty() && axes.front() + axes.size() != in.size()) refuse("its axes are not the last");
  call_mean(writer, axes.empty() ? 1 : kernels::count_of(in, 0, axes.front()));
}

/// Windows that count so many elements have a factor of their own: the table begins with that for one.
void emit_scaled_average_pool(Writer& writer) {
  expect_windows_of_onnx(writer);
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));
  const Signature& signature = writer.signature();
  const kernels::Argument& x = input_of(writer, 0);
  expect_byte(x);
  const onnx_ops::Window window = onnx_ops::window_of(signature, x.shape, signature.outputs.at(0)->shape,
                                                      signature.attributes.integers("kernel_shape", {}));
  constexpr std::int64_t most_elements = 4096;  // each has a factor of 5 bytes
  if (window.elements() > most_elements)
    refuse("its windows have {} elements, expected at most {}", window.elements(), most_elements);
  const ImageWindows it = image_windows(writer, window, x.shape[1], x.shape[1]);
  std::vector<std::int32_t> mantissas;
  std::vector<std::int8_t> shifts;
  for (std::int64_t count = 1; count <= window.elements(); ++count) {
    const Factor factor = factor_of(scale_of(writer, 1) / (scale_of(writer, 3) * static_cast<float>(count)));
    mantissas.push_back(factor.mantissa);
    shifts.push_back(static_cast<std::int8_t>(factor.shift));
  }
  Sources& sources = writer.sources();
  const std::string n = writer.number();
  writer.need("stowage_q8");
  writer.need("stowage_q8_image");
  const std::string layer = writer.layer(
      "stowage_q8_average_layer",
      fmt::format("{}{}, {}, {}, {}, {}, /* counted elements */\n    {}, {}, {}\n", shape_of(it.windows),
                  it.in_plane, it.out.row,
                  sources.array("mantissa_" + n, "factors of operator " + n, DType::int32, mantissas),
                  sources.array("shift_" + n, "powers of two of these factors", DType::int8, shifts),
                  counted_elements(signature, window), zero_of(writer, 2, x.dtype),
                  zero_of(writer, 4, x.dtype), flip_of(x.dtype)));
  call_on_image(writer, it, "q8_average_pool", layer, byte_out);
}

void emit_softmax_of_bytes(Writer& writer) {
  const Signature& signature = writer.seen();
  static_cast<void>(kernels::prepare(signature, KernelSet::plain));  // refuses what it cannot compute
  const DType dtype = input_of(writer, 0).dtype;
  const onnx_ops::Split runs = onnx_ops::runs_of_softmax(signature);
  const auto powers = onnx_ops::powers_of_steps(scale_of(writer, 1), runs.size);
  const std::string table =
      writer.sources().array("powers_" + writer.number(), "powers of e of operator " + writer.number(),
                             DType::float32, std::vector<float>(powers.begin(), powers.end()));
  const std::string layer = writer.layer(
      "stowage_q8_softmax_layer",
      fmt::format("{}, {}, {}, {}, {}, {}, {}", table, literal(onnx_ops::steps_of_all(scale_of(writer, 3))),
                  runs.outer, runs.size, runs.inner, zero_of(writer, 4, dtype), flip_of(dtype)));
  writer.need("stowage_q8");
  writer.need("stowage_q8_softmax");
  writer.line(fmt::format("stowage_q8_softmax(&{}, (const uint8_t *){}, {}{});", layer, writer.input(0).at,
                          byte_out, writer.output().at));
}

}  // namespace

void expect_byte(const kernels::Argument& argument) {
  if (argument.dtype != DType::int8 && argument.dtype != DType::uint8)
    refuse("{} is not supported", name_of(argument.dtype));
}

void emit_byte_max_pool(Writer& writer) {
  expect_windows_of_onnx(writer);
  const Signature& signature = writer.signature();
  const kernels::Argument& x = input_of(writer, 0);
  expect_byte(x);
  if (signature.has_output(1)) refuse("it gives indices");
  if (!signature.attributes.has("kernel_shape")) refuse("kernel_shape is missing");
  const onnx_ops::Window window = onnx_ops::window_of(signature, x.shape, signature.outputs.at(0)->shape,
                                                      signature.attributes.integers("kernel_shape", {}));
  const ImageWindows it = image_windows(writer, window, x.shape[1], x.shape[1]);
  writer.need("stowage_q8");
  writer.need("stowage_q8_image");
  call_on_image(writer, it, "q8_max_pool",
                writer.layer("stowage_q8_pool_layer", fmt::format("{}{}, {}, {}\n", shape_of(it.windows),
                                                                  it.in_plane, it.out.row, flip_of(x.dtype))),
                byte_out);
}

EmitPart quantized_operators() {
  return {{"QuantizeLinear", emit_quantize_linear, RowHandling::elements},
          {"DequantizeLinear", emit_dequantize_linear, RowHandling::elements},
          {"QLinearConv", emit_scaled_conv, RowHandling::own},
          {"QLinearMatMul", emit_scaled_matrix_product},
          {"com.microsoft.QGemm", emit_scaled_gemm},
          {"com.microsoft.QLinearAdd", emit_scaled_sum<false>, RowHandling::elements},
          {"com.microsoft.QLinearAveragePool", emit_scaled_average_pool, RowHandling::own},
          {"com.microsoft.QLinearLeakyRelu", emit_table, RowHandling::elements},
          {"com.microsoft.QLinearMul", emit_scaled_product, RowHandling::elements},
          {"com.microsoft.QLinearGlobalAveragePool", emit_scaled_mean, RowHandling::own},
          {"com.microsoft.QLinearReduceMean", emit_scaled_mean_over_axes, RowHandling::own},
          {"com.microsoft.QLinearSigmoid", emit_table, RowHandling::elements},
          {"com.microsoft.QLinearSoftmax", emit_softmax_of_bytes},
          {"stowage.QLinearSub", emit_scaled_sum<true>, RowHandling::elements},
          {"stowage.Requantize", emit_table, RowHandling::elements}};
}

}  // namespace stowage::generate
