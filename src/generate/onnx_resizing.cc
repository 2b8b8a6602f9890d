// Resize of ONNX: its places are a table for the columns and one for the rows.

#include <fmt/format.h>

#include "generate/images.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/onnx/resize.h"

namespace stowage::generate {
namespace {

using kernels::refuse;

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

EmitPart onnx_resizing_operators() {
  return {{"Resize", emit_resize, RowHandling::own}, {"Upsample", emit_resize, RowHandling::own}};
}

}  // namespace stowage::generate
