// Operators of ONNX on float32 that compute each element of the output from elements at the same place, and Resize,
// whose places are a table for the columns and one for the rows.

#include <fmt/format.h>

#include "generate/images.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/onnx/resize.h"

namespace stowage::generate {
namespace {

using kernels::refuse;

/// Refuses all but float32, and what our own kernel refuses.
void expect_real(const Writer& writer) {
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));
  if (writer.signature().outputs.at(0)->dtype != DType::float32) refuse("it is not of float32");
}

/// A function of one element; `first` are the kernel's first arguments.
void call_function(Writer& writer, std::string_view kernel, const std::string& first) {
  expect_real(writer);
  const Operand in = writer.input(0);
  writer.need("stowage_activation_onnx");
  writer.line(
      fmt::format("stowage_{}_f32({}{}, {}, {});", kernel, first, in.at, writer.output().at, in.count()));
}

void emit_hard_sigmoid(Writer& writer) {
  const Attributes& attributes = writer.signature().attributes;
  call_function(writer, "hard_sigmoid",
                fmt::format("{}, {}, ", literal(attributes.real("alpha", 0.2F)),
                            literal(attributes.real("beta", 0.5F))));
}

void emit_hard_swish_of_onnx(Writer& writer) { call_function(writer, "swish_by_sixths", ""); }

void emit_leaky_relu_of_onnx(Writer& writer) {
  call_function(writer, "leaky_relu", literal(writer.signature().attributes.real("alpha", 0.01F)) + ", ");
}

/// The first two, then every other one with the output.
void emit_sum_of_all(Writer& writer) {
  if (writer.signature().inputs.size() == 2) return emit_sum_of_two(writer);
  expect_real(writer);
  const Operand out = writer.output();
  const std::size_t count = writer.signature().inputs.size();
  if (count < 2) refuse("it has {} inputs, expected at least 2", count);
  writer.need("stowage_arithmetic_f32");
  const std::string layer = writer.layer("stowage_limits_f32", "-INFINITY, INFINITY");
  std::string sum = writer.input(0).at;
  for (std::size_t i = 1; i < count; ++i) {
    const Operand in = writer.input(i);
    if (in.shape != out.shape || writer.input(0).shape != out.shape)
      refuse("it repeats one of more than two inputs");
    writer.line(
        fmt::format("stowage_add_f32(&{}, {}, 1, {}, 1, {}, {});", layer, sum, in.at, out.at, out.count()));
    sum = out.at;
  }
}

/// Places of the input along an axis.
std::string nearest_table(Writer& writer, const operators::Resizing& resizing, std::size_t axis,
                          const std::string& name) {
  std::vector<std::uint16_t> places;
  for (const operators::Taps& taps : operators::taps_of(resizing, resizing.axes.at(axis)))
    places.push_back(static_cast<std::uint16_t>(taps.at(0).at));
  return writer.sources().array(fmt::format("nearest_{}_{}", name, writer.number()),
                                fmt::format("nearest {} of operator {}", name, writer.number()),
                                DType::uint16, places);
}

/// Places and weights along an axis: so many taps for each place of the output, those that it lacks with weight 0.
struct TapTables {
  std::size_t taps = 1;
  std::string places{};
  std::string weights{};
};

TapTables tap_tables(Writer& writer, const operators::Resizing& resizing, std::size_t axis, std::size_t taps,
                     const std::string& name) {
  std::vector<std::uint16_t> places;
  std::vector<double> weights;
  for (const operators::Taps& own : operators::taps_of(resizing, resizing.axes.at(axis))) {
    if (own.empty() || own.size() > taps) refuse("a place of its output lies outside of its input");
    for (std::size_t t = 0; t < taps; ++t) {
      places.push_back(static_cast<std::uint16_t>(own[t < own.size() ? t : 0].at));
      weights.push_back(t < own.size() ? own[t].weight : 0);
    }
  }
  const std::string n = writer.number();
  return {taps,
          writer.sources().array(fmt::format("{}_{}", name, n), fmt::format("{} of operator {}", name, n),
                                 DType::uint16, places),
          writer.sources().array(fmt::format("weights_of_{}_{}", name, n),
                                 fmt::format("weights of these {}", name), DType::float64, weights)};
}

/// Linear and cubic.
void resize_by_sums(Writer& writer, const operators::Resizing& resizing) {
  if (writer.signature().outputs.at(0)->dtype != DType::float32) refuse("it is not of float32");
  const Shape& out = writer.signature().outputs[0]->shape;
  const std::size_t taps = resizing.mode == operators::ResizeMode::linear ? 2 : 4;
  const TapTables rows = tap_tables(writer, resizing, 2, taps, "rows");
  const TapTables columns = tap_tables(writer, resizing, 3, taps, "columns");
  const std::string place = fmt::format("{}[y * {} + t]", rows.places, taps);
  const Channel from = writer.image_row_of_input(place);
  const Channel to = writer.image_row_of_output("y");
  const std::string layer = writer.layer(
      "stowage_image_resize_layer", fmt::format("{}, {}, {}, {}, {}, {}, {}", columns.places, columns.weights,
                                                taps, out[3], out[1], from.row, to.row));
  writer.need("stowage_resize");
  writer.loop_over(out[2]);
  writer.declare(fmt::format("const void *rows[{}];", taps));
  writer.declare("int32_t t;");
  writer.line(fmt::format("for (t = 0; t < {}; t++) rows[t] = {};", taps, from.at));
  writer.line(
      fmt::format("stowage_image_resize_f32(&{}, rows, {} + y * {}, {});", layer, rows.weights, taps, to.at));
}

void emit_resize(Writer& writer) {
  expect_images_of_onnx(writer);
  if (axis_of_lines(writer) != axis_of_height) refuse("it runs by columns");
  const kernels::Signature& signature = writer.signature();
  // The region, which newer sets have in front of the scales, is for what is refused below.
  const std::size_t first = operators::ResizeCall::is_first(signature.type, signature.version) ? 1 : 2;
  for (std::size_t i = first; i < signature.inputs.size(); ++i)
    if (signature.inputs[i] && !writer.sources().is_constant(writer.op().inputs[i].value()))
      refuse("its input {} is not constant", i);
  const operators::Resizing resizing = kernels::onnx_ops::resizing_of(signature);
  const Shape& in = signature.inputs.at(0)->shape;
  const Shape& out = signature.outputs.at(0)->shape;
  if (resizing.is_cropped()) refuse("it cuts off elements");
  constexpr std::int64_t most = 65535;
  if (in[1] != out[1] || in[2] > most || in[3] > most)
    refuse("it resizes {} to {}", show_shape(in), show_shape(out));
  if (resizing.mode != operators::ResizeMode::nearest) return resize_by_sums(writer, resizing);
  const std::string rows = nearest_table(writer, resizing, 2, "rows");
  const std::string columns = nearest_table(writer, resizing, 3, "columns");
  const Channel from = writer.image_row_of_input(rows + "[y]");
  const Channel to = writer.image_row_of_output("y");
  writer.need("stowage_resize");
  writer.loop_over(out[2]);
  const auto element = static_cast<std::int64_t>(kernels::element_size(signature.outputs[0]->dtype));
  writer.line(fmt::format("stowage_image_resize_nearest({}, {}, {}, {}, {}, {}, {}, {});", columns, out[3],
                          element, out[1], from.row * element, to.row * element, from.at, to.at));
}

}  // namespace

EmitPart onnx_element_operators() {
  constexpr RowHandling elements = RowHandling::elements;
  return {{"HardSigmoid", emit_hard_sigmoid, elements},     {"HardSwish", emit_hard_swish_of_onnx, elements},
          {"LeakyRelu", emit_leaky_relu_of_onnx, elements}, {"Sum", emit_sum_of_all, elements},
          {"Resize", emit_resize, RowHandling::own},        {"Upsample", emit_resize, RowHandling::own}};
}

}  // namespace stowage::generate
