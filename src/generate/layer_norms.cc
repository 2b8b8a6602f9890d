// Norms of runs of numbers: Softmax and LogSoftmax of ONNX, LayerNormalization, and L2_NORMALIZATION of TFLite.

#include <fmt/format.h>

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

/// First each group by its mean and variance, then all elements by scale and bias, which are repeated.
void emit_layer_norm(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const Shape& shape = signature.inputs.at(0).value().shape;
  if (signature.inputs[0]->dtype != DType::float32) refuse("it is not of float32");
  if (signature.has_output(1) || signature.has_output(2)) refuse("it gives statistics");
  const std::size_t axis = kernels::axis_of(signature.attributes.integer("axis", -1), shape.size());
  const operators::NormLanes lanes = operators::lanes_of_norm(shape, axis);
  const double epsilon = static_cast<double>(signature.attributes.real("epsilon", 1e-5F));
  const std::string layer =
      writer.layer("stowage_norm_layer",
                   fmt::format("NULL, NULL, {}, {}, {}, {}", literal(epsilon), lanes.lanes,
                               kernels::count_of(shape, axis, lanes.axis), lanes.rows * lanes.inner));
  const Operand out = writer.output();
  writer.need("stowage_norm_f32");
  writer.line(fmt::format("stowage_layer_norm_f32(&{}, {}, {}, {});", layer, writer.input(0).at, out.at,
                          kernels::count_of(shape, 0, axis)));
  std::vector<LoopInput> inputs{{.operand = out}, loop_input(writer, 1)};
  if (signature.has_input(2)) inputs.push_back(loop_input(writer, 2));
  write_loops(writer, inputs, out, [](const std::vector<std::string>& elements, const std::string& place) {
    return std::vector{fmt::format("{} = {} * {} + {};", place, elements[0], elements[1],
                                   elements.size() == 3 ? elements[2] : "0.0F")};
  });
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
  constexpr std::string_view of_most = "(most == INFINITY ? (double)NAN : 1.0)";
  writer.line(fmt::format("  {} most = from[0];\n  double total = {};", type, of_most));
  writer.line(fmt::format("  for (j = 1; j < {}; j++) {{", count));
  writer.line(fmt::format("    const {} x = from{};", type, at));
  writer.line("    if (x > most) {");
  writer.line(fmt::format("      total *= (double){}(most - x);\n      most = x;", exp));
  writer.line(fmt::format("      total += {};\n    }} else {{", of_most));
  writer.line(fmt::format("      total += x == most ? 1.0 : (double){}(x - most);\n    }}\n  }}", exp));
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
          {"L2_NORMALIZATION", emit_unit_length}};
}

}  // namespace stowage::generate
