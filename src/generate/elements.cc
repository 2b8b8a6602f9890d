// Operators that compute each element of the output from elements of the inputs at the same place, and SOFTMAX.
//
// A function of one number of 8 bits is a table of 256 results, which our own kernel fills in. Operators of two
// inputs are calls for runs of elements, with loops around them where an input is repeated.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generate/images.h"
#include "generate/text.h"
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

std::string limits_text(const kernels::RealLimits& limits) {
  return fmt::format("{}, {}", literal(limits.least), literal(limits.most));
}

// Two inputs

/// A dimension of the output, and how far the inputs move along it.
struct Stretched {
  std::int64_t extent = 1;
  std::int64_t a = 0;
  std::int64_t b = 0;
};

/// The dimensions of two inputs that are repeated to the output, as few as possible.
std::vector<Stretched> steps_of(const Shape& out, const Shape& a, const Shape& b) {
  const auto stride = [&](const Shape& in, std::size_t d) -> std::int64_t {
    if (in.size() > out.size()) refuse("an input has {} dimensions, the output {}", in.size(), out.size());
    const std::size_t missing = out.size() - in.size();
    if (d < missing || in[d - missing] == 1) return 0;
    if (in[d - missing] != out[d])
      refuse("an input has extent {} where the output has {}", in[d - missing], out[d]);
    return kernels::count_of(in, d - missing + 1, in.size());
  };
  std::vector<Stretched> steps;
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 1) continue;
    const Stretched next{out[d], stride(a, d), stride(b, d)};
    Stretched* const last = steps.empty() ? nullptr : &steps.back();
    if (last != nullptr && last->a == next.a * next.extent && last->b == next.b * next.extent) {
      *last = {last->extent * next.extent, next.a, next.b};
    } else {
      steps.push_back(next);
    }
  }
  if (steps.empty() || steps.back().a > 1 || steps.back().b > 1) steps.push_back({1, 0, 0});
  return steps;
}

std::string product(const std::string& index, std::int64_t stride) {
  if (stride == 0) return "";
  return stride == 1 ? " + " + index : fmt::format(" + {} * {}", index, stride);
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
  const std::vector<Stretched> steps = steps_of(out.shape, a.shape, b.shape);
  const Stretched& run = steps.back();
  if (steps.size() == 1) {
    writer.line(fmt::format("stowage_{}(&{}, {}, {}, {}, {}, {}, {});", kernel, layer, a.at, run.a, b.at,
                            run.b, out.at, run.extent));
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
    at_a += product(index, steps[d].a);
    at_b += product(index, steps[d].b);
    at_out += product(index, inner);
    indent += "  ";
  }
  writer.line(fmt::format("{}stowage_{}(&{}, {}, {}, {}, {}, {}, {});", indent, kernel, layer, at_a, run.a,
                          at_b, run.b, at_out, run.extent));
}

namespace {

void expect_two_alike(const Operands& operands) {
  operands.expect_counts(2, 1);
  operands.expect_alike(0);
  operands.expect_alike(1);
}

std::string real_limits_layer(Writer& writer, const Operands& operands) {
  writer.need("stowage_arithmetic_f32");
  return writer.layer("stowage_limits_f32", limits_text(kernels::real_activation_limits(operands)));
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

template <bool is_difference>
void emit_sum(Writer& writer) {
  const Operands operands(writer.seen());
  expect_two_alike(operands);
  if (operands.output().dtype == DType::float32)
    return emit_binary(writer, is_difference ? "sub_f32" : "add_f32", real_limits_layer(writer, operands));
  const bool is_wide = is_int16(operands);
  const int spare_bits = is_wide ? 15 : 20;
  const Affine a = kernels::affine_of(operands.input(0));
  const Affine b = kernels::affine_of(operands.input(1));
  const Affine output = kernels::affine_of(operands.output());
  const double unit = 2 * static_cast<double>(std::max(a.scale, b.scale));
  const auto to_unit = [&](const Affine& it) {
    return kernels::multiplier_of(static_cast<double>(it.scale) / unit);
  };
  const Multiplier factor =
      kernels::multiplier_of(unit / ((1 << spare_bits) * static_cast<double>(output.scale)));
  const kernels::Limits limits = limits_after(operands, is_wide);
  writer.need("stowage_arithmetic");
  emit_binary(
      writer, is_wide ? "add_s16" : "add_s8",
      writer.layer("stowage_add_layer",
                   fmt::format("{}, {}, {}, {}, {}, {}, {}, {}, {}, {}", a.zero_point, b.zero_point,
                               output.zero_point, spare_bits, is_difference ? 1 : 0, factor_text(to_unit(a)),
                               factor_text(to_unit(b)), factor_text(factor), limits.least, limits.most)));
}

void emit_mul(Writer& writer) {
  const Operands operands(writer.seen());
  expect_two_alike(operands);
  if (operands.output().dtype == DType::float32)
    return emit_binary(writer, "mul_f32", real_limits_layer(writer, operands));
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

void emit_div(Writer& writer) {
  const Operands operands(writer.seen());
  expect_two_alike(operands);
  if (operands.output().dtype != DType::float32) kernels::refuse_type(operands);
  if (operands.integer("fused_activation_function") != 0) refuse("it has a fused activation");
  // A quotient may be infinite, and is not clamped.
  writer.need("stowage_arithmetic_f32");
  emit_binary(writer, "div_f32", writer.layer("stowage_limits_f32", "-INFINITY, INFINITY"));
}

// One input

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

/// All 256 results of our own kernel, the least number first.
std::vector<std::byte> all_results(kernels::Signature signature) {
  constexpr std::int64_t numbers = 256;
  signature.inputs[0]->shape = {numbers};
  signature.outputs[0]->shape = {numbers};
  const kernels::Kernel kernel = kernels::prepare(signature, KernelSet::plain);
  const int flip = signature.inputs[0]->dtype == DType::int8 ? 0x80 : 0;
  std::vector<std::byte> in(numbers);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(static_cast<int>(i) ^ flip);
  std::vector<std::byte> out(in.size());
  const std::array<const std::byte*, 1> inputs{in.data()};
  const std::array<std::byte*, 1> outputs{out.data()};
  kernel.run({.inputs = inputs, .outputs = outputs});
  return out;
}

void emit_table(Writer& writer) {
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  const std::string table =
      writer.sources().array("table_" + writer.number(), "results of operator " + writer.number(),
                             DType::uint8, all_results(writer.seen()));
  writer.need("stowage_table_8");
  writer.line(fmt::format("stowage_table_8({}, {}, (const uint8_t *){}, (uint8_t *){}, {});", table,
                          in.dtype == DType::int8 ? "0x80" : "0", in.at, out.at, in.count()));
}

/// A function of one element; `call` gives the kernel of float32 with its first arguments.
template <typename Call>
void emit_unary(Writer& writer, const Call& call) {
  const Operands operands(writer.seen());
  operands.expect_counts(1, 1);
  if (is_byte(operands.input(0).dtype) && is_byte(operands.output().dtype)) return emit_table(writer);
  if (operands.input(0).dtype != DType::float32 || operands.output().dtype != DType::float32)
    refuse("{} to {} is not supported", name_of(operands.input(0).dtype), name_of(operands.output().dtype));
  const std::string first = call(operands);
  const Operand in = writer.input(0);
  writer.need("stowage_activation_f32");
  writer.line(fmt::format("stowage_{}{}, {}, {});", first, in.at, writer.output().at, in.count()));
}

template <int least, int most>
void emit_clamp(Writer& writer) {
  emit_unary(writer, [&](const Operands&) {
    kernels::RealLimits limits{.least = static_cast<float>(least)};
    if (most > 0) limits.most = static_cast<float>(most);
    return fmt::format("clamp_run_f32(&{}, ", writer.layer("stowage_limits_f32", limits_text(limits)));
  });
}

void emit_logistic(Writer& writer) {
  emit_unary(writer, [](const Operands&) { return std::string("logistic_f32("); });
}

void emit_tanh(Writer& writer) {
  emit_unary(writer, [](const Operands&) { return std::string("tanh_f32("); });
}

void emit_hard_swish(Writer& writer) {
  emit_unary(writer, [](const Operands&) { return std::string("hard_swish_f32("); });
}

/// Only numbers of 8 bits.
void emit_table_only(Writer& writer) {
  const Operands operands(writer.seen());
  operands.expect_counts(1, 1);
  if (!is_byte(operands.input(0).dtype) || !is_byte(operands.output().dtype)) kernels::refuse_type(operands);
  emit_table(writer);
}

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

/// Operators of ONNX are those of TFLite without an activation; integers count in another way.
template <Emit emit>
void emit_real(Writer& writer) {
  const Operands operands(writer.seen());
  if (operands.output().dtype != DType::float32) kernels::refuse_type(operands);
  emit(writer);
}

}  // namespace

void emit_sum_of_two(Writer& writer) { emit_real<emit_sum<false>>(writer); }

EmitPart element_operators() {
  constexpr RowHandling each = RowHandling::elements;
  return {{"ADD", emit_sum<false>, each},
          {"SUB", emit_sum<true>, each},
          {"MUL", emit_mul, each},
          {"DIV", emit_div, each},
          {"Add", emit_real<emit_sum<false>>, each},
          {"Sub", emit_real<emit_sum<true>>, each},
          {"Mul", emit_real<emit_mul>, each},
          {"Div", emit_real<emit_div>, each},
          {"Relu", emit_real<emit_clamp<0, 0>>, each},
          {"Sigmoid", emit_real<emit_logistic>, each},
          {"Tanh", emit_real<emit_tanh>, each},
          {"RELU", emit_clamp<0, 0>, each},
          {"RELU6", emit_clamp<0, 6>, each},
          {"RELU_N1_TO_1", emit_clamp<-1, 1>, each},
          {"RELU_0_TO_1", emit_clamp<0, 1>, each},
          {"LOGISTIC", emit_logistic, each},
          {"TANH", emit_tanh, each},
          {"HARD_SWISH", emit_hard_swish, each},
          {"ELU", emit_table_only, each},
          {"LEAKY_RELU", emit_table_only, each},
          {"ABS", emit_table_only, each},
          {"QUANTIZE", emit_quantize, each},
          {"DEQUANTIZE", emit_dequantize, each},
          {"SOFTMAX", emit_softmax}};
}

}  // namespace stowage::generate
