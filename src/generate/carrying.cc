// Operators of ONNX that keep something from row to row: norms over an image, which add all rows to sums before they
// write the first one, and LSTM, whose steps are rows. As a whole, norms need no memory beside their operands, and LSTM
// has its state where its last output will be.

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
                      fmt::format("{}, {}, {:.17g}, {}, {}, {}", for_channels(writer, 1, in[1], "scale"),
                                  for_channels(writer, 2, in[1], "shift"),
                                  static_cast<double>(signature.attributes.real("epsilon", 1e-5F)), channels,
                                  in[1] / groups, kernels::count_of(in, 2, in.size())));
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

/// What an LSTM has beside its input and output.
struct Lstm {
  std::int64_t steps = 1;
  std::int64_t state = 1;  ///< Numbers of the state of all sequences.
  std::string layer{};
  std::string first_output = "NULL";  ///< What counts as the output before the first step, and as the state.
  std::string first_state = "NULL";
};

std::string operand_or_null(Writer& writer, std::size_t i) {
  return writer.signature().has_input(i) ? writer.input(i).at : "NULL";
}

Lstm lstm_of(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  static_cast<void>(kernels::prepare(signature, KernelSet::plain));  // refuses what it cannot compute
  const Shape& in = signature.inputs.at(0)->shape;
  const Attributes& attributes = signature.attributes;
  if (signature.inputs[0]->dtype != DType::float32) refuse("it is not of float32");
  if (attributes.text("direction", "forward") != "forward") refuse("it does not only run forward");
  if (attributes.has("activations") || attributes.real("clip", 0) != 0 ||
      attributes.integer("input_forget", 0) != 0)
    refuse("it has activations of its own, limits, or one gate for two");
  for (const std::size_t i : {4U, 7U})
    if (signature.has_input(i)) refuse("it has lengths of sequences, or peepholes");
  if (!signature.has_output(0)) refuse("its first output is left out");
  if (writer.axis() != nullptr) refuse("it runs one sequence after the other");
  const bool is_batch_first = attributes.integer("layout", 0) != 0;
  const std::int64_t batches = in[is_batch_first ? 0 : 1];
  if (is_batch_first && batches != 1) refuse("it has a batch of {} in front", batches);
  const std::int64_t cells = signature.inputs.at(1)->shape[1] / 4;
  for (const std::size_t i : {1U, 2U, 3U})
    if (signature.has_input(i)) static_cast<void>(constant_data(writer, i));
  return {.steps = in[is_batch_first ? 1 : 0],
          .state = batches * cells,
          .layer = writer.layer("stowage_lstm_f32_layer",
                                fmt::format("{}, {}, {}, {}, {}, {}", writer.input(1).at, writer.input(2).at,
                                            operand_or_null(writer, 3), batches, in[2], cells)),
          .first_output = operand_or_null(writer, 5),
          .first_state = operand_or_null(writer, 6)};
}

std::string copy_of_numbers(const std::string& to, const std::string& from, std::int64_t count) {
  return fmt::format("stowage_copy_runs({}, 0, {}, 0, {}, 1);", from, to,
                     count * static_cast<std::int64_t>(sizeof(float)));
}

/// The output and the state of the last step have a buffer.
void lstm_by_steps(Writer& writer, const Lstm& it) {
  const CarriedAxis& steps = *writer.carried();
  if (!writer.kind().carry) refuse("its plan has no room for its state");
  writer.declare_kept(*writer.kind().carry, "float", "last");
  writer.declare(fmt::format("float *const state = last + {};", it.state));
  const std::string out = writer.output_row(steps.axis, "y").at;
  writer.line(fmt::format("stowage_lstm_f32(&{}, {}, y == 0 ? {} : last, y == 0 ? {} : state, state, {});",
                          it.layer, writer.input_row(0, steps.input_axis, "y").at, it.first_output,
                          it.first_state, out));
  writer.line(copy_of_numbers("last", out, it.state));
  for (const std::size_t o : {1U, 2U})
    if (writer.signature().has_output(o))
      writer.line(fmt::format("if (y == {}) {}", it.steps - 1,
                              copy_of_numbers(writer.output(o).at, o == 1 ? "last" : "state", it.state)));
}

/// The last output is the one before it in the output; the state is where the very last output will be.
void lstm_as_whole(Writer& writer, const Lstm& it) {
  const std::int64_t inputs = kernels::count_of(writer.signature().inputs.at(0)->shape) / it.steps;
  const std::string out = writer.output().at;
  const std::string last_state = writer.signature().has_output(2) ? writer.output(2).at : "NULL";
  writer.declare(fmt::format("float *const output = {};", out));
  writer.declare(fmt::format("float *const state = output + {};", (it.steps - 1) * it.state));
  writer.line(
      fmt::format("stowage_lstm_f32(&{}, {} + y * {}, y == 0 ? {} : output + (y - 1) * {}, "
                  "y == 0 ? {} : state, y == {} ? {} : state, output + y * {});",
                  it.layer, writer.input(0).at, inputs, it.first_output, it.state, it.first_state,
                  it.steps - 1, last_state, it.state));
  if (writer.signature().has_output(1))
    writer.line(fmt::format("if (y == {}) {}", it.steps - 1,
                            copy_of_numbers(writer.output(1).at, "state", it.state)));
}

void emit_lstm_of_onnx(Writer& writer) {
  const Lstm it = lstm_of(writer);
  writer.need("stowage_lstm_f32");
  writer.need("stowage_movement");
  writer.loop_over(it.steps);
  writer.carried() != nullptr ? lstm_by_steps(writer, it) : lstm_as_whole(writer, it);
}

}  // namespace

EmitPart carrying_operators() {
  return {{"InstanceNormalization", emit_norm, RowHandling::own},
          {"GroupNormalization", emit_norm, RowHandling::own},
          {"LSTM", emit_lstm_of_onnx, RowHandling::own}};
}

}  // namespace stowage::generate
