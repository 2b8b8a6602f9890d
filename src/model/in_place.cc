// Operators that may write their output over an input while they read it. This is a fact about operators,
// like the size of an element type. So planner and checker take it from here, and every run of a plan tests
// it. An operator that is not listed writes over nothing.

#include "model/in_place.h"

#include <algorithm>
#include <array>

#include "stowage/graph.h"

namespace stowage {
namespace {

using namespace std::string_view_literals;

/// Operators that compute each element of their output from the same element of their inputs. They may write
/// over any input as large as the output.
constexpr std::array elementwise{
    // ONNX
    "Abs"sv, "Acos"sv, "Acosh"sv, "Add"sv, "And"sv, "Asin"sv, "Asinh"sv, "Atan"sv, "Atanh"sv, "BitShift"sv,
    "BitwiseAnd"sv, "BitwiseNot"sv, "BitwiseOr"sv, "BitwiseXor"sv, "Ceil"sv, "Celu"sv, "Clip"sv, "Cos"sv,
    "Cosh"sv, "Div"sv, "Elu"sv, "Equal"sv, "Erf"sv, "Exp"sv, "Floor"sv, "Gelu"sv, "Greater"sv,
    "GreaterOrEqual"sv, "HardSigmoid"sv, "HardSwish"sv, "Identity"sv, "IsInf"sv, "IsNaN"sv, "LeakyRelu"sv,
    "Less"sv, "LessOrEqual"sv, "Log"sv, "Mish"sv, "Mod"sv, "Mul"sv, "Neg"sv, "Not"sv, "Or"sv, "PRelu"sv,
    "Pow"sv, "Reciprocal"sv, "Relu"sv, "Round"sv, "Selu"sv, "Shrink"sv, "Sigmoid"sv, "Sign"sv, "Sin"sv,
    "Sinh"sv, "Softplus"sv, "Softsign"sv, "Sqrt"sv, "Sub"sv, "Swish"sv, "Tan"sv, "Tanh"sv,
    "ThresholdedRelu"sv, "Where"sv, "Xor"sv, "com.microsoft.QLinearAdd"sv, "com.microsoft.QLinearMul"sv,
    // TFLite
    "ABS"sv, "ADD"sv, "ATAN2"sv, "BITWISE_XOR"sv, "CEIL"sv, "COS"sv, "DIV"sv, "ELU"sv, "EQUAL"sv, "EXP"sv,
    "FLOOR"sv, "FLOOR_DIV"sv, "FLOOR_MOD"sv, "GELU"sv, "GREATER"sv, "GREATER_EQUAL"sv, "HARD_SWISH"sv,
    "LEAKY_RELU"sv, "LESS"sv, "LESS_EQUAL"sv, "LOG"sv, "LOGICAL_AND"sv, "LOGICAL_NOT"sv, "LOGICAL_OR"sv,
    "LOGISTIC"sv, "MAXIMUM"sv, "MINIMUM"sv, "MUL"sv, "NEG"sv, "NOT_EQUAL"sv, "POW"sv, "PRELU"sv, "RELU"sv,
    "RELU6"sv, "RELU_0_TO_1"sv, "RELU_N1_TO_1"sv, "RIGHT_SHIFT"sv, "ROUND"sv, "RSQRT"sv, "SELECT_V2"sv,
    "SIGN"sv, "SIN"sv, "SQRT"sv, "SQUARE"sv, "SQUARED_DIFFERENCE"sv, "SUB"sv, "TANH"sv};

/// Operators of any number of inputs, which kernels add up one by one: they may only write over one of the
/// two inputs that are read first.
constexpr std::array first_two_inputs_only{"ADD_N"sv, "Max"sv, "Mean"sv, "Min"sv, "Sum"sv};

/// Operators that may write over their first input only, or that change parts of a copy of it.
constexpr std::array first_input_only{"BatchNormalization"sv,
                                      "Cast"sv,
                                      "CastLike"sv,
                                      "DequantizeLinear"sv,
                                      "Dropout"sv,
                                      "QuantizeLinear"sv,
                                      "Scatter"sv,
                                      "ScatterElements"sv,
                                      "ScatterND"sv,
                                      "TensorScatter"sv,
                                      "CAST"sv,
                                      "DEQUANTIZE"sv,
                                      "DYNAMIC_UPDATE_SLICE"sv,
                                      "QUANTIZE"sv};

template <typename Types>
bool contains(const Types& types, std::string_view type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

}  // namespace

bool updates_in_place(const Operator& op, std::size_t input) {
  return contains(elementwise, op.type) || (input < 2 && contains(first_two_inputs_only, op.type)) ||
         (input < 1 && contains(first_input_only, op.type));
}

bool model::may_write_over(const Graph& graph, const Operator& op, TensorId input, TensorId output) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] == input && in_place_output(graph, op, i) != output) return false;
  }
  return true;
}

std::vector<std::string_view> model::types_updated_in_place() {
  std::vector<std::string_view> types(elementwise.begin(), elementwise.end());
  types.insert(types.end(), first_two_inputs_only.begin(), first_two_inputs_only.end());
  types.insert(types.end(), first_input_only.begin(), first_input_only.end());
  return types;
}

std::optional<TensorId> in_place_output(const Graph& graph, const Operator& op, std::size_t input) {
  if (!op.bodies.empty() || op.outputs.size() != 1 || !op.outputs[0] || !op.inputs[input])
    return std::nullopt;
  if (!updates_in_place(op, input)) return std::nullopt;
  const Tensor& read = graph.tensors[*op.inputs[input]];
  const Tensor& written = graph.tensors[*op.outputs[0]];
  const auto bits = bits_of(read.dtype);
  const bool is_alike =
      read.bytes == written.bytes && bits && bits == bits_of(written.dtype) && are_open_alike(read, written);
  return is_alike && read.shape && written.shape ? op.outputs[0] : std::nullopt;
}

}  // namespace stowage
