// Norms of runs of numbers: Softmax, LogSoftmax and Hardmax of ONNX, LayerNormalization and RMSNormalization with their
// variants of onnxruntime, LpNormalization, and L2_NORMALIZATION of TFLite.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generate/element_loops.h"
#include "generate/moves.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/onnx/operands.h"
#include "kernels/tflite/fixed_point.h"
#include "operators/norm.h"

namespace stowage::generate {
namespace {

using kernels::refuse;

/// What differs in norms over the last dimensions.
struct LayerNorm {
  std::size_t axis = 0;  ///< The first of them.
  float epsilon = 0;
  bool subtracts_mean = true;
  std::size_t scale = 1;  ///< The input that has it; the bias is behind it, if the mean is subtracted.
};

/// First each group by its mean and variance, then all elements by scale and bias, which are repeated.
void normalize(Writer& writer, const Operand& in, const LayerNorm& it) {
  const kernels::Signature& signature = writer.seen();
  if (in.dtype != DType::float32) refuse("it is not of float32");
  if (signature.has_output(1) || signature.has_output(2)) refuse("it gives statistics");
  const operators::NormLanes lanes = operators::lanes_of_norm(in.shape, it.axis);
  const std::string layer =
      writer.layer("stowage_norm_layer",
                   fmt::format("NULL, NULL, {}, {}, {}, {}, {}", literal(static_cast<double>(it.epsilon)),
                               lanes.lanes, kernels::count_of(in.shape, it.axis, lanes.axis),
                               lanes.rows * lanes.inner, it.subtracts_mean ? 0 : 1));
  const Operand out = writer.output();
  writer.need("stowage_norm_f32");
  writer.line(fmt::format("stowage_layer_norm_f32(&{}, {}, {}, {});", layer, in.at, out.at,
                          kernels::count_of(in.shape, 0, it.axis)));
  std::vector<LoopInput> inputs{{.operand = out}, loop_input(writer, it.scale)};
  if (it.subtracts_mean && signature.has_input(it.scale + 1))
    inputs.push_back(loop_input(writer, it.scale + 1));
  write_loops(writer, inputs, out, [](const std::vector<std::string>& elements, const std::string& place) {
    return std::vector{fmt::format("{} = {} * {} + {};", place, elements[0], elements[1],
                                   elements.size() == 3 ? elements[2] : "0.0F")};
  });
}

void emit_layer_norm(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const Operand in = writer.input(0);
  normalize(writer, in,
            {.axis = kernels::axis_of(signature.attributes.integer("axis", -1), in.shape.size()),
             .epsilon = signature.attributes.real("epsilon", 1e-5F),
             .subtracts_mean = signature.type == "LayerNormalization"});
}

/// The norm of a sum of two inputs and maybe a bias. The sum is the last output if it is wanted.
void emit_skip_norm(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const bool subtracts_mean = signature.type == "com.microsoft.SkipLayerNormalization";
  const std::size_t bias = subtracts_mean ? 4 : 3;
  const Operand sums = writer.output(signature.has_output(3) ? 3 : 0);
  std::vector<LoopInput> inputs{loop_input(writer, 0), loop_input(writer, 1)};
  if (signature.has_input(bias)) inputs.push_back(loop_input(writer, bias));
  writer.line("{");
  write_loops(writer, inputs, sums, [](const std::vector<std::string>& elements, const std::string& place) {
    return std::vector{fmt::format("{} = {};", place, fmt::join(elements, " + "))};
  });
  writer.line("}");
  normalize(writer, sums,
            {.axis = sums.shape.size() - 1,
             .epsilon = signature.attributes.real("epsilon", 1e-12F),
             .subtracts_mean = subtracts_mean,
             .scale = 2});
}

void emit_unit_length(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const kernels::Argument& input = signature.inputs.at(0).value();
  const Operand in = writer.input(0);
  const std::int64_t length = in.shape.back();
  if (in.count() == 0) return;
  const std::string kernel = fmt::format("stowage_unit_length_{}", suffix_of(input.dtype));
  writer.need(kernel);
  const std::string zero =
      is_byte(input.dtype) ? fmt::format("{}, ", kernels::affine_of(input).zero_point) : "";
  writer.line(fmt::format("{}({}{}, {}, {}, {});", kernel, zero, in.at, writer.output().at,
                          in.count() / length, length));
}

/// Runs of elements along a dimension.
struct Runs {
  std::int64_t runs = 0;
  std::int64_t count = 1;
  std::int64_t step = 1;  ///< From one element of a run to the next.

  /// The first element of run i, and element j from there on, as C.
  [[nodiscard]] std::string first() const {
    return step == 1 ? fmt::format("i * {}", count)
                     : fmt::format("i / {0} * {1} + i % {0}", step, step * count);
  }
  [[nodiscard]] std::string at() const { return step == 1 ? "[j]" : fmt::format("[j * {}]", step); }
};

Runs runs_along(const Shape& shape, std::size_t axis, std::size_t end) {
  Runs it{.count = kernels::count_of(shape, axis, end), .step = kernels::count_of(shape, end, shape.size())};
  it.runs = kernels::count_of(shape) / std::max<std::int64_t>(it.count, 1);
  return it;
}

/// Of Softmax and its like: over a dimension; until set 13, over all from it on.
Runs runs_of_shares(const kernels::Signature& signature) {
  const Shape& shape = signature.inputs.at(0).value().shape;
  const bool is_flat = signature.version < 13;
  const std::int64_t given = signature.attributes.integer("axis", is_flat ? 1 : -1);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  return runs_along(shape, axis, is_flat ? shape.size() : std::min(axis + 1, shape.size()));
}

/// Opens a loop over the runs, with pointers `from` and `to`.
void begin_runs(Writer& writer, const Runs& runs, std::string_view type) {
  writer.need_math();
  writer.declare("int32_t i, j;");
  writer.line(fmt::format("for (i = 0; i < {}; i++) {{", runs.runs));
  writer.line(fmt::format("  const {} *const from = {} + {};", type, writer.input(0).at, runs.first()));
  writer.line(fmt::format("  {} *const to = {} + {};", type, writer.output().at, runs.first()));
}

DType real_type_of(const kernels::Signature& signature) {
  const DType dtype = signature.inputs.at(0).value().dtype;
  if (dtype != DType::float32 && dtype != DType::float64) refuse("it is of {}", name_of(dtype));
  return dtype;
}

/// What was added shrinks when a larger number comes. Source: M. Milakov, N. Gimelshein, "Online normalizer calculation
/// for softmax", 2018.
void emit_shares(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const DType dtype = real_type_of(signature);
  if (writer.input(0).count() == 0) return;
  expect_countable(writer.input(0));
  const Runs runs = runs_of_shares(signature);
  const std::string at = runs.at();
  const std::string_view type = c_type(dtype);
  const std::string_view exp = dtype == DType::float32 ? "expf" : "exp";
  constexpr std::string_view of_most = "(most == INFINITY ? (double)NAN : 1.0)";
  begin_runs(writer, runs, type);
  writer.line(fmt::format("  {} most = from[0];\n  double total = {};", type, of_most));
  writer.line(fmt::format("  for (j = 1; j < {}; j++) {{", runs.count));
  writer.line(fmt::format("    const {} x = from{};", type, at));
  writer.line("    if (x > most) {");
  writer.line(fmt::format("      total *= (double){}(most - x);\n      most = x;", exp));
  writer.line(fmt::format("      total += {};\n    }} else {{", of_most));
  writer.line(fmt::format("      total += x == most ? 1.0 : (double){}(x - most);\n    }}\n  }}", exp));
  writer.line(fmt::format("  for (j = 0; j < {}; j++)", runs.count));
  writer.line(signature.type == "LogSoftmax"
                  ? fmt::format("    to{0} = from{0} - most - ({1})log(total);", at, type)
                  : fmt::format("    to{0} = {2}(from{0} - most) / ({1})total;", at, type, exp));
  writer.line("}");
}

/// LOG_SOFTMAX of TFLite, which adds up in single precision, behind the largest number.
void emit_log_shares(Writer& writer) {
  const Operand in = writer.input(0);
  if (writer.seen().outputs.at(0)->dtype != DType::float32) refuse("it is not of float32");
  if (in.count() == 0) return;
  expect_countable(in);
  const Runs runs = runs_along(in.shape, in.shape.size() - 1, in.shape.size());
  begin_runs(writer, runs, "float");
  writer.line("  float most = from[0], total = 0.0F;");
  writer.line(fmt::format("  for (j = 1; j < {}; j++)\n    if (most < from[j]) most = from[j];", runs.count));
  writer.line(fmt::format("  for (j = 0; j < {}; j++) total += expf(from[j] - most);", runs.count));
  writer.line("  total = logf(total);");
  writer.line(fmt::format("  for (j = 0; j < {}; j++) to[j] = from[j] - most - total;\n}}", runs.count));
}

/// LOCAL_RESPONSE_NORMALIZATION of TFLite: over the channels next to each one.
void emit_local_response_of_tflite(Writer& writer) {
  const Operand in = writer.input(0);
  if (writer.seen().outputs.at(0)->dtype != DType::float32) refuse("it is not of float32");
  if (in.count() == 0) return;
  expect_countable(in);
  const Attributes& attributes = writer.signature().attributes;
  const Runs runs = runs_along(in.shape, in.shape.size() - 1, in.shape.size());
  const std::int64_t radius = std::min(attributes.integer("radius", 0), runs.count);
  begin_runs(writer, runs, "float");
  writer.declare("int32_t k;");
  writer.line(fmt::format("  for (j = 0; j < {}; j++) {{\n    float squares = 0.0F;", runs.count));
  writer.line(
      fmt::format("    for (k = j < {0} ? 0 : j - {0}; k < {1} && k <= j + {0}; k++)", radius, runs.count));
  writer.line("      squares += from[k] * from[k];");
  writer.line(fmt::format("    to[j] = from[j] * powf({} + {} * squares, {});\n  }}\n}}",
                          literal(attributes.real("bias", 0)), literal(attributes.real("alpha", 0)),
                          literal(-attributes.real("beta", 0))));
}

/// 1 where the first of the largest is, else 0.
void emit_hardmax(Writer& writer) {
  const DType dtype = real_type_of(writer.seen());
  if (writer.input(0).count() == 0) return;
  expect_countable(writer.input(0));
  const Runs runs = runs_of_shares(writer.seen());
  const std::string at = runs.at();
  begin_runs(writer, runs, c_type(dtype));
  writer.line(fmt::format("  {} most = from[0];\n  int32_t best = 0;", c_type(dtype)));
  writer.line(fmt::format("  for (j = 1; j < {}; j++)", runs.count));
  writer.line(fmt::format("    if (from{0} > most) {{\n      most = from{0};\n      best = j;\n    }}", at));
  writer.line(fmt::format("  for (j = 0; j < {}; j++) to{} = j == best ? 1 : 0;\n}}", runs.count, at));
}

/// By the sum of sizes, or the root of the sum of squares; a norm of 0 gives 0.
void emit_length_norm(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const DType dtype = real_type_of(signature);
  const Shape& shape = signature.inputs[0]->shape;
  expect_countable(writer.input(0));
  const std::size_t axis = kernels::axis_of(signature.attributes.integer("axis", -1), shape.size());
  const Runs runs = runs_along(shape, axis, axis + 1);
  const std::string at = runs.at();
  const bool is_of_sizes = signature.attributes.integer("p", 2) == 1;
  begin_runs(writer, runs, c_type(dtype));
  writer.line("  double total = 0.0;");
  writer.line(
      fmt::format("  for (j = 0; j < {}; j++) {{\n    const double x = (double)from{};", runs.count, at));
  writer.line(is_of_sizes ? "    total = total + fabs(x);" : "    total = total + x * x;");
  writer.line(is_of_sizes ? "  }" : "  }\n  total = sqrt(total);");
  writer.line(fmt::format("  for (j = 0; j < {}; j++)", runs.count));
  writer.line(
      fmt::format("    to{0} = ({1})(total == 0.0 ? 0.0 : (double)from{0} / total);\n}}", at, c_type(dtype)));
}

/// The sum of the elements so far, with or without the own one, from either end.
void emit_running_sum(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const Operand in = writer.input(0);
  expect_countable(in);
  const auto axes = kernels::onnx_ops::integers_at(signature, 1);
  if (!axes || axes->size() != 1) refuse("its axis is no number");
  const std::size_t axis = kernels::axis_of(axes->front(), in.shape.size());
  const Runs runs = runs_along(in.shape, axis, axis + 1);
  const bool is_reverse = signature.attributes.integer("reverse", 0) != 0;
  const bool excludes = signature.attributes.integer("exclusive", 0) != 0;
  const std::string_view type = c_type(in.dtype);
  if (in.dtype == DType::boolean) refuse("it is of booleans");
  const bool is_real = in.dtype == DType::float32 || in.dtype == DType::float64;
  const bool is_wide = in.dtype == DType::int64 || in.dtype == DType::uint64;
  const std::string next = is_real ? fmt::format("total + from{}", runs.at())
                                   : fmt::format("({0})(({1})total + ({1})from{2})", type,
                                                 is_wide ? "uint64_t" : "uint32_t", runs.at());
  begin_runs(writer, runs, type);
  writer.line(fmt::format("  {} total = 0;", type));
  writer.line(is_reverse ? fmt::format("  for (j = {}; j >= 0; j--) {{", runs.count - 1)
                         : fmt::format("  for (j = 0; j < {}; j++) {{", runs.count));
  writer.line(fmt::format("    const {} next = {};", type, next));
  writer.line(fmt::format("    to{} = {};", runs.at(), excludes ? "total" : "next"));
  writer.line("    total = next;\n  }\n}");
}

}  // namespace

EmitPart layer_norm_operators() {
  return {{"Softmax", emit_shares},
          {"LogSoftmax", emit_shares},
          {"Hardmax", emit_hardmax},
          {"LpNormalization", emit_length_norm},
          {"CumSum", emit_running_sum},
          {"LayerNormalization", emit_layer_norm},
          {"RMSNormalization", emit_layer_norm},
          {"SimplifiedLayerNormalization", emit_layer_norm},
          {"com.microsoft.SkipLayerNormalization", emit_skip_norm},
          {"com.microsoft.SkipSimplifiedLayerNormalization", emit_skip_norm},
          {"L2_NORMALIZATION", emit_unit_length},
          {"LOCAL_RESPONSE_NORMALIZATION", emit_local_response_of_tflite},
          {"LOG_SOFTMAX", emit_log_shares}};
}

}  // namespace stowage::generate
