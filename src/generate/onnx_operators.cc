// BatchNormalization and LRN of ONNX on float32.

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

namespace stowage::generate {

using kernels::refuse;

namespace {

/// BatchNormalization by scales or statistics that are computed.
void normalize_by_inputs(Writer& writer) {
  const Operand out = writer.output();
  std::vector<LoopInput> inputs;
  for (std::size_t i = 0; i < 5; ++i) {
    inputs.push_back(loop_input(writer, i));
    if (inputs.back().operand.dtype != DType::float32) refuse("input {} is not float32", i);
    if (i > 0) inputs.back().operand.shape.resize(out.shape.size() - 1, 1);
  }
  const std::string epsilon =
      literal(static_cast<double>(writer.signature().attributes.real("epsilon", 1e-5F)));
  writer.need_math();
  write_loops(writer, inputs, out, [&](const std::vector<std::string>& in, const std::string& place) {
    return std::vector{
        fmt::format("const double factor = (double){} / sqrt((double){} + {});", in[1], in[4], epsilon),
        fmt::format("const double shift = (double){} - (double){} * factor;", in[2], in[3]),
        fmt::format("{} = (float)factor * {} + (float)shift;", place, in[0])};
  });
}

/// BatchNormalization with given statistics: a factor and a number to add for each channel.
void emit_batch_normalization(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  static_cast<void>(
      kernels::prepare(writer.signature(), KernelSet::plain));  // refuses what it cannot compute
  const Shape& shape = writer.signature().inputs.at(0)->shape;
  if (shape.size() < 2) refuse("its input is {}", show_shape(shape));
  const auto is_constant = [&](std::size_t i) {
    return writer.sources().is_constant(writer.op().inputs.at(i).value());
  };
  if (shape[0] != 1 || !is_constant(1) || !is_constant(2) || !is_constant(3) || !is_constant(4))
    return normalize_by_inputs(writer);
  const auto numbers = [&](std::size_t i) {
    static_cast<void>(real_constant(writer, i));
    std::vector<float> all(static_cast<std::size_t>(shape[1]));
    std::memcpy(all.data(), constant_data(writer, i).data(), all.size() * sizeof(float));
    return all;
  };
  if (signature.inputs[0]->dtype != DType::float32) refuse("it is not of float32");
  const std::vector<float> scale = numbers(1), bias = numbers(2), mean = numbers(3), variance = numbers(4);
  const auto epsilon = static_cast<double>(signature.attributes.real("epsilon", 1e-5F));
  std::vector<float> factors;
  std::vector<float> terms;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double factor =
        static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    factors.push_back(static_cast<float>(factor));
    terms.push_back(static_cast<float>(static_cast<double>(bias[c]) - static_cast<double>(mean[c]) * factor));
  }
  const std::string n = writer.number();
  const std::string by =
      writer.sources().array("scale_" + n, "factors of operator " + n, DType::float32, factors);
  const std::string plus =
      writer.sources().array("shift_" + n, "terms of operator " + n, DType::float32, terms);
  const Operand in = writer.input(0);
  writer.need("stowage_image_f32");
  const std::int64_t channels = in.shape[1];
  writer.line(fmt::format("stowage_image_scale_f32({0}{1}, {2}{1}, {3}, {4}, {5}, {6});", by,
                          writer.of_plane(), plus, in.at, writer.output().at, channels,
                          in.count() / channels));
}

/// LRN: each number by the size of those of the channels around it, as in our own kernel.
void emit_local_response(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  static_cast<void>(kernels::prepare(signature, KernelSet::plain));  // refuses what it cannot compute
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  if (in.dtype != DType::float32) refuse("it is not of float32");
  expect_countable(in);
  const Attributes& attributes = signature.attributes;
  const std::int64_t channels = in.shape.at(1);
  const std::int64_t plane = kernels::count_of(in.shape, 2, in.shape.size());
  const std::int64_t size = attributes.integer("size", 0);
  const auto factor = static_cast<double>(attributes.real("alpha", 0.0001F)) / static_cast<double>(size);
  writer.need_math();
  writer.declare("int32_t i, c;");
  writer.line(fmt::format("const float *const from = {};", in.at));
  writer.line(fmt::format("float *const to = {};", out.at));
  writer.line(fmt::format("for (i = 0; i < {}; i++) {{", in.count()));
  writer.line(fmt::format("  const int32_t channel = i / {} % {};", std::max<std::int64_t>(plane, 1),
                          std::max<std::int64_t>(channels, 1)));
  writer.line(fmt::format("  const int32_t low = channel < {0} ? 0 : channel - {0};",
                          std::min((size - 1) / 2, channels)));
  writer.line(fmt::format("  const int32_t high = channel + {0} < {1} ? channel + {0} : {1};",
                          std::min(size / 2, channels), channels - 1));
  writer.line("  double squares = 0.0;");
  writer.line("  for (c = low; c <= high; c++) {");
  writer.line(fmt::format("    const double x = (double)from[i + (c - channel) * {}];", plane));
  writer.line("    squares = squares + x * x;");
  writer.line("  }");
  writer.line(fmt::format("  to[i] = (float)((double)from[i] / pow({} + {} * squares, {}));",
                          literal(static_cast<double>(attributes.real("bias", 1))), literal(factor),
                          literal(static_cast<double>(attributes.real("beta", 0.75F)))));
  writer.line("}");
}

}  // namespace

EmitPart onnx_operators() {
  return {{"BatchNormalization", emit_batch_normalization, RowHandling::elements},
          {"LRN", emit_local_response}};
}

}  // namespace stowage::generate
