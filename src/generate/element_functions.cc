// Operators that compute each element of the output from elements of the inputs at the same place: a table of what
// they compute, as C. One writer puts loops around it.
//
// Functions give the bits of our own kernels (kernels/onnx/unary.cc, binary.cc, variadic.cc and their like in
// kernels/tflite/). A function of one number of 8 bits is a table of 256 results instead, which our own kernel fills in.

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "generate/element_loops.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/tflite/activations.h"
#include "kernels/tflite/fixed_point.h"

namespace stowage::generate {
namespace {

using kernels::Operands;
using kernels::refuse;

/// A number that a function has beside its elements: an attribute.
struct Parameter {
  std::string_view name{};
  float otherwise = 0;
};

/// What is done with a result of float32 where the operator has a fused activation.
enum class Activation : std::uint8_t {
  none,
  always,   ///< It is clamped, to the finite numbers at least.
  if_given  ///< Without one it may be infinite.
};

/// In the C of a function, a, b and c are elements of the inputs. N is their type where they are integers, of as many
/// BITS; U is a wide one without sign, in which sums wrap around. Booleans are 0 or 1. An empty text: there is none for that type.
struct ElementFunction {
  std::string_view type{};
  std::string_view real{};     ///< If the first input is of float32, or of float64 (as_double).
  std::string_view integer{};  ///< Of numbers without sign as far as `without_sign` says.
  std::string_view truth{};
  std::vector<Parameter> parameters{};
  Activation activation = Activation::none;
  bool is_fold = false;      ///< Of any number of inputs: a is the result of those before.
  bool is_mean = false;      ///< The result of a fold is divided by the number of inputs.
  Emit quantized = nullptr;  ///< If the output is of int8, uint8 or int16.
};

constexpr std::string_view text_of_sum = "(N)((U)a + (U)b)";
constexpr std::string_view text_of_difference = "(N)((U)a - (U)b)";
constexpr std::string_view text_of_product = "(N)((U)a * (U)b)";
constexpr std::string_view text_of_quotient = "b == 0 ? 0 : ((U)b + 1 == 0 ? (N)(0 - (U)a) : (N)(a / b))";
constexpr std::string_view text_of_floored_quotient =
    "b == 0 ? 0 : ((U)b + 1 == 0 ? (N)(0 - (U)a) : (N)(a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0)))";
constexpr std::string_view text_of_floored_rest =
    "b == 0 || (U)b + 1 == 0 ? 0 : (N)(a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0))";
constexpr std::string_view text_of_rest = "b == 0 || (U)b + 1 == 0 ? 0 : (N)(a % b)";
constexpr std::string_view text_of_rest_without_sign = "b == 0 ? 0 : (N)(a % b)";
constexpr std::string_view text_of_quotient_without_sign = "b == 0 ? 0 : (N)(a / b)";
constexpr std::string_view text_of_shift_left = "b >= BITS ? 0 : (N)((U)a << b)";
constexpr std::string_view text_of_shift_right = "b >= BITS ? 0 : (N)(a >> b)";
constexpr std::string_view text_of_negative = "(N)(0 - (U)a)";
constexpr std::string_view text_of_larger = "isnan(a) || !(b > a || isnan(b)) ? a : b";
constexpr std::string_view text_of_smaller = "isnan(a) || !(b < a || isnan(b)) ? a : b";
constexpr std::string_view text_of_sigmoid = "1.0F / (1.0F + expf(-a))";
constexpr std::string_view text_of_gelu = "a / 2.0F * (1.0F + erff(a * 0.707106769F))";
constexpr std::string_view text_of_gelu_by_tanh =
    "a / 2.0F * (1.0F + tanhf(0.797884583F * (a + 0.044715F * a * a * a)))";
constexpr std::string_view text_of_softplus = "(a < 0.0F ? 0.0F : a) + log1pf(expf(-fabsf(a)))";
constexpr std::string_view text_of_swish = "a * (1.0F / (1.0F + expf(-(alpha * a))))";
constexpr std::string_view text_of_select = "a ? b : c";

std::vector<ElementFunction> functions_of_onnx() {
  return {
      {"Abs", "fabsf(a)", "a < 0 ? (N)(0 - (U)a) : a"},
      {"Acos", "acosf(a)"},
      {"Acosh", "acoshf(a)"},
      {"Add", "a + b", text_of_sum},
      {"And", "", "", "a && b"},
      {"Asin", "asinf(a)"},
      {"Asinh", "asinhf(a)"},
      {"Atan", "atanf(a)"},
      {"Atanh", "atanhf(a)"},
      {"BitwiseAnd", "", "(N)((U)a & (U)b)"},
      {"BitwiseNot", "", "(N)~(U)a"},
      {"BitwiseOr", "", "(N)((U)a | (U)b)"},
      {"BitwiseXor", "", "(N)((U)a ^ (U)b)"},
      {"Ceil", "ceilf(a)"},
      {"Celu",
       "(a < 0.0F ? 0.0F : a) + (0.0F < alpha * expm1f(a / alpha) ? 0.0F : alpha * expm1f(a / alpha))",
       "",
       "",
       {{"alpha", 1}}},
      {"Cos", "cosf(a)"},
      {"Cosh", "coshf(a)"},
      {"Div", "a / b", text_of_quotient},
      {"Elu", "a < 0.0F ? alpha * expm1f(a) : a", "", "", {{"alpha", 1}}},
      {"Equal", "a == b", "a == b", "a == b"},
      {"Erf", "erff(a)"},
      {"Exp", "expf(a)"},
      {"Floor", "floorf(a)"},
      {"Greater", "a > b", "a > b"},
      {"GreaterOrEqual", "a >= b", "a >= b"},
      {"HardSigmoid", "stowage_unit_f32(alpha * a + beta)", "", "", {{"alpha", 0.2F}, {"beta", 0.5F}}},
      {"HardSwish", "a * stowage_unit_f32(a / 6.0F + 0.5F)"},
      {"IsNaN", "isnan(a) ? 1 : 0"},
      {"LeakyRelu", "a < 0.0F ? alpha * a : a", "", "", {{"alpha", 0.01F}}},
      {"Less", "a < b", "a < b"},
      {"LessOrEqual", "a <= b", "a <= b"},
      {"Log", "logf(a)"},
      {"Max", text_of_larger, "b > a ? b : a", "", {}, {}, true},
      {"Min", text_of_smaller, "b < a ? b : a", "", {}, {}, true},
      {.type = "Mean", .real = "a + b", .is_fold = true, .is_mean = true},
      {"Mish", "a * tanhf((a < 0.0F ? 0.0F : a) + log1pf(expf(-fabsf(a))))"},
      {"Mul", "a * b", text_of_product},
      {"Neg", "-a", text_of_negative},
      {"Not", "", "", "!a"},
      {"Or", "", "", "a || b"},
      {"PRelu", "a < 0.0F ? b * a : a"},
      {"Pow", "b == 2 ? a * a : powf(a, (float)b)"},
      {"Reciprocal", "1.0F / a"},
      {"Relu", "a < 0.0F ? 0.0F : a", "a < 0 ? 0 : a"},
      {"Round", "stowage_round_f32(a)"},
      {"Shrink",
       "a < -lambd ? a + bias : (a > lambd ? a - bias : 0.0F)",
       "",
       "",
       {{"lambd", 0.5F}, {"bias", 0}}},
      {"Sigmoid", text_of_sigmoid},
      {"Sign", "isnan(a) ? a : (float)((a > 0.0F) - (a < 0.0F))", "(a > 0) - (a < 0)"},
      {"Sin", "sinf(a)"},
      {"Sinh", "sinhf(a)"},
      {"Softplus", text_of_softplus},
      {"Softsign", "a / (1.0F + fabsf(a))"},
      {"Sqrt", "sqrtf(a)"},
      {"Sub", "a - b", text_of_difference},
      {"Sum", "a + b", text_of_sum, "", {}, {}, true},
      {"Swish", text_of_swish, "", "", {{"alpha", 1}}},
      {"Tan", "tanf(a)"},
      {"Tanh", "tanhf(a)"},
      {"ThresholdedRelu", "a > alpha ? a : 0.0F", "", "", {{"alpha", 1}}},
      {"Where", "", "", text_of_select},
      {"Xor", "", "", "a != b"},
      {"com.microsoft.Gelu", text_of_gelu},
      {"com.microsoft.QuickGelu", text_of_swish, "", "", {{"alpha", 1.702F}}},
  };
}

std::vector<ElementFunction> functions_of_tflite() {
  constexpr Activation always = Activation::always;
  constexpr Activation if_given = Activation::if_given;
  return {
      {"ABS", "fabsf(a)"},
      {"ADD", "a + b", text_of_sum, "", {}, always, false, false, emit_quantized_sum},
      {.type = "ADD_N", .real = "a + b", .integer = text_of_sum, .is_fold = true},
      {"CEIL", "ceilf(a)"},
      {"COS", "cosf(a)"},
      {"DIV", "a / b", "", "", {}, if_given},
      {"ELU", "a < 0.0F ? expm1f(a) : a"},
      {"EQUAL", "a == b", "a == b", "a == b"},
      {"EXP", "expf(a)"},
      {"FLOOR", "floorf(a)"},
      {"FLOOR_DIV", "floorf(a / b)", text_of_floored_quotient, "", {}, if_given},
      {"FLOOR_MOD", "stowage_floor_mod_f32(a, b)", text_of_floored_rest, "", {}, if_given},
      {"GREATER", "a > b", "a > b", "a > b"},
      {"GREATER_EQUAL", "a >= b", "a >= b", "a >= b"},
      {"HARD_SWISH", "a * stowage_clamp_f32(a + 3.0F, 0.0F, 6.0F) / 6.0F"},
      {"LEAKY_RELU",
       "a > 0.0F ? a : a * alpha",
       "",
       "",
       {{"alpha", 0}},
       {},
       false,
       false,
       emit_int16_activation},
      {"LESS", "a < b", "a < b", "a < b"},
      {"LESS_EQUAL", "a <= b", "a <= b", "a <= b"},
      {"LOG", "logf(a)"},
      {"LOGICAL_AND", "", "", "a && b"},
      {"LOGICAL_NOT", "", "", "!a"},
      {"LOGICAL_OR", "", "", "a || b"},
      {"LOGISTIC", text_of_sigmoid, "", "", {}, {}, false, false, emit_int16_activation},
      {"MAXIMUM", "a > b ? a : b", "a > b ? a : b"},
      {"MINIMUM", "a < b ? a : b", "a < b ? a : b"},
      {"MUL", "a * b", text_of_product, "", {}, always, false, false, emit_quantized_product},
      {"NEG", "-a"},
      {"NOT_EQUAL", "a != b", "a != b", "a != b"},
      {"POW", "powf(a, b)", "", "", {}, if_given},
      {"PRELU", "a >= 0.0F ? a : a * b"},
      {"RELU",
       "a > 3.40282347e+38F ? 3.40282347e+38F : (a < 0.0F ? 0.0F : a)",
       "",
       "",
       {},
       {},
       false,
       false,
       emit_int16_activation},
      {"RELU6",
       "a > 6.0F ? 6.0F : (a < 0.0F ? 0.0F : a)",
       "",
       "",
       {},
       {},
       false,
       false,
       emit_int16_activation},
      {"RELU_0_TO_1",
       "a > 1.0F ? 1.0F : (a < 0.0F ? 0.0F : a)",
       "",
       "",
       {},
       {},
       false,
       false,
       emit_int16_activation},
      {"RELU_N1_TO_1",
       "a > 1.0F ? 1.0F : (a < -1.0F ? -1.0F : a)",
       "",
       "",
       {},
       {},
       false,
       false,
       emit_int16_activation},
      {"ROUND", "nearbyintf(a) + 0.0F"},
      {"RSQRT", "1.0F / sqrtf(a)"},
      {"SELECT", "", "", text_of_select},
      {"SELECT_V2", "", "", text_of_select},
      {"SIN", "sinf(a)"},
      {"SQRT", "sqrtf(a)"},
      {"SQUARE", "a * a"},
      {"SQUARED_DIFFERENCE",
       "(a - b) * (a - b)",
       "(N)(((U)a - (U)b) * ((U)a - (U)b))",
       "",
       {},
       {},
       false,
       false,
       emit_quantized_square},
      {"SUB", "a - b", text_of_difference, "", {}, always, false, false, emit_quantized_difference},
      {"TANH", "tanhf(a)", "", "", {}, {}, false, false, emit_int16_activation},
  };
}

const ElementFunction& element_function_of(std::string_view type) {
  static const std::unordered_map<std::string_view, ElementFunction> table = [] {
    std::unordered_map<std::string_view, ElementFunction> all;
    for (const auto& part : {functions_of_onnx(), functions_of_tflite()})
      for (const ElementFunction& it : part) all.emplace(it.type, it);
    return all;
  }();
  return table.at(type);
}

/// The C for numbers without sign, which are never below 0, nor -1; empty: there is none.
std::string_view without_sign(std::string_view text) {
  if (text == text_of_quotient) return text_of_quotient_without_sign;
  if (text == text_of_floored_quotient) return text_of_quotient_without_sign;
  if (text == text_of_rest || text == text_of_floored_rest) return text_of_rest_without_sign;
  const bool asks_for_sign = text.find("< 0") != std::string_view::npos || text == text_of_negative;
  return asks_for_sign ? "" : text;
}

/// The C of a function for elements of a type.
std::string text_for(const ElementFunction& function, DType dtype) {
  std::string_view text;
  switch (dtype) {
    case DType::float32:
    case DType::float64:
      text = function.real;
      break;
    case DType::boolean:
      text = function.truth;
      break;
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
      text = function.integer;
      break;
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
      text = without_sign(function.integer);
      break;
    default:
      break;
  }
  if (text.empty()) refuse("element type {} is not supported", name_of(dtype));
  if (dtype == DType::float64) {
    const auto wide = as_double(text);
    if (!wide) refuse("element type {} is not supported", name_of(dtype));
    return *wide;
  }
  std::string result;
  for (const std::string& word : words_of(text)) {
    if (word == "N") {
      result += c_type(dtype);
    } else if (word == "U") {
      result += dtype == DType::int64 || dtype == DType::uint64 ? "uint64_t" : "uint32_t";
    } else if (word == "BITS") {
      result += fmt::format("{}", bits_of(dtype).value());
    } else {
      result += word;
    }
  }
  return result;
}

/// The same for any number of inputs, one after the other.
ElementLines lines_of_fold(DType dtype, const std::string& text, bool is_mean) {
  return [dtype, text, is_mean](const std::vector<std::string>& elements, const std::string& place) {
    std::vector<std::string> lines{fmt::format("{} a = {};", c_type(dtype), elements.at(0))};
    for (std::size_t i = 1; i < elements.size(); ++i) {
      lines.push_back(fmt::format("{}b = {};", i == 1 ? fmt::format("{} ", c_type(dtype)) : "", elements[i]));
      lines.push_back(fmt::format("a = {};", stored(dtype, text)));
    }
    const std::string count = literal(static_cast<float>(elements.size()));
    lines.push_back(
        fmt::format("{} = a{};", place, is_mean ? fmt::format(" / ({}){}", c_type(dtype), count) : ""));
    return lines;
  };
}

/// Until operator set 7, the second input of ONNX began at an axis.
void align_second_input(const Writer& writer, std::vector<LoopInput>& inputs) {
  const kernels::Signature& signature = writer.signature();
  const Attributes& attributes = signature.attributes;
  const bool is_prelu = signature.type == "PRelu";
  if (signature.version >= 7 || inputs.size() != 2) return;
  Shape& second = inputs[1].operand.shape;
  const std::size_t rank = inputs[0].operand.shape.size();
  const bool has_axis = attributes.integer("broadcast", 0) != 0 && attributes.has("axis");
  if (is_prelu ? second.size() != 1 || rank < 2 : !has_axis) return;
  if (writer.axis() != nullptr) refuse("it runs by rows, and its second input begins at an axis");
  const std::size_t axis = is_prelu ? 1 : kernels::axis_of(attributes.integer("axis", 0), rank);
  second.resize(rank - axis, 1);
}

/// A condition of one dimension chooses whole rows.
void align_condition(const Writer& writer, std::vector<LoopInput>& inputs) {
  Shape& condition = inputs.at(0).operand.shape;
  if (writer.op().type == "SELECT" && condition.size() == 1)
    condition.resize(writer.signature().outputs.at(0)->shape.size(), 1);
}

std::string with_activation(const ElementFunction& function, const Writer& writer, const std::string& text) {
  const Operands operands(writer.signature());
  if (function.activation == Activation::none || operands.output().dtype != DType::float32) return text;
  const kernels::RealLimits limits = kernels::real_activation_limits(operands);
  const kernels::RealLimits none;
  const bool is_given = limits.least != none.least || limits.most != none.most;
  if (function.activation == Activation::if_given && !is_given) return text;
  return fmt::format("stowage_clamp_f32({}, {}, {})", text, literal(limits.least), literal(limits.most));
}

void write_function(Writer& writer, const ElementFunction& function) {
  const kernels::Signature& signature = writer.seen();
  const DType out = signature.outputs.at(0)->dtype;
  const std::size_t count = signature.inputs.size();
  const DType first = signature.inputs.at(0).value().dtype;
  std::vector<LoopInput> inputs;
  for (std::size_t i = 0; i < count; ++i) inputs.push_back(loop_input(writer, i));
  align_second_input(writer, inputs);
  align_condition(writer, inputs);
  if (function.truth == text_of_select)  // bytes that are only moved
    for (const std::size_t i : {1U, 2U})
      if (inputs.at(i).operand.dtype == DType::boolean) inputs[i].operand.dtype = DType::uint8;
  for (const auto& [name, otherwise] : function.parameters)
    writer.declare(
        fmt::format("const float {} = {};", name, literal(signature.attributes.real(name, otherwise))));
  const std::string text = with_activation(function, writer, text_for(function, first));
  writer.need_math();
  if (text.find("stowage_") != std::string::npos) writer.need("stowage_elements");
  const Operand output = writer.output();
  write_loops(
      writer, inputs, output,
      function.is_fold ? lines_of_fold(out, text, function.is_mean) : element_lines(inputs, out, text));
}

/// C of the number of an input on scale 1, with bits to spare.
std::string text_on_scale_1(const kernels::Argument& input, char name) {
  const kernels::Affine it = kernels::affine_of(input);
  const kernels::Multiplier factor = kernels::multiplier_of(static_cast<double>(it.scale));
  return fmt::format("stowage_scale(({} - ({})) * 256, {}, {})", name, it.zero_point, factor.mantissa,
                     factor.shift);
}

/// Of numbers with scales, which our own kernel compares so.
void emit_comparison(Writer& writer, const ElementFunction& function) {
  const kernels::Signature& signature = writer.seen();
  std::string text;
  for (const std::string& word : words_of(function.integer)) {
    const bool is_input = word == "a" || word == "b";
    text += is_input ? text_on_scale_1(signature.inputs.at(word == "a" ? 0 : 1).value(), word[0]) : word;
  }
  write_function(writer, {.type = function.type, .integer = text});
}

/// PRELU of numbers of 8 bits.
void emit_scaled_slopes(Writer& writer) {
  const Operands operands(writer.seen());
  const kernels::Slopes it = kernels::slopes_of(operands);
  const std::string x = fmt::format("(a - ({}))", it.input_zero);
  const std::string text = fmt::format(
      "stowage_clamp(stowage_add_wrapping({0} >= 0 ? stowage_scale({0}, {1}, {2}) : "
      "stowage_scale({0} * (b - ({3})), {4}, {5}), {6}), {7}, {8})",
      x, it.above.mantissa, it.above.shift, kernels::affine_of(operands.input(1)).zero_point,
      it.below.mantissa, it.below.shift, it.output_zero, it.limits.least, it.limits.most);
  write_function(writer, {.type = operands.type(), .integer = text});
}

void emit_function(Writer& writer) {
  const ElementFunction& function = element_function_of(writer.op().type);
  const kernels::Signature& signature = writer.seen();
  const DType in = signature.inputs.at(0).value().dtype;
  const DType out = signature.outputs.at(0).value().dtype;
  if (signature.inputs.size() == 1 && !function.is_fold && is_byte(in) && is_byte(out))
    return emit_table(writer);
  if (is_byte(in) && out == DType::boolean && signature.inputs[0]->quantization != nullptr)
    return emit_comparison(writer, function);
  if (function.type == "PRELU" && is_byte(out)) return emit_scaled_slopes(writer);
  if (function.quantized != nullptr && (is_byte(out) || out == DType::int16))
    return function.quantized(writer);
  write_function(writer, function);
}

void emit_gelu(Writer& writer) {
  const bool is_by_tanh = writer.signature().attributes.text("approximate", "none") == "tanh";
  write_function(writer, {.type = "Gelu", .real = is_by_tanh ? text_of_gelu_by_tanh : text_of_gelu});
}

void emit_gelu_of_tflite(Writer& writer) {
  if (is_byte(writer.seen().outputs.at(0)->dtype)) return emit_table(writer);
  const bool is_by_tanh = writer.signature().attributes.integer("approximate", 0) != 0;
  write_function(writer, {.type = "GELU",
                          .real = is_by_tanh ? text_of_gelu_by_tanh : "0.5F * a * erfcf(-0.707106769F * a)"});
}

void emit_infinite(Writer& writer) {
  const bool above = writer.signature().attributes.integer("detect_positive", 1) != 0;
  const bool below = writer.signature().attributes.integer("detect_negative", 1) != 0;
  if (!above && !below) refuse("it detects nothing");
  write_function(writer, {.type = "IsInf",
                          .real = above && below ? "isinf(a) ? 1 : 0"
                                  : above        ? "isinf(a) && a > 0.0F ? 1 : 0"
                                                 : "isinf(a) && a < 0.0F ? 1 : 0"});
}

/// The constants of the first operator set were shorter.
void emit_selu(Writer& writer) {
  const bool is_first = writer.signature().version < 6;
  write_function(writer, {.type = "Selu",
                          .real = "gamma * (a > 0.0F ? a : alpha * expm1f(a))",
                          .parameters = {{"alpha", is_first ? 1.6732F : 1.67326319217681884765625F},
                                         {"gamma", is_first ? 1.0507F : 1.05070102214813232421875F}}});
}

void emit_rest(Writer& writer) {
  if (writer.signature().attributes.integer("fmod", 0) != 0)
    return write_function(writer, {.type = "Mod", .real = "fmodf(a, b)", .integer = text_of_rest});
  write_function(writer,
                 {.type = "Mod", .real = "stowage_floor_mod_f32(a, b)", .integer = text_of_floored_rest});
}

void emit_shift(Writer& writer) {
  const bool is_left = writer.signature().attributes.text("direction", "") == "LEFT";
  write_function(writer, {.type = "BitShift", .integer = is_left ? text_of_shift_left : text_of_shift_right});
}

/// The function of a sum, if there is a bias.
void emit_biased_gelu(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const std::string_view text =
      signature.type == "com.microsoft.FastGelu" ? text_of_gelu_by_tanh : text_of_gelu;
  std::string of_sum;
  for (const std::string& word : words_of(text)) of_sum += word == "a" ? "(a + b)" : word;
  write_function(writer, {.type = signature.type, .real = signature.has_input(1) ? of_sum : text});
}

}  // namespace

EmitPart element_functions() {
  constexpr RowHandling each = RowHandling::elements;
  EmitPart part{{"BitShift", emit_shift, each},
                {"GELU", emit_gelu_of_tflite, each},
                {"Gelu", emit_gelu, each},
                {"IsInf", emit_infinite, each},
                {"Mod", emit_rest, each},
                {"Selu", emit_selu, each},
                {"com.microsoft.BiasGelu", emit_biased_gelu, each},
                {"com.microsoft.FastGelu", emit_biased_gelu, each}};
  for (const auto& functions : {functions_of_onnx(), functions_of_tflite()})
    for (const ElementFunction& it : functions) part.push_back({it.type, emit_function, each});
  return part;
}

}  // namespace stowage::generate
