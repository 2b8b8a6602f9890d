// MEAN and SUM of quantized numbers, and what sums over time: SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generate/element_loops.h"
#include "generate/sources.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/lstm.h"

namespace stowage::generate {
namespace {

using kernels::Operands;
using kernels::refuse;

/// Which dimensions of the input are reduced.
std::vector<bool> reduced_dimensions(const Operands& operands) {
  std::vector<bool> is_reduced(operands.input(0).shape.size(), false);
  for (const std::int64_t axis : operands.constants(1, "axes"))
    is_reduced[kernels::axis_of(axis, is_reduced.size())] = true;
  return is_reduced;
}

/// The input as [outer][reduced][inner].
struct ReduceShape {
  std::int64_t outer = 1;
  std::int64_t reduced = 1;
  std::int64_t inner = 1;

  [[nodiscard]] std::string text() const { return fmt::format("{}, {}, {}", outer, reduced, inner); }
};

ReduceShape shape_for(const Shape& shape, const std::vector<bool>& is_reduced) {
  ReduceShape it;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (is_reduced[d]) {
      if (it.inner > 1) refuse("it reduces dimensions with others between them");
      it.reduced *= shape[d];
    } else {
      (it.reduced > 1 ? it.inner : it.outer) *= shape[d];
    }
  }
  if (it.reduced == 1) it.inner = std::exchange(it.outer, 1);
  return it;
}

std::string mean_layer(Writer& writer, const Operands& operands, std::int64_t count, bool is_mean) {
  const kernels::Affine input = kernels::affine_of(operands.input(0));
  const kernels::Affine output = kernels::affine_of(operands.output());
  kernels::Multiplier factor =
      kernels::multiplier_of(static_cast<double>(input.scale) / static_cast<double>(output.scale));
  if (is_mean) factor = kernels::shared_out(factor, count);
  const auto excess = static_cast<std::int32_t>(static_cast<std::uint32_t>(-input.zero_point * count));
  return writer.layer("stowage_mean_layer", fmt::format("{}, {}, {{{}, {}}}", literal(std::int64_t{excess}),
                                                        output.zero_point, factor.mantissa, factor.shift));
}

/// Steps over rows of the input: starts the sums, adds rows, and finishes after the last one.
void mean_in_steps(Writer& writer, const Operands& operands, const std::string& layer,
                   const std::vector<bool>& is_reduced, std::size_t axis) {
  const std::int64_t rows = operands.input(0).shape[axis];
  const std::int64_t outputs = kernels::count_of(operands.output().shape);
  Shape row = operands.input(0).shape;
  row[axis] = 1;
  const std::string shape = writer.layer("stowage_reduce_shape", shape_for(row, is_reduced).text());
  writer.loop_over(rows);
  writer.declare_kept(*writer.kind().sums, "int32_t", "sums");
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; y == 0 && i < {}; i++) sums[i] = 0;", outputs));
  const std::string_view suffix = suffix_of(operands.output().dtype);
  writer.line(
      fmt::format("stowage_mean_add_{}(&{}, {}, sums);", suffix, shape, writer.input_row(0, axis, "y").at));
  writer.line(fmt::format("if (y == {}) stowage_mean_end_{}(&{}, sums, {}, {});", rows - 1, suffix, layer,
                          writer.output().at, outputs));
}

}  // namespace

void emit_quantized_mean(Writer& writer) {
  const Operands operands(writer.seen());
  const std::vector<bool> is_reduced = reduced_dimensions(operands);
  std::int64_t count = 1;
  for (std::size_t d = 0; d < is_reduced.size(); ++d)
    if (is_reduced[d]) count *= operands.input(0).shape[d];
  const std::string layer = mean_layer(writer, operands, count, writer.op().type == "MEAN");
  const std::string kernel = fmt::format("stowage_mean_{}", suffix_of(operands.output().dtype));
  writer.need(kernel);
  if (writer.kind().sums) return mean_in_steps(writer, operands, layer, is_reduced, *writer.kind().axis);
  const std::string shape =
      writer.layer("stowage_reduce_shape", shape_for(operands.input(0).shape, is_reduced).text());
  writer.line(
      fmt::format("{}(&{}, &{}, {}, {});", kernel, layer, shape, writer.input(0).at, writer.output().at));
}

namespace {

/// The state is written in place, although it is an input.
void emit_svdf(Writer& writer) {
  const Operands operands(writer.signature());
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));  // refuses what does not fit
  if (operands.input(0).shape[0] != 1) refuse("it has a batch of {}, expected 1", operands.input(0).shape[0]);
  const auto affine = [&](std::size_t i) { return kernels::affine_of(operands.input(i)); };
  const kernels::Affine output = kernels::affine_of(operands.output());
  const auto factor = [](const kernels::Affine& a, const kernels::Affine& b, const kernels::Affine& to) {
    const kernels::Multiplier it = kernels::multiplier_of(static_cast<double>(a.scale * b.scale / to.scale));
    return fmt::format("{{{}, {}}}", it.mantissa, it.shift);
  };
  const std::string features = writer.input(1).at;
  const std::string bias = operands.has_input(3) ? writer.input(3).at : "NULL";
  const std::string layer =
      writer.layer("stowage_svdf_layer",
                   fmt::format("{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}", operands.input(0).shape[1],
                               operands.input(1).shape[0], operands.input(2).shape[1],
                               operands.integer("rank"), affine(0).zero_point, affine(4).zero_point,
                               output.zero_point, factor(affine(0), affine(1), affine(4)),
                               factor(affine(4), affine(2), output), features, bias));
  const bool is_wide = operands.input(4).dtype == DType::int16;
  writer.need("stowage_svdf");
  writer.line(fmt::format("stowage_svdf_{}(&{}, {}, {}, {}, {});", is_wide ? "s16" : "s8", layer,
                          writer.input(2).at, writer.input(0).at, writer.state(4).at, writer.output().at));
}

std::string gate_layers(Writer& writer, const kernels::Lstm& it, kernels::GateLayer kernels::Gate::*own) {
  std::string text;
  for (const kernels::Gate& gate : it.gate) {
    const kernels::GateLayer& layer = gate.*own;
    const std::string bias = layer.bias == 0 ? "NULL" : writer.input(layer.bias).at;
    text += fmt::format("\n     {{{}, {}, {{{}, {}}}, {}}},", writer.input(layer.weights).at, bias,
                        layer.factor.mantissa, layer.factor.shift, layer.zero_point);
  }
  return "{" + text + "}";
}

}  // namespace

std::string sigmoid_table(Writer& writer) {
  const kernels::SigmoidTable table;
  return writer.sources().array("sigmoid_" + writer.number(), "values of the sigmoid", DType::uint16,
                                std::vector<std::uint16_t>(table.values().begin(), table.values().end()));
}

namespace {

/// The states are written in place, although they are inputs.
void emit_lstm(Writer& writer) {
  const kernels::Lstm it = kernels::lstm_of(Operands(writer.signature()));
  const std::string table = sigmoid_table(writer);
  const auto factor = [](const kernels::Multiplier& own) {
    return fmt::format("{{{}, {}}}", own.mantissa, own.shift);
  };
  const CarriedAxis* const steps = writer.carried();  // else all of them
  const std::string layer =
      writer.layer("stowage_lstm_layer",
                   fmt::format("\n    {},\n    {},\n    {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},\n",
                               gate_layers(writer, it, &kernels::Gate::from_input),
                               gate_layers(writer, it, &kernels::Gate::from_output), table, it.batches,
                               steps != nullptr ? 1 : it.steps, it.inputs, it.cells, it.is_time_major ? 1 : 0,
                               factor(it.forget), factor(it.learn), factor(it.show), it.output_zero, it.clip,
                               it.tanh_shift));
  writer.need("stowage_lstm_s8");
  if (steps != nullptr) writer.loop_over(it.steps);
  const Operand in = steps != nullptr ? writer.input_row(0, steps->input_axis, "y") : writer.input(0);
  const Operand out = steps != nullptr ? writer.output_row(steps->axis, "y") : writer.output();
  writer.line(fmt::format("stowage_lstm_s8(&{}, {}, {}, {}, {});", layer, in.at,
                          writer.state(kernels::output_state).at, writer.state(kernels::cell_state).at,
                          out.at));
}

}  // namespace

EmitPart reduction_operators() {
  return {{"SVDF", emit_svdf}, {"UNIDIRECTIONAL_SEQUENCE_LSTM", emit_lstm, RowHandling::own}};
}

}  // namespace stowage::generate
