// RNN, GRU and LSTM of ONNX, and onnxruntime's LSTM with weights of bytes. Steps are rows: then the state of all items is
// carried from row to row. As a whole they need no memory beside their operands, unless the first output is left
// out, or a GRU of more than 128 cells resets early.

#include "generate/recurrent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "generate/text.h"
#include "generate/windows.h"
#include "kernels/kernels.h"
#include "kernels/onnx/recurrent.h"

namespace stowage::generate {
namespace {

using kernels::refuse;

std::string operand_or_null(Writer& writer, std::size_t i) {
  return writer.signature().has_input(i) ? writer.input(i).at : "NULL";
}

std::string output_or_null(Writer& writer, std::size_t i) {
  return writer.signature().has_output(i) ? writer.output(i).at : "NULL";
}

/// Refuses what the C kernels do not compute.
void expect_known(const Writer& writer, const kernels::onnx_ops::Network& n) {
  const kernels::Signature& signature = writer.signature();
  if (signature.inputs.at(0)->dtype != DType::float32) refuse("it is not of float32");
  if (writer.axis() != nullptr) refuse("it runs one sequence after the other");
  if (n.steps == 0) refuse("it has no steps");
}

struct RecurrentType {
  std::string_view name;
  std::int64_t gates;
  bool has_byte_weights = false;  ///< They are turned.
};
constexpr std::array<RecurrentType, 4> recurrent_types{
    {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}, {"com.microsoft.DynamicQuantizeLSTM", 4, true}}};

const RecurrentType* known_type(std::string_view type) {
  const auto found = std::ranges::find(recurrent_types, type, &RecurrentType::name);
  return found == recurrent_types.end() ? nullptr : &*found;
}

kernels::onnx_ops::Network network_of(const kernels::Signature& signature, std::int64_t gates,
                                      bool has_byte_weights) {
  const kernels::Argument& weights = kernels::onnx_ops::input_of(signature, 1);
  kernels::onnx_ops::expect_rank(weights, 3, "the weights");
  return kernels::onnx_ops::network_of(signature, gates, weights.shape[has_byte_weights ? 2 : 1] / gates);
}

/// The address of an array of its functions; NULL if they are the usual ones.
std::string functions_of(Writer& writer, const kernels::onnx_ops::Network& n) {
  const kernels::Signature& signature = writer.signature();
  if (kernels::onnx_ops::has_usual_activations(signature, n.gates)) return "NULL";
  writer.need("stowage_recurrent_functions");
  std::string fields;
  for (const auto& it :
       kernels::onnx_ops::activations_of(signature, n.gates, static_cast<std::size_t>(n.directions)))
    fields += fmt::format("{}\n    {{stowage_recurrent_{}, {}, {}}}", fields.empty() ? "" : ",", it.name,
                          literal(it.alpha), literal(it.beta));
  return "&" + writer.layer("stowage_recurrent_functions", "{" + fields + "}");
}

/// The fields of a stowage_recurrent_layer.
std::string shape_of(Writer& writer, const kernels::onnx_ops::Network& n) {
  for (const std::size_t i : {3U, 7U})
    if (writer.signature().has_input(i)) static_cast<void>(constant_data(writer, i));
  return fmt::format(
      "{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},\n    {}, {}, {}, {}, {}, {}, {}}}", n.gates,
      n.steps, n.batch, n.input, n.hidden, n.directions, n.is_reverse ? 1 : 0, n.forgets_input ? 1 : 0,
      n.gates == 3 && !n.resets_late ? 1 : 0, literal(n.clip), functions_of(writer, n),
      operand_or_null(writer, 3), n.has_cells() ? operand_or_null(writer, 7) : "NULL", n.x_at(1, 0),
      n.x_at(0, 1), n.y_at(1, 0, 0), n.y_at(0, 1, 0), n.y_at(0, 0, 1), n.state_at(1, 0), n.state_at(0, 1));
}

/// Declares the operands, with these for the first input and output.
void declare_operands(Writer& writer, const kernels::onnx_ops::Network& n, const std::string& input,
                      const std::string& output) {
  const bool has_cells = n.has_cells();
  const Bytes scratch = recurrent_scratch(writer.op().type, writer.signature());
  const std::string memory =
      scratch == 0 ? "NULL" : "(float *)(void *)(" + writer.needed_scratch(scratch, sizeof(float)) + ")";
  writer.line(fmt::format("const stowage_recurrent_operands at = {{{}, {}, {}, {},\n  {}, {}, {}, {}}};",
                          input, operand_or_null(writer, 4), operand_or_null(writer, 5),
                          has_cells ? operand_or_null(writer, 6) : "NULL", output, output_or_null(writer, 1),
                          has_cells ? output_or_null(writer, 2) : "NULL", memory));
}

template <std::int64_t gates>
void emit_recurrent(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  const kernels::onnx_ops::Network n = network_of(signature, gates, false);
  expect_known(writer, n);
  for (const std::size_t i : {1U, 2U}) static_cast<void>(constant_data(writer, i));
  writer.need("stowage_recurrent_f32");
  const std::string layer = writer.layer(
      "stowage_recurrent_f32_layer",
      fmt::format("{},\n    {}, {}", shape_of(writer, n), writer.input(1).at, writer.input(2).at));
  if (writer.carried() == nullptr) {
    declare_operands(writer, n, writer.input(0).at, output_or_null(writer, 0));
    return writer.line(fmt::format("stowage_recurrent_f32(&{}, &at);", layer));
  }
  const CarriedAxis& steps = *writer.carried();
  if (steps.backward) refuse("it runs by rows from the end");
  if (!writer.kind().carry) refuse("its plan has no room for its state");
  writer.declare_kept(*writer.kind().carry, "float", "carried");
  writer.loop_over(n.steps);
  declare_operands(writer, n, writer.input_row(0, steps.input_axis, "y").at,
                   writer.output_row(steps.axis, "y").at);
  writer.line(fmt::format("stowage_recurrent_step_f32(&{}, y, &at, carried);", layer));
}

/// The fields of a stowage_byte_weights: weights as int8 and a zero point for each direction.
std::string byte_weights(Writer& writer, const kernels::onnx_ops::Network& n, std::size_t weights,
                         std::size_t scale, std::size_t zero, std::string_view name) {
  constexpr std::byte sign{0x80};
  const kernels::Argument& argument = writer.signature().inputs.at(weights).value();
  const bool is_signed = argument.dtype == DType::int8;
  const auto data = constant_data(writer, weights);
  const auto zeros = constant_data(writer, zero);
  std::vector<std::byte> numbers(data.begin(), data.end());
  if (!is_signed)
    std::ranges::transform(numbers, numbers.begin(), [](std::byte byte) { return byte ^ sign; });
  const std::size_t each = zeros.size() / static_cast<std::size_t>(n.directions);
  std::vector<std::int32_t> own_zeros;
  for (std::size_t i = 0; i < zeros.size(); i += each) {
    const auto own = zeros.subspan(i, each);
    if (std::ranges::any_of(own, [&](std::byte other) { return other != own[0]; }))
      refuse("its weights have several zero points in a direction");
    own_zeros.push_back(static_cast<std::int8_t>(is_signed ? own[0] : own[0] ^ sign));
  }
  // Sums of products of bytes stay within 32 bits.
  constexpr std::int64_t most_terms = 33000;
  if (argument.shape.at(1) > most_terms) refuse("it adds up {} products", argument.shape[1]);
  static_cast<void>(constant_data(writer, scale));
  const std::string of = fmt::format(" of operator {}", writer.number());
  Sources& sources = writer.sources();
  const std::string array =
      is_signed ? writer.input(weights).at
                : sources.array(fmt::format("{}_weights_{}", name, writer.number()),
                                fmt::format("{} weights{}", name, of), DType::int8, std::move(numbers));
  return fmt::format("{{{}, {}, {}, {}}}", array, writer.input(scale).at,
                     sources.array(fmt::format("{}_zeros_{}", name, writer.number()),
                                   "zero points of these weights", DType::int32, own_zeros),
                     writer.signature().inputs.at(scale)->shape.size() == 2 ? 1 : 0);
}

void emit_byte_lstm(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  const kernels::onnx_ops::Network n = network_of(signature, 4, true);
  expect_known(writer, n);
  writer.need("stowage_recurrent_q8");
  writer.need("stowage_dynamic");
  const std::string layer =
      writer.layer("stowage_recurrent_q8_layer", fmt::format("{},\n    {},\n    {}", shape_of(writer, n),
                                                             byte_weights(writer, n, 1, 8, 9, "input"),
                                                             byte_weights(writer, n, 2, 10, 11, "last")));
  declare_operands(writer, n, writer.input(0).at, output_or_null(writer, 0));
  writer.line(fmt::format("stowage_recurrent_q8(&{}, &at);", layer));
}

}  // namespace

bool is_recurrent(std::string_view type) { return known_type(type) != nullptr; }

Bytes recurrent_scratch(std::string_view type, const kernels::Signature& signature) {
  const RecurrentType* const found = known_type(type);
  constexpr std::int64_t most_reset = 128;  // stowage_most_reset
  const kernels::onnx_ops::Network n = network_of(signature, found->gates, found->has_byte_weights);
  const bool has_output = signature.has_output(0);
  const bool resets_many = n.gates == 3 && !n.resets_late && n.hidden > most_reset;
  const std::int64_t parts = (has_output                                  ? 0
                              : n.has_cells() && !signature.has_output(2) ? 3
                                                                          : 2) +
                             (resets_many ? 1 : 0);
  return parts * n.hidden * (found->has_byte_weights ? n.batch : 1) * static_cast<Bytes>(sizeof(float));
}

EmitPart recurrent_operators() {
  return {{"RNN", emit_recurrent<1>, RowHandling::own, false},
          {"GRU", emit_recurrent<3>, RowHandling::own, false},
          {"LSTM", emit_recurrent<4>, RowHandling::own, false},
          {"com.microsoft.DynamicQuantizeLSTM", emit_byte_lstm, RowHandling::alike, false}};
}

}  // namespace stowage::generate
