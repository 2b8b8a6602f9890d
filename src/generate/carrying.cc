// Norms of ONNX over an image, which add all rows to sums before they write the first one. As a whole, they need no memory
// beside their operands.

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "generate/images.h"
#include "generate/text.h"
#include "kernels/kernels.h"

namespace stowage::generate {
namespace {

using kernels::refuse;

/// Numbers for each channel; of fewer numbers, each is for as many channels.
std::string for_channels(Writer& writer, std::size_t i, std::int64_t channels, std::string_view name) {
  const auto data = constant_data(writer, i);
  std::vector<float> numbers(data.size() / sizeof(float));
  std::memcpy(numbers.data(), data.data(), data.size());
  std::vector<float> all;
  const std::size_t each = static_cast<std::size_t>(channels) / numbers.size();
  for (const float number : numbers) all.insert(all.end(), each, number);
  return writer.sources().array(fmt::format("{}_{}", name, writer.number()),
                                fmt::format("{} of operator {}", name, writer.number()), DType::float32, all);
}

/// Of so many channels at once.
std::string norm_layer(Writer& writer, std::int64_t channels) {
  const kernels::Signature& signature = writer.signature();
  const Shape& in = signature.inputs.at(0)->shape;
  const bool is_instance = signature.type == "InstanceNormalization";
  const std::int64_t groups = is_instance ? in[1] : signature.attributes.integer("num_groups", in[1]);
  return writer.layer("stowage_norm_layer",
                      fmt::format("{}, {}, {}, {}, {}, {}, 0", for_channels(writer, 1, in[1], "scale"),
                                  for_channels(writer, 2, in[1], "shift"),
                                  literal(static_cast<double>(signature.attributes.real("epsilon", 1e-5F))),
                                  channels, in[1] / groups, kernels::count_of(in, 2, in.size())));
}

/// Rows are channels, each with a norm of its own.
void norm_of_channel(Writer& writer) {
  if (writer.axis()->axis != 1 || writer.signature().type != "InstanceNormalization")
    refuse("it runs by rows along axis {}", writer.axis()->axis);
  const std::string layer = norm_layer(writer, 1);
  writer.declare(fmt::format("stowage_norm_layer one = {};", layer));
  writer.line(fmt::format("one.scale = {0}.scale + y;\none.bias = {0}.bias + y;", layer));
  writer.line(fmt::format("stowage_norm_f32(&one, {}, {});", writer.input_row(0, 1, "y").at,
                          writer.output_row(1, "y").at));
}

void emit_norm(Writer& writer) {
  static_cast<void>(
      kernels::prepare(writer.signature(), KernelSet::plain));  // refuses what it cannot compute
  const kernels::Argument& input = writer.signature().inputs.at(0).value();
  if (input.dtype != DType::float32) refuse("it is not of float32");
  if (input.shape[0] != 1) refuse("it has a batch of {}, expected 1", input.shape[0]);
  writer.need("stowage_norm_f32");
  if (writer.axis() != nullptr) return norm_of_channel(writer);
  if (writer.carried() == nullptr)
    return writer.line(fmt::format("stowage_norm_f32(&{}, {}, {});", norm_layer(writer, input.shape[1]),
                                   writer.input(0).at, writer.output().at));
  expect_images_of_onnx(writer);
  if (writer.kind().axis != axis_of_height) refuse("it runs by rows along axis {}", *writer.kind().axis);
  writer.declare_kept(writer.kind().is_first_pass ? *writer.kind().sums : *writer.kind().carry,
                      "stowage_moments", "sums");
  writer.loop_over(input.shape[2]);
  const Channel in = writer.image_row_of_input("y");
  const std::int64_t width = input.shape[3];
  if (writer.kind().is_first_pass)
    return writer.line(fmt::format("stowage_norm_add_f32({}, {}, {}, {}, y * {}, sums);", in.at,
                                   input.shape[1], in.row, width, width));
  const Channel out = writer.image_row_of_output("y");
  writer.line(fmt::format("stowage_norm_row_f32(&{}, sums, {}, {}, {}, {}, {});",
                          norm_layer(writer, input.shape[1]), in.at, in.row, out.at, out.row, width));
}

}  // namespace

EmitPart carrying_operators() {
  return {{"InstanceNormalization", emit_norm, RowHandling::own},
          {"GroupNormalization", emit_norm, RowHandling::own}};
}

}  // namespace stowage::generate
