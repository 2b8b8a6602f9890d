// Norms of runs of numbers: Softmax and LogSoftmax of ONNX, LayerNormalization and its like, and L2_NORMALIZATION of
// TFLite.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "generate/element_loops.h"
#include "generate/text.h"
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
  if (signature.inputs.at(0).value().dtype != DType::float32) refuse("it is not of float32");
  const Operand in = writer.input(0);
  const std::int64_t length = in.shape.back();
  if (in.count() == 0) return;
  writer.need("stowage_unit_length_f32");
  writer.line(fmt::format("stowage_unit_length_f32({}, {}, {}, {});", in.at, writer.output().at,
                          in.count() / length, length));
}

/// Over a dimension; until set 13, over all from it on. What was added shrinks when a larger number comes. Source: M.
/// Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018.
void emit_shares(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const Shape& shape = signature.inputs.at(0).value().shape;
  const DType dtype = signature.inputs[0]->dtype;
  if (dtype != DType::float32 && dtype != DType::float64) refuse("it is of {}", name_of(dtype));
  const bool is_flat = signature.version < 13;
  const std::int64_t given = signature.attributes.integer("axis", is_flat ? 1 : -1);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  const std::int64_t count =
      kernels::count_of(shape, axis, is_flat ? shape.size() : std::min(axis + 1, shape.size()));
  const Operand in = writer.input(0);
  if (in.count() == 0) return;
  expect_countable(in);
  const std::int64_t step = kernels::count_of(shape, axis, shape.size()) / count;
  const std::string_view type = c_type(dtype);
  const std::string_view exp = dtype == DType::float32 ? "expf" : "exp";
  const std::string first =
      step == 1 ? fmt::format("i * {}", count) : fmt::format("i / {0} * {1} + i % {0}", step, step * count);
  const std::string at = step == 1 ? "[j]" : fmt::format("[j * {}]", step);
  writer.need_math();
  writer.declare("int32_t i, j;");
  writer.line(fmt::format("for (i = 0; i < {}; i++) {{", in.count() / count));
  writer.line(fmt::format("  const {} *const from = {} + {};", type, in.at, first));
  writer.line(fmt::format("  {} *const to = {} + {};", type, writer.output().at, first));
  writer.line(fmt::format("  {} most = from[0];\n  double total = 1.0;", type));
  writer.line(fmt::format("  for (j = 1; j < {}; j++) {{", count));
  writer.line(fmt::format("    const {} x = from{};", type, at));
  writer.line("    if (x > most) {");
  writer.line(fmt::format("      total = total * (double){}(most - x) + 1.0;\n      most = x;", exp));
  writer.line(fmt::format("    }} else {{\n      total += (double){}(x - most);\n    }}\n  }}", exp));
  writer.line(fmt::format("  for (j = 0; j < {}; j++)", count));
  writer.line(signature.type == "LogSoftmax"
                  ? fmt::format("    to{0} = from{0} - most - ({1})log(total);", at, type)
                  : fmt::format("    to{0} = {2}(from{0} - most) / ({1})total;", at, type, exp));
  writer.line("}");
}

}  // namespace

EmitPart layer_norm_operators() {
  return {{"Softmax", emit_shares},
          {"LogSoftmax", emit_shares},
          {"LayerNormalization", emit_layer_norm},
          {"RMSNormalization", emit_layer_norm},
          {"SimplifiedLayerNormalization", emit_layer_norm},
          {"com.microsoft.SkipLayerNormalization", emit_skip_norm},
          {"com.microsoft.SkipSimplifiedLayerNormalization", emit_skip_norm},
          {"L2_NORMALIZATION", emit_unit_length}};
}

}  // namespace stowage::generate
