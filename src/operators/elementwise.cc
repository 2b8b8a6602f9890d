// Operators whose results have the shape of an input, or of several stretched to one another.

#include <optional>

#include "operators/copy_rules.h"
#include "operators/families.h"
#include "operators/readings.h"
#include "operators/shapes.h"
#include "operators/tflite_shapes.h"

namespace stowage::operators::shapes {
namespace {

/// Operator sets before this one stretch only the second operand, and only if an attribute says so.
constexpr int first_that_broadcasts = 7;

std::optional<Dims> dims_of(const NodeContext& node, std::size_t input) { return node.type(input).dims; }

std::optional<Dims> stretched(const NodeContext& node, std::size_t a, std::size_t b) {
  return broadcast_dims(node.dims(a), node.dims(b));
}

void set_pair(NodeContext& node, int elem_type) {
  const bool is_old = node.version() < first_that_broadcasts;
  node.set_output(0, elem_type, is_old ? dims_of(node, 0) : stretched(node, 0, 1));
}

}  // namespace

void like_first(NodeContext& node) { node.set_type(0, node.type(0)); }

/// Slopes are repeated over the data; before operator set 7, one for each channel was, too.
void sloped(NodeContext& node) {
  constexpr int first_spread_alike = 7;
  like_first(node);
  if (node.version() >= first_spread_alike) expect_spread(node, 1, dims_of(node, 0));
}

void all_like_first(NodeContext& node) {
  for (std::size_t i = 0; i < node.outputs().size(); ++i) node.set_type(i, node.type(0));
}

void like_second(NodeContext& node) { node.set_type(0, node.type(1)); }

void like_first_along_axis(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  if (dims != nullptr && node.has_attribute("axis")) (void)axis_in(node.integer("axis", 0), dims->size());
  like_first(node);
}

void truth_like_first(NodeContext& node) { node.set_output(0, element::boolean, dims_of(node, 0)); }

void broadcast(NodeContext& node) { set_pair(node, node.elem_type(0)); }

/// The same, however old the operator set.
void broadcast_always(NodeContext& node) { node.set_output(0, node.elem_type(0), stretched(node, 0, 1)); }

void broadcast_to_truth(NodeContext& node) { set_pair(node, element::boolean); }

void broadcast_all(NodeContext& node) {
  std::optional<Dims> result = dims_of(node, 0);
  for (std::size_t i = 1; i < node.inputs(); ++i)
    result = result ? broadcast_dims(&*result, node.dims(i)) : std::nullopt;
  node.set_output(0, node.elem_type(0), result);
}

void choose(NodeContext& node) {
  const auto values = stretched(node, 1, 2);
  node.set_output(0, node.elem_type(1), values ? broadcast_dims(node.dims(0), &*values) : std::nullopt);
}

void quantized_choose(NodeContext& node) {
  const auto values = stretched(node, 1, 4);
  node.set_output(0, node.elem_type(1), values ? broadcast_dims(node.dims(0), &*values) : std::nullopt);
}

void quantized_broadcast(NodeContext& node) { node.set_output(0, node.elem_type(0), stretched(node, 0, 3)); }

/// Before operator set 6 the type is the name of one.
void cast(NodeContext& node) {
  const auto to = static_cast<int>(node.integer("to", 0));
  if (to != 0) node.set_output(0, to, dims_of(node, 0));
}

void cast_like(NodeContext& node) { node.set_output(0, node.elem_type(1), dims_of(node, 0)); }

void quantize(NodeContext& node) {
  const auto chosen = static_cast<int>(node.integer("output_dtype", 0));
  const int by_zero_point = node.has(2) ? node.elem_type(2) : element::uint8;
  node.set_output(0, chosen != 0 ? chosen : by_zero_point, dims_of(node, 0));
}

void dequantize(NodeContext& node) {
  const auto chosen = static_cast<int>(node.integer("output_dtype", 0));
  node.set_output(0, chosen != 0 ? chosen : node.elem_type(1), dims_of(node, 0));
}

/// The quantized input with its scale and zero point.
void quantize_dynamically(NodeContext& node) {
  node.set_output(0, element::uint8, dims_of(node, 0));
  node.set_shape(1, element::float32, {});
  node.set_shape(2, element::uint8, {});
}

/// The mask is boolean since operator set 10.
void dropout(NodeContext& node) {
  constexpr int first_with_truth = 10;
  like_first(node);
  const bool is_old = node.version() < first_with_truth;
  node.set_output(1, is_old ? node.elem_type(0) : static_cast<int>(element::boolean), dims_of(node, 0));
}

/// Scale, bias and statistics have an element for each channel.
void channel_normalization(NodeContext& node) {
  like_first(node);
  const Dim channels = dim_at(node.dims(0), 1);
  for (std::size_t i = 1; i < node.inputs(); ++i) {
    const Dim given = dim_at(node.dims(i), 0);
    if (node.always_runs() && channels && given && *channels != *given)
      misfit("input ", i, " is for ", *given, " channels, but the data has ", *channels);
  }
}

void group_normalization(NodeContext& node) {
  like_first(node);
  const Dim channels = dim_at(node.dims(0), 1);
  const std::int64_t groups = node.integer("num_groups", 0);
  if (node.always_runs() && channels && (groups < 1 || *channels % groups != 0))
    misfit("num_groups ", groups, " does not divide ", *channels, " channels");
}

/// Further results are statistics, one for each channel.
void batch_normalization(NodeContext& node) {
  channel_normalization(node);
  for (std::size_t i = 1; i < node.outputs().size(); ++i) node.set_type(i, node.type(i % 2 == 1 ? 3 : 4));
}

/// Mean and deviation have the shape of the tensor without the normalized dimensions.
void layer_normalization(NodeContext& node) {
  std::optional<Dims> dims = dims_of(node, 0);
  like_first(node);
  if (dims) {
    const std::size_t axis = axis_in(node.integer("axis", -1), dims->size());
    const Dims normalized(dims->begin() + static_cast<std::ptrdiff_t>(axis), dims->end());
    for (std::size_t i = 1; i < node.inputs(); ++i) expect_spread(node, i, normalized);
    for (std::size_t d = axis; d < dims->size(); ++d) (*dims)[d] = 1;
  }
  const auto type = static_cast<int>(node.integer("stash_type", element::float32));
  node.set_output(1, type, dims);
  node.set_output(2, type, dims);
}

/// Its fourth result is the sum that is normalized.
void skip_layer_normalization(NodeContext& node) {
  std::optional<Dims> dims = dims_of(node, 0);
  like_first(node);
  node.set_type(3, node.type(0));
  if (dims && !dims->empty()) dims->back() = 1;
  node.set_output(1, element::float32, dims);
  node.set_output(2, element::float32, dims);
}

/// A normalized sum, and the sum.
void skip_group_normalization(NodeContext& node) {
  like_first(node);
  node.set_type(1, node.type(0));
}

/// The second half of the last dimension decides how much of the first is passed on.
void split_gate(NodeContext& node) {
  std::optional<Dims> dims = dims_of(node, 0);
  if (dims && !dims->empty() && dims->back()) dims->back() = *dims->back() / 2;
  node.set_output(0, node.elem_type(0), dims);
}

namespace {

/// The first half of the outputs are the variables, the others their states; inputs have gradients between.
/// There are so many groups of inputs.
void optimize(NodeContext& node, std::size_t groups) {
  constexpr std::size_t variables = 2;  // after the rate and the count of updates
  if (node.inputs() < variables + groups || (node.inputs() - variables) % groups != 0)
    misfit("there are ", node.inputs(), " inputs");
  const std::size_t count = (node.inputs() - variables) / groups;
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    node.set_type(i, node.type(variables + i + (i < count ? 0 : count)));
}

}  // namespace

void optimizer(NodeContext& node) { optimize(node, 3); }
void optimizer_with_moments(NodeContext& node) { optimize(node, 4); }

/// What PyTorch's and onnxruntime's operators with states of a convolution return.
void causal_convolution(NodeContext& node) {
  like_first(node);
  const Dims* const input = node.dims(0);
  const Dims* const weights = node.dims(1);
  if (input == nullptr || weights == nullptr) return;
  if (input->size() != 3 || weights->size() != 3) misfit("input or weights are not of rank 3");
  node.set_output(1, node.elem_type(0), Dims{(*input)[0], (*input)[1], sum_of((*weights)[2], Dim(-1))});
}

}  // namespace stowage::operators::shapes

namespace stowage::operators {
namespace {

/// Each element of the output is made of the same element of the input.
constexpr Facts unary(std::string_view onnx, std::string_view tflite = "") {
  return {.onnx = onnx,
          .tflite = tflite,
          .shape = shapes::like_first,
          .inputs = 1,
          .in_place = InPlace::any,
          .rows = elementwise,
          .splits = true};
}

/// The same of two inputs, stretched to one another.
constexpr Facts binary(std::string_view onnx, std::string_view tflite = "") {
  return {.onnx = onnx,
          .tflite = tflite,
          .shape = shapes::broadcast,
          .inputs = 2,
          .in_place = InPlace::any,
          .rows = elementwise,
          .splits = true};
}

constexpr Facts comparison(std::string_view onnx, std::string_view tflite) {
  Facts facts = binary(onnx, tflite);
  facts.shape = shapes::broadcast_to_truth;
  return facts;
}

}  // namespace

std::span<const Facts> elementwise_family() {
  static constexpr Facts rows[] = {
      unary("Abs", "ABS"),
      unary("Acos"),
      unary("Acosh"),
      binary("Add", "ADD"),
      binary("And", "LOGICAL_AND"),
      unary("Asin"),
      unary("Asinh"),
      unary("Atan"),
      unary("Atanh"),
      {.onnx = "BitCast", .shape = shapes::cast, .inputs = 1},
      binary("BitShift"),
      binary("BitwiseAnd"),
      unary("BitwiseNot"),
      binary("BitwiseOr"),
      binary("BitwiseXor", "BITWISE_XOR"),
      {.onnx = "Cast",
       .shape = shapes::cast,
       .inputs = 1,
       .copies = copies::cast,
       .in_place = InPlace::first,
       .rows = elementwise,
       .splits = true},
      {.onnx = "CastLike",
       .shape = shapes::cast_like,
       .inputs = 2,
       .copies = copies::cast,
       .in_place = InPlace::first,
       .rows = elementwise,
       .splits = true},
      unary("Ceil", "CEIL"),
      unary("Celu"),
      unary("Clip"),
      unary("Cos", "COS"),
      unary("Cosh"),
      {.onnx = "DequantizeLinear",
       .shape = shapes::dequantize,
       .inputs = 2,
       .in_place = InPlace::first,
       .rows = quantized},
      binary("Div", "DIV"),
      {.onnx = "Dropout",
       .shape = shapes::dropout,
       .inputs = 1,
       .copies = copies::dropout,
       .in_place = InPlace::first,
       .rows = elementwise,
       .splits = true},
      {.onnx = "DynamicQuantizeLinear", .shape = shapes::quantize_dynamically, .inputs = 1},
      unary("Elu", "ELU"),
      comparison("Equal", "EQUAL"),
      unary("Erf"),
      unary("Exp", "EXP"),
      unary("Floor", "FLOOR"),
      unary("Gelu", "GELU"),
      comparison("Greater", "GREATER"),
      comparison("GreaterOrEqual", "GREATER_EQUAL"),
      unary("HardSigmoid"),
      unary("HardSwish", "HARD_SWISH"),
      {.onnx = "Identity",
       .shape = shapes::like_first,
       .inputs = 1,
       .copies = copies::whole,
       .in_place = InPlace::any,
       .rows = elementwise,
       .splits = true},
      {.onnx = "IsInf",
       .shape = shapes::truth_like_first,
       .inputs = 1,
       .in_place = InPlace::any,
       .rows = elementwise,
       .splits = true},
      {.onnx = "IsNaN",
       .shape = shapes::truth_like_first,
       .inputs = 1,
       .in_place = InPlace::any,
       .rows = elementwise,
       .splits = true},
      unary("LeakyRelu", "LEAKY_RELU"),
      comparison("Less", "LESS"),
      comparison("LessOrEqual", "LESS_EQUAL"),
      unary("Log", "LOG"),
      {.onnx = "Max",
       .shape = shapes::broadcast_all,
       .inputs = 1,
       .in_place = InPlace::first_two,
       .rows = elementwise,
       .splits = true},
      {.onnx = "Mean",
       .shape = shapes::broadcast_all,
       .inputs = 1,
       .in_place = InPlace::first_two,
       .rows = elementwise,
       .splits = true},
      {.onnx = "Min",
       .shape = shapes::broadcast_all,
       .inputs = 1,
       .in_place = InPlace::first_two,
       .rows = elementwise,
       .splits = true},
      unary("Mish"),
      binary("Mod"),
      binary("Mul", "MUL"),
      unary("Neg", "NEG"),
      unary("Not", "LOGICAL_NOT"),
      binary("Or", "LOGICAL_OR"),
      {.onnx = "PRelu",
       .shape = shapes::sloped,
       .inputs = 2,
       .in_place = InPlace::any,
       .rows = slopes,
       .splits = true},
      binary("Pow", "POW"),
      {.onnx = "QuantizeLinear",
       .shape = shapes::quantize,
       .inputs = 2,
       .in_place = InPlace::first,
       .rows = quantized},
      unary("Reciprocal"),
      {.onnx = "RegexFullMatch", .shape = shapes::truth_like_first, .inputs = 1},
      unary("Relu", "RELU"),
      unary("Round", "ROUND"),
      unary("Selu"),
      unary("Shrink"),
      unary("Sigmoid", "LOGISTIC"),
      unary("Sign", "SIGN"),
      unary("Sin", "SIN"),
      unary("Sinh"),
      unary("Softplus"),
      unary("Softsign"),
      unary("Sqrt", "SQRT"),
      binary("Sub", "SUB"),
      {.onnx = "Sum",
       .shape = shapes::broadcast_all,
       .inputs = 1,
       .in_place = InPlace::first_two,
       .rows = elementwise,
       .splits = true},
      {.onnx = "SwiGLU", .shape = shapes::like_first, .inputs = 2},
      unary("Swish"),
      unary("Tan"),
      unary("Tanh", "TANH"),
      unary("ThresholdedRelu"),
      {.onnx = "Where",
       .shape = shapes::choose,
       .inputs = 3,
       .in_place = InPlace::any,
       .rows = elementwise,
       .splits = true},
      binary("Xor"),
      {.onnx = "ai.onnx.ml.Binarizer", .shape = shapes::like_first, .inputs = 1},
      {.onnx = "ai.onnx.ml.Imputer", .shape = shapes::like_first, .inputs = 1},
      {.onnx = "ai.onnx.preview.training.Adagrad", .shape = shapes::optimizer, .inputs = 3},
      {.onnx = "ai.onnx.preview.training.Adam", .shape = shapes::optimizer_with_moments, .inputs = 3},
      {.onnx = "ai.onnx.preview.training.Momentum", .shape = shapes::optimizer, .inputs = 3},
      {.onnx = "com.microsoft.BiasGelu",
       .shape = shapes::broadcast_always,
       .inputs = 2,
       .in_place = InPlace::first,
       .rows = elementwise,
       .splits = true},
      {.onnx = "com.microsoft.BiasSplitGelu", .shape = shapes::split_gate, .inputs = 2},
      {.onnx = "com.microsoft.ComplexMul", .shape = shapes::like_first, .inputs = 2},
      {.onnx = "com.microsoft.ComplexMulConj", .shape = shapes::like_first, .inputs = 2},
      {.onnx = "com.microsoft.DequantizeLinear", .shape = shapes::dequantize, .inputs = 2},
      {.onnx = "com.microsoft.FastGelu",
       .shape = shapes::like_first,
       .inputs = 1,
       .in_place = InPlace::first,
       .rows = elementwise,
       .splits = true},
      unary("com.microsoft.Gelu"),
      {.onnx = "com.microsoft.QLinearAdd",
       .shape = shapes::quantized_broadcast,
       .inputs = 2,
       .in_place = InPlace::any,
       .rows = elementwise,
       .splits = true},
      {.onnx = "com.microsoft.QLinearLeakyRelu",
       .shape = shapes::like_first,
       .inputs = 1,
       .in_place = InPlace::first,
       .rows = elementwise,
       .splits = true},
      {.onnx = "com.microsoft.QLinearMul",
       .shape = shapes::quantized_broadcast,
       .inputs = 2,
       .in_place = InPlace::any,
       .rows = elementwise,
       .splits = true},
      {.onnx = "com.microsoft.QLinearSigmoid",
       .shape = shapes::like_first,
       .inputs = 1,
       .in_place = InPlace::first,
       .rows = elementwise,
       .splits = true},
      {.onnx = "stowage.QLinearSub",
       .shape = shapes::quantized_broadcast,
       .inputs = 2,
       .in_place = InPlace::any,
       .rows = elementwise,
       .splits = true},
      {.onnx = "stowage.Requantize",
       .shape = shapes::like_first,
       .inputs = 1,
       .in_place = InPlace::first,
       .rows = elementwise,
       .splits = true},
      {.onnx = "com.microsoft.QLinearWhere", .shape = shapes::quantized_choose, .inputs = 2},
      {.onnx = "com.microsoft.QuantizeLinear", .shape = shapes::quantize, .inputs = 2},
      unary("com.microsoft.QuickGelu"),
      {.tflite = "ADD_N",
       .shape = shapes::like_first,
       .in_place = InPlace::first_two,
       .rows = elementwise,
       .splits = true},
      binary("", "ATAN2"),
      {.tflite = "CAST",
       .shape = shapes::like_first,
       .copies = copies::cast,
       .in_place = InPlace::first,
       .rows = elementwise,
       .splits = true},
      {.tflite = "COMPLEX_ABS", .shape = shapes::like_first},
      {.tflite = "DEQUANTIZE",
       .shape = shapes::like_first,
       .in_place = InPlace::first,
       .rows = elementwise,
       .splits = true,
       .decodes = true},
      {.tflite = "FAKE_QUANT", .shape = shapes::like_first},
      binary("", "FLOOR_DIV"),
      binary("", "FLOOR_MOD"),
      {.tflite = "IMAG", .shape = shapes::like_first},
      binary("", "MAXIMUM"),
      binary("", "MINIMUM"),
      binary("", "NOT_EQUAL"),
      binary("", "PRELU"),
      {.tflite = "QUANTIZE",
       .shape = shapes::like_first,
       .in_place = InPlace::first,
       .rows = elementwise,
       .splits = true},
      {.tflite = "REAL", .shape = shapes::like_first},
      unary("", "RELU6"),
      unary("", "RELU_0_TO_1"),
      unary("", "RELU_N1_TO_1"),
      binary("", "RIGHT_SHIFT"),
      unary("", "RSQRT"),
      {.tflite = "SELECT", .shape = shapes::like_second},
      {.tflite = "SELECT_V2",
       .shape = shapes::broadcast_all,
       .in_place = InPlace::any,
       .rows = elementwise,
       .splits = true},
      unary("", "SQUARE"),
      binary("", "SQUARED_DIFFERENCE"),
      {.tflite = "ZEROS_LIKE", .shape = shapes::like_first},
  };
  return rows;
}

}  // namespace stowage::operators
