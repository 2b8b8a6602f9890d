// Operators on elements of fixed point: sums and products, QUANTIZE, DEQUANTIZE, and SOFTMAX.
//
// A function of one number of 8 bits is a table of 256 results, which our own kernel fills in. Operators of two
// inputs are calls for runs of elements, with loops around them where an input is repeated.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generate/element_loops.h"
#include "generate/text.h"
#include "generate/windows.h"
#include "kernels/kernels.h"
#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/softmax.h"

namespace stowage::generate {
namespace {

using kernels::Affine;
using kernels::Multiplier;
using kernels::Operands;
using kernels::refuse;

std::string factor_text(const Multiplier& factor) {
  return fmt::format("{{{}, {}}}", factor.mantissa, factor.shift);
}

}  // namespace

void emit_binary(Writer& writer, std::string_view kernel, const std::string& layer, std::size_t input_a,
                 std::size_t input_b, std::string_view cast) {
  Operand a = writer.input(input_a);
  Operand b = writer.input(input_b);
  Operand out = writer.output();
  if (!cast.empty()) {
    for (Operand* const in : {&a, &b}) in->at = fmt::format("(const {} *){}", cast, in->at);
    out.at = fmt::format("({} *){}", cast, out.at);
  }
  std::vector<Stretched> steps = stretched(out.shape, {a.shape, b.shape});
  const auto is_far = [](std::int64_t stride) { return stride > 1; };
  if (std::ranges::any_of(steps.back().strides, is_far)) steps.push_back({1, {0, 0}});
  const Stretched& run = steps.back();
  if (steps.size() == 1) {
    writer.line(fmt::format("stowage_{}(&{}, {}, {}, {}, {}, {}, {});", kernel, layer, a.at, run.strides[0],
                            b.at, run.strides[1], out.at, run.extent));
    return;
  }
  std::string at_a = a.at;
  std::string at_b = b.at;
  std::string at_out = out.at;
  std::string indent;
  for (std::size_t d = 0; d + 1 < steps.size(); ++d) {
    const std::string index = fmt::format("i{}", d);
    std::int64_t inner = 1;
    for (std::size_t e = d + 1; e < steps.size(); ++e) inner *= steps[e].extent;
    writer.declare(fmt::format("int32_t {};", index));
    writer.line(fmt::format("{0}for ({1} = 0; {1} < {2}; {1}++)", indent, index, steps[d].extent));
    at_a += moved(index, steps[d].strides[0]);
    at_b += moved(index, steps[d].strides[1]);
    at_out += moved(index, inner);
    indent += "  ";
  }
  writer.line(fmt::format("{}stowage_{}(&{}, {}, {}, {}, {}, {}, {});", indent, kernel, layer, at_a,
                          run.strides[0], at_b, run.strides[1], at_out, run.extent));
}

namespace {

void expect_two_alike(const Operands& operands) {
  operands.expect_counts(2, 1);
  operands.expect_alike(0);
  operands.expect_alike(1);
}

/// Whether the output is int16; refuses all but int8 and int16.
bool is_int16(const Operands& operands) {
  const DType dtype = operands.output().dtype;
  if (dtype != DType::int8 && dtype != DType::int16) kernels::refuse_type(operands);
  return dtype == DType::int16;
}

kernels::Limits limits_after(const Operands& operands, bool is_wide) {
  return kernels::activation_limits(
      operands, is_wide ? kernels::limits_of<std::int16_t>() : kernels::limits_of<std::int8_t>());
}

double twice_larger_scale(const Operands& operands) {
  return 2 * static_cast<double>(std::max(kernels::affine_of(operands.input(0)).scale,
                                          kernels::affine_of(operands.input(1)).scale));
}

/// Of two numbers that come to the common scale of `unit`; `factor` brings their result to the output's.
std::string layer_of_sum(Writer& writer, const Operands& operands, int spare_bits, bool is_difference,
                         double unit, const Multiplier& factor, const kernels::Limits& limits) {
  const Affine a = kernels::affine_of(operands.input(0));
  const Affine b = kernels::affine_of(operands.input(1));
  const auto to_unit = [&](const Affine& it) {
    return kernels::multiplier_of(static_cast<double>(it.scale) / unit);
  };
  return writer.layer("stowage_add_layer",
                      fmt::format("{}, {}, {}, {}, {}, {}, {}, {}, {}, {}", a.zero_point, b.zero_point,
                                  kernels::affine_of(operands.output()).zero_point, spare_bits,
                                  is_difference ? 1 : 0, factor_text(to_unit(a)), factor_text(to_unit(b)),
                                  factor_text(factor), limits.least, limits.most));
}

void emit_sum(Writer& writer, bool is_difference) {
  const Operands operands(writer.seen());
  expect_two_alike(operands);
  const bool is_wide = is_int16(operands);
  const int spare_bits = is_wide ? 15 : 20;
  const double unit = twice_larger_scale(operands);
  const auto output = static_cast<double>(kernels::affine_of(operands.output()).scale);
  const Multiplier factor = kernels::multiplier_of(unit / ((1 << spare_bits) * output));
  writer.need("stowage_arithmetic");
  emit_binary(writer, is_wide ? "add_s16" : "add_s8",
              layer_of_sum(writer, operands, spare_bits, is_difference, unit, factor,
                           limits_after(operands, is_wide)));
}

}  // namespace

void emit_quantized_sum(Writer& writer) { emit_sum(writer, false); }

void emit_quantized_difference(Writer& writer) { emit_sum(writer, true); }

void emit_quantized_squared_difference(Writer& writer) {
  constexpr int spare_bits = 7;  // the square of what has them fits
  const Operands operands(writer.seen());
  expect_two_alike(operands);
  if (is_int16(operands)) kernels::refuse_type(operands);
  const double unit = twice_larger_scale(operands);
  const auto output = static_cast<double>(kernels::affine_of(operands.output()).scale);
  const Multiplier factor = kernels::multiplier_of(unit * unit / ((1 << (2 * spare_bits)) * output));
  writer.need("stowage_arithmetic");
  emit_binary(
      writer, "squared_difference_s8",
      layer_of_sum(writer, operands, spare_bits, true, unit, factor, kernels::limits_of<std::int8_t>()));
}

void emit_quantized_product(Writer& writer) {
  const Operands operands(writer.seen());
  expect_two_alike(operands);
  const bool is_wide = is_int16(operands);
  const Affine a = kernels::affine_of(operands.input(0));
  const Affine b = kernels::affine_of(operands.input(1));
  const Affine output = kernels::affine_of(operands.output());
  const Multiplier factor = kernels::multiplier_of(
      static_cast<double>(a.scale) * static_cast<double>(b.scale) / static_cast<double>(output.scale));
  const kernels::Limits limits = limits_after(operands, is_wide);
  writer.need("stowage_arithmetic");
  emit_binary(writer, is_wide ? "mul_s16" : "mul_s8",
              writer.layer("stowage_mul_layer",
                           fmt::format("{}, {}, {}, {}, {}, {}", a.zero_point, b.zero_point,
                                       output.zero_point, factor_text(factor), limits.least, limits.most)));
}

namespace {

// One input

/// All 256 results of our own kernel, the least number first. Inputs behind the first are constants.
std::vector<std::byte> all_results(kernels::Signature signature) {
  constexpr std::int64_t numbers = 256;
  signature.inputs[0]->shape = {numbers};
  signature.outputs[0]->shape = {numbers};
  const kernels::Kernel kernel = kernels::prepare(signature, KernelSet::plain);
  const int flip = signature.inputs[0]->dtype == DType::int8 ? 0x80 : 0;
  std::vector<std::byte> in(numbers);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(static_cast<int>(i) ^ flip);
  std::vector<std::byte> out(in.size());
  std::vector<const std::byte*> inputs;
  for (const auto& argument : signature.inputs)
    inputs.push_back(argument ? argument->constant.data() : nullptr);
  inputs[0] = in.data();
  const std::array<std::byte*, 1> outputs{out.data()};
  kernel.run({.inputs = inputs, .outputs = outputs});
  return out;
}

}  // namespace

void emit_table(Writer& writer) {
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  for (std::size_t i = 1; i < writer.signature().inputs.size(); ++i)
    if (writer.signature().has_input(i)) static_cast<void>(constant_data(writer, i));
  const std::string table =
      writer.sources().array("table_" + writer.number(), "results of operator " + writer.number(),
                             DType::uint8, all_results(writer.seen()));
  writer.need("stowage_table_8");
  writer.line(fmt::format("stowage_table_8({}, {}, (const uint8_t *){}, (uint8_t *){}, {});", table,
                          in.dtype == DType::int8 ? "0x80" : "0", in.at, out.at, in.count()));
}

namespace {

std::string short_name(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return "s8";
    case DType::uint8:
      return "u8";
    case DType::int16:
      return "s16";
    case DType::int32:
      return "s32";
    default:
      refuse("element type {} is not supported", name_of(dtype));
  }
}

void emit_affine(Writer& writer, std::string_view kernel, const Affine& affine) {
  const Operand in = writer.input(0);
  writer.need("stowage_quantize");
  const std::string layer =
      writer.layer("stowage_affine", fmt::format("{}, {}", literal(affine.scale), affine.zero_point));
  writer.line(
      fmt::format("stowage_{}(&{}, {}, {}, {});", kernel, layer, in.at, writer.output().at, in.count()));
}

void emit_quantize(Writer& writer) {
  const Operands operands(writer.seen());
  operands.expect_counts(1, 1);
  const DType in = operands.input(0).dtype;
  const DType out = operands.output().dtype;
  const Affine to = kernels::affine_of(operands.output());
  if (is_byte(in) && is_byte(out)) return emit_table(writer);
  if (in == DType::float32) {
    if (out == DType::int32) refuse("float32 to int32 is not supported");
    return emit_affine(writer, "quantize_" + short_name(out), to);
  }
  const std::string kernel = fmt::format("requantize_{}_{}", short_name(in), short_name(out));
  constexpr std::array known{"requantize_s16_s8", "requantize_s8_s16", "requantize_s16_s32"};
  if (std::ranges::find(known, kernel) == known.end())
    refuse("{} to {} is not supported", name_of(in), name_of(out));
  const Affine from = kernels::affine_of(operands.input(0));
  const Multiplier factor =
      kernels::multiplier_of(static_cast<double>(from.scale) / static_cast<double>(to.scale));
  const Operand input = writer.input(0);
  writer.need("stowage_quantize");
  const std::string layer =
      writer.layer("stowage_requantize_layer",
                   fmt::format("{}, {}, {}", from.zero_point, to.zero_point, factor_text(factor)));
  writer.line(fmt::format("stowage_{}(&{}, {}, {}, {});", kernel, layer, input.at, writer.output().at,
                          input.count()));
}

void emit_dequantize(Writer& writer) {
  const Operands operands(writer.seen());
  operands.expect_counts(1, 1);
  const DType in = operands.input(0).dtype;
  if (operands.output().dtype != DType::float32 || in == DType::int32 || in == DType::float16)
    refuse("{} to {} is not supported", name_of(in), name_of(operands.output().dtype));
  emit_affine(writer, "dequantize_" + short_name(in), kernels::affine_of(operands.input(0)));
}

void emit_softmax(Writer& writer) {
  const Operands operands(writer.seen());
  operands.expect_counts(1, 1);
  static_cast<void>(kernels::prepare(writer.seen(), KernelSet::plain));  // refuses what it cannot compute
  const float beta = operands.real("beta");
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  const std::int64_t length = in.shape.back();
  std::string call;
  if (in.dtype == DType::float32) {
    writer.need("stowage_softmax_f32");
    call = fmt::format("stowage_softmax_f32({}, ", literal(beta));
  } else {
    const auto table =
        kernels::softmax_exponentials(static_cast<double>(beta), kernels::affine_of(operands.input(0)));
    const std::string array = writer.sources().array(
        "exponential_" + writer.number(), "exponentials of operator " + writer.number(), DType::int32, table);
    writer.need("stowage_softmax_s8");
    call = fmt::format("stowage_softmax_s8{}(&{}, ", out.dtype == DType::int16 ? "_s16" : "",
                       writer.layer("stowage_softmax_layer", fmt::format("{}, {}", array, table.size())));
  }
  if (in.count() == length) {
    writer.line(fmt::format("{}{}, {}, {});", call, in.at, out.at, length));
    return;
  }
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; i < {}; i++)", in.count() / length));
  writer.line(fmt::format("  {}{} + i * {}, {} + i * {}, {});", call, in.at, length, out.at, length, length));
}

}  // namespace

EmitPart element_operators() {
  constexpr RowHandling each = RowHandling::elements;
  return {
      {"QUANTIZE", emit_quantize, each}, {"DEQUANTIZE", emit_dequantize, each}, {"SOFTMAX", emit_softmax}};
}

}  // namespace stowage::generate
