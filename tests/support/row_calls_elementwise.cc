#include "kernel_calls.h"
#include "row_calls.h"

namespace stowage::testing {
namespace {

using enum DType;

const Shape image{2, 3, 5, 4};

/// One input, and one of it for each type.
void add_unary(std::vector<Call>& calls, std::initializer_list<const char*> types, std::int64_t version,
               DType dtype = float32, DType output = float32) {
  for (const char* const type : types)
    calls.push_back({.type = type,
                     .data = {image},
                     .output = image,
                     .version = version,
                     .dtypes = {dtype},
                     .output_dtype = output});
}

/// A second input as large, one that is repeated for rows, and one whose rows are repeated.
void add_binary(std::vector<Call>& calls, std::initializer_list<const char*> types, std::int64_t version,
                DType dtype = float32, DType output = float32, const Settings& settings = {}) {
  for (const char* const type : types) {
    for (const Shape& second : {image, Shape{4}, Shape{5, 1}, Shape{3, 1, 4}})
      calls.push_back({.type = type,
                       .data = {image, second},
                       .output = image,
                       .settings = settings,
                       .version = version,
                       .dtypes = {dtype, dtype},
                       .output_dtype = output});
  }
}

void add_onnx(std::vector<Call>& calls) {
  add_unary(calls,
            {"Abs",       "Acos",        "Acosh",    "Asin", "Asinh",  "Atan",    "Atanh", "Ceil",
             "Celu",      "Clip",        "Cos",      "Cosh", "Elu",    "Erf",     "Exp",   "Floor",
             "Gelu",      "HardSwish",   "Identity", "Log",  "Mish",   "Neg",     "Relu",  "Reciprocal",
             "LeakyRelu", "HardSigmoid", "Round",    "Selu", "Shrink", "Sigmoid", "Sign",  "Sin",
             "Sinh",      "Softplus",    "Softsign", "Sqrt", "Swish",  "Tan",     "Tanh",  "ThresholdedRelu",
             "Dropout"},
            22);
  add_unary(calls, {"com.microsoft.FastGelu", "com.microsoft.Gelu", "com.microsoft.QuickGelu"}, 1);
  for (const char* const type : {"com.microsoft.BiasGelu", "com.microsoft.FastGelu"})
    calls.push_back({.type = type, .data = {{2, 5, 3}, {3}}, .output = {2, 5, 3}, .version = 1});
  add_unary(calls, {"IsInf", "IsNaN"}, 20, float32, boolean);
  add_unary(calls, {"Not"}, 20, boolean, boolean);
  add_unary(calls, {"BitwiseNot"}, 20, int8, int8);
  add_binary(calls, {"Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Max", "Min", "Sum", "Mean"}, 17);
  add_binary(calls, {"Mod"}, 17, float32, float32, {{"fmod", std::int64_t{1}}});
  add_binary(calls, {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}, 17, float32, boolean);
  add_binary(calls, {"And", "Or", "Xor"}, 17, boolean, boolean);
  add_binary(calls, {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}, 18, int32, int32);
  add_binary(calls, {"BitShift"}, 17, uint8, uint8, {{"direction", std::string("LEFT")}});
  // Before operator set 7, dimensions of a second input were put at an axis, and slopes were of channels.
  const Shape square{2, 5, 5, 5};
  for (const char* const type : {"Add", "Mul", "Sub", "Div"})
    calls.push_back({.type = type,
                     .data = {square, {5}},
                     .output = square,
                     .settings = {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{1}}},
                     .version = 6});
  calls.push_back({.type = "PRelu", .data = {square, {5}}, .output = square, .version = 6});
  calls.push_back({.type = "Where",
                   .data = {{5, 1}, image, {4}},
                   .output = image,
                   .version = 16,
                   .dtypes = {boolean, float32, float32}});
  calls.push_back({.type = "Max", .data = {image, {4}, {5, 1}}, .output = image});
  calls.push_back({.type = "Cast",
                   .data = {image},
                   .output = image,
                   .settings = {{"to", std::int64_t{7}}},
                   .output_dtype = int64});
  calls.push_back({.type = "CastLike",
                   .data = {image, image},
                   .output = image,
                   .dtypes = {float32, int32},
                   .output_dtype = int32});
  calls.push_back({.type = "Dropout", .data = {image}, .output = image, .more_outputs = {{image, boolean}}});
}

/// One scale for all, for each place along an axis, and for blocks of places.
void add_quantized(std::vector<Call>& calls) {
  std::mt19937_64 random(5);
  const auto zeros = [&](const Shape& shape) { return random_array(random, shape, int8); };
  const auto scales = [&](const Shape& shape) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < kernels::count_of(shape); ++i)
      values.push_back(0.05 + 0.01 * static_cast<double>(i));
    return array<float>(shape, values);
  };
  for (const char* const type :
       {"com.microsoft.QLinearAdd", "com.microsoft.QLinearMul", "stowage.QLinearSub"}) {
    for (const Shape& second : {image, Shape{4}, Shape{5, 1}, Shape{3, 1, 4}})
      calls.push_back({.type = type,
                       .data = {image},
                       .constants = {scales({}), zeros({}), random_array(random, second, int8), scales({}),
                                     zeros({}), scales({}), zeros({})},
                       .output = image,
                       .version = 1,
                       .dtypes = {int8},
                       .output_dtype = int8});
  }
  for (const char* const type :
       {"com.microsoft.QLinearLeakyRelu", "com.microsoft.QLinearSigmoid", "stowage.Requantize"})
    calls.push_back({.type = type,
                     .data = {image},
                     .constants = {scales({}), zeros({}), scales({}), zeros({})},
                     .output = image,
                     .version = 1,
                     .dtypes = {int8},
                     .output_dtype = int8});
  calls.push_back({.type = "com.microsoft.QLinearGlobalAveragePool",
                   .data = {image},
                   .constants = {scales({}), zeros({}), scales({}), zeros({})},
                   .output = {2, 3, 1, 1},
                   .version = 1,
                   .dtypes = {int8},
                   .output_dtype = int8});
  for (const std::int64_t keeps : {0, 1})
    calls.push_back({.type = "com.microsoft.QLinearReduceMean",
                     .data = {image},
                     .constants = {scales({}), zeros({}), scales({}), zeros({})},
                     .output = keeps != 0 ? Shape{2, 3, 1, 1} : Shape{2, 3},
                     .settings = {{"axes", Shape{2, 3}}, {"keepdims", keeps}},
                     .version = 1,
                     .dtypes = {int8},
                     .output_dtype = int8});
  for (const std::int64_t counts_padding : {0, 1})
    calls.push_back({.type = "com.microsoft.QLinearAveragePool",
                     .data = {image},
                     .constants = {scales({}), zeros({}), scales({}), zeros({})},
                     .output = {2, 3, 3, 2},
                     .settings = {{"kernel_shape", Shape{2, 2}},
                                  {"strides", Shape{2, 2}},
                                  {"pads", Shape{1, 0, 0, 0}},
                                  {"count_include_pad", counts_padding}},
                     .version = 1,
                     .dtypes = {int8},
                     .output_dtype = int8});
  calls.push_back(
      {.type = "com.microsoft.QLinearConcat",
       .data = {{2, 2, 5, 4}, {}, {}},
       .constants = {scales({}), zeros({}), random_array(random, {2, 1, 5, 4}, int8), scales({}), zeros({})},
       .output = image,
       .settings = {{"axis", std::int64_t{1}}},
       .version = 1,
       .dtypes = {int8, float32, int8},
       .output_dtype = int8,
       .are_constants_first = true});
  for (const std::int64_t axis : {0, 1, 2, 3}) {
    const Shape own{image[static_cast<std::size_t>(axis)]};
    calls.push_back({.type = "QuantizeLinear",
                     .data = {image},
                     .constants = {scales(own), zeros(own)},
                     .output = image,
                     .settings = {{"axis", axis}},
                     .output_dtype = int8});
    calls.push_back({.type = "DequantizeLinear",
                     .data = {image},
                     .constants = {scales(own), zeros(own)},
                     .output = image,
                     .settings = {{"axis", axis}},
                     .dtypes = {int8}});
  }
  calls.push_back({.type = "QuantizeLinear",
                   .data = {image},
                   .constants = {scales({}), zeros({})},
                   .output = image,
                   .output_dtype = int8});
  calls.push_back({.type = "DequantizeLinear",
                   .data = {{6, 4}},
                   .constants = {scales({6, 2}), zeros({6, 2})},
                   .output = {6, 4},
                   .settings = {{"axis", std::int64_t{1}}, {"block_size", std::int64_t{2}}},
                   .version = 21,
                   .dtypes = {int8}});
  calls.push_back({.type = "DequantizeLinear",
                   .data = {{6, 4}},
                   .constants = {scales({3, 4}), zeros({3, 4})},
                   .output = {6, 4},
                   .settings = {{"axis", std::int64_t{0}}, {"block_size", std::int64_t{2}}},
                   .version = 21,
                   .dtypes = {int8}});
}

void add_tflite(std::vector<Call>& calls) {
  add_unary(calls,
            {"ABS",        "CEIL",  "COS",      "ELU",  "EXP",    "FLOOR", "GELU",        "HARD_SWISH",
             "LEAKY_RELU", "LOG",   "LOGISTIC", "NEG",  "RELU",   "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1",
             "ROUND",      "RSQRT", "SIN",      "SQRT", "SQUARE", "TANH"},
            1);
  add_unary(calls, {"LOGICAL_NOT"}, 1, boolean, boolean);
  add_binary(calls,
             {"ADD", "DIV", "FLOOR_DIV", "FLOOR_MOD", "MAXIMUM", "MINIMUM", "MUL", "POW", "PRELU",
              "SQUARED_DIFFERENCE", "SUB"},
             1);
  calls.push_back({.type = "ADD_N", .data = {image, image, image}, .output = image, .version = 1});
  add_binary(calls, {"EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"}, 1, float32,
             boolean);
  add_binary(calls, {"LOGICAL_AND", "LOGICAL_OR"}, 1, boolean, boolean);
  calls.push_back({.type = "SELECT_V2",
                   .data = {{5, 1}, image, {4}},
                   .output = image,
                   .version = 1,
                   .dtypes = {boolean, float32, float32}});
  add_unary(calls, {"CAST"}, 1, float32, int32);
  const Quantization quantization{.scales = {0.05F}, .zero_points = {3}};
  calls.push_back({.type = "QUANTIZE",
                   .data = {image},
                   .output = image,
                   .version = 1,
                   .output_dtype = int8,
                   .quantization = quantization});
  calls.push_back({.type = "DEQUANTIZE",
                   .data = {image},
                   .output = image,
                   .version = 1,
                   .dtypes = {int8},
                   .quantization = quantization});
  calls.push_back({.type = "ADD",
                   .data = {image, {4}},
                   .output = image,
                   .version = 1,
                   .dtypes = {int8, int8},
                   .output_dtype = int8,
                   .quantization = quantization});
}

}  // namespace

std::vector<Call> elementwise_calls() {
  std::vector<Call> calls;
  add_onnx(calls);
  add_quantized(calls);
  add_tflite(calls);
  std::mt19937_64 random(6);
  calls.push_back({.type = "BatchNormalization",
                   .data = {image},
                   .constants = {random_array(random, {3}), random_array(random, {3}),
                                 random_array(random, {3}), array<float>({3}, {1, 2, 3})},
                   .output = image});
  return calls;
}

}  // namespace stowage::testing
