#include "tflite_samples.h"

#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <vector>

#include "tflite_models.h"

namespace stowage::testing {
namespace {

using Numbers = std::vector<std::int32_t>;

enum class Role { data, weights, bias, state, list };

/// What an operator reads. Data and weights without a type have the elements of the sample.
struct Operand {
  Role role = Role::data;
  Numbers numbers{};  ///< The shape, or the elements of a list.
  std::optional<DType> type{};
  bool is_scalar = false;
  bool is_absent = false;
};

Operand data(const Numbers& shape, std::optional<DType> type = {}) { return {Role::data, shape, type}; }
Operand weights(const Numbers& shape, std::optional<DType> type = {}) { return {Role::weights, shape, type}; }
Operand bias(std::int32_t size) { return {Role::bias, {size}}; }
Operand state(const Numbers& shape) { return {Role::state, shape}; }
Operand list(const Numbers& numbers) { return {Role::list, numbers, DType::int32}; }
Operand scalar(std::int32_t number) { return {Role::list, {number}, DType::int32, true}; }
Operand absent() { return {.is_absent = true}; }

struct Sample {
  std::string_view types;
  std::vector<Operand> operands;
  Numbers options{};                                 ///< In the order of the schema.
  std::vector<std::optional<DType>> results = {{}};  ///< Without a type: the elements of the sample.
  bool has_bytes = true;                             ///< There are quantized forms.
  float scale = 0.5F;                                ///< Of the results of int8.
  std::int64_t zero_point = 0;
};

constexpr std::optional<DType> same{};
constexpr std::string_view detection = "TFLite_Detection_PostProcess";
const std::optional<DType> boolean = DType::boolean;
const std::optional<DType> whole = DType::int32;

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all{
      // Element by element
      {"NEG RELU6 RSQRT ZEROS_LIKE", {data({1, 4, 4, 3})}},
      {"ABS LEAKY_RELU HARD_SWISH RELU RELU_0_TO_1 RELU_N1_TO_1",
       {data({1, 4, 4, 3})},
       {},
       {same},
       true,
       0.25F,
       5},
      {"CEIL COS ELU FAKE_QUANT FLOOR ROUND SIGN SIN SQRT SQUARE", {data({1, 4, 4, 3})}, {}, {same}, false},
      {"EXP GELU LOG", {data({1, 4, 4, 3})}, {}, {same}, true, 0.25F, 5},
      {"LOGISTIC", {data({1, 4, 4, 3})}, {}, {same}, true, 1.0F / 256, -128},
      {"TANH", {data({1, 4, 4, 3})}, {}, {same}, true, 1.0F / 128, 0},
      {"MAXIMUM MINIMUM", {data({1, 4, 4, 3}), data({1, 4, 4, 3})}},
      {"ADD SUB MUL SQUARED_DIFFERENCE",
       {data({1, 4, 4, 3}), data({1, 4, 4, 3})},
       {},
       {same},
       true,
       2.0F,
       -3},
      {"ATAN2 DIV FLOOR_DIV FLOOR_MOD POW", {data({1, 4, 4, 3}), data({1, 4, 4, 3})}, {}, {same}, false},
      {"ADD_N", {data({4, 3}), data({4, 3}), data({4, 3})}},
      {"PRELU", {data({1, 4, 4, 3}), weights({1, 1, 3})}},
      {"EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL NOT_EQUAL",
       {data({1, 4, 4, 3}), data({1, 4, 4, 3})},
       {},
       {boolean}},
      {"LOGICAL_AND LOGICAL_OR", {data({4, 3}, boolean), data({4, 3}, boolean)}, {}, {boolean}, false},
      {"LOGICAL_NOT", {data({4, 3}, boolean)}, {}, {boolean}, false},
      {"BITWISE_XOR RIGHT_SHIFT", {data({4, 3}, whole), data({4, 3}, whole)}, {}, {whole}, false},
      {"SELECT SELECT_V2", {data({4, 3}, boolean), data({4, 3}), data({4, 3})}},
      {"CAST", {data({4, 3})}, {}, {whole}, false},
      {"DEQUANTIZE", {data({4, 3}, DType::int8)}, {}, {DType::float32}},
      {"QUANTIZE", {data({4, 3})}, {}, {DType::int8}},
      {"BUCKETIZE", {data({4, 3})}, {}, {whole}, false},
      {"REAL IMAG COMPLEX_ABS", {data({4, 3}, DType::complex64)}, {}, {DType::float32}, false},
      // Windows
      {"CONV_2D", {data({1, 6, 6, 2}), weights({3, 3, 3, 2}), bias(3)}, {1, 1, 1, 0, 1, 1}},
      {"DEPTHWISE_CONV_2D", {data({1, 6, 6, 2}), weights({1, 3, 3, 2}), bias(2)}, {1, 1, 1, 1, 0, 1, 1}},
      {"CONV_3D",
       {data({1, 6, 6, 6, 2}), weights({3, 3, 3, 2, 3}), bias(3)},
       {1, 1, 1, 1, 0, 1, 1, 1},
       {same},
       false},
      {"CONV_3D_TRANSPOSE",
       {list({1, 5, 5, 5, 3}), weights({2, 2, 2, 3, 2}), data({1, 4, 4, 4, 2})},
       {1, 1, 1, 1, 0, 1, 1, 1},
       {same},
       false},
      {"TRANSPOSE_CONV", {list({1, 7, 7, 3}), weights({3, 3, 3, 2}), data({1, 5, 5, 2})}, {1, 1, 1}},
      {"Convolution2DTransposeBias", {data({1, 5, 5, 2}), weights({3, 3, 3, 2}), bias(3)}, {}, {same}, false},
      {"AVERAGE_POOL_2D MAX_POOL_2D", {data({1, 6, 6, 2})}, {1, 2, 2, 2, 2, 0}},
      {"L2_POOL_2D", {data({1, 6, 6, 2})}, {1, 2, 2, 2, 2, 0}, {same}, false},
      {"RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR", {data({1, 6, 6, 2}), list({12, 12})}},
      {"SPACE_TO_DEPTH", {data({1, 6, 6, 2})}, {2}},
      {"DEPTH_TO_SPACE", {data({1, 6, 6, 8})}, {2}},
      {"SPACE_TO_BATCH_ND", {data({1, 6, 6, 2}), list({2, 2}), list({0, 0, 0, 0})}},
      {"BATCH_TO_SPACE_ND", {data({4, 3, 3, 2}), list({2, 2}), list({0, 0, 0, 0})}},
      {"DILATE", {data({4, 3}), list({2, 2}), scalar(0)}, {}, {same}, false},
      // Products
      {"FULLY_CONNECTED", {data({4, 8}), weights({5, 8}), bias(5)}, {0, 0, 0}},
      {"BATCH_MATMUL", {data({2, 4, 8}), data({2, 8, 5})}, {0, 0}},
      {"SVDF", {data({1, 8}), weights({4, 8}), weights({4, 5}), bias(4), state({1, 20})}, {1}, {same}, false},
      {"EMBEDDING_LOOKUP", {data({4}, whole), weights({9, 5})}},
      // Norms and reductions
      {"SOFTMAX", {data({4, 8})}, {1}, {same}, true, 1.0F / 256, -128},
      {"LOG_SOFTMAX", {data({4, 8})}, {}, {same}, true, 16.0F / 256, 127},
      {"L2_NORMALIZATION", {data({4, 8})}, {}, {same}, true, 1.0F / 128, 0},
      {"LOCAL_RESPONSE_NORMALIZATION", {data({1, 4, 4, 8})}, {2, 1, 1, 1}, {same}, false},
      {"MEAN SUM", {data({1, 4, 4, 3}), list({1, 2})}, {1}, {same}, true, 0.25F, 5},
      {"REDUCE_MAX REDUCE_MIN", {data({1, 4, 4, 3}), list({1, 2})}, {1}},
      {"REDUCE_PROD", {data({1, 4, 4, 3}), list({1, 2})}, {1}, {same}, false},
      {"REDUCE_ALL REDUCE_ANY", {data({1, 4, 4, 3}, boolean), list({1, 2})}, {}, {boolean}, false},
      {"ARG_MAX ARG_MIN", {data({4, 8}), scalar(1)}, {}, {DType::int64}},
      {"CUMSUM", {data({4, 8}), scalar(1)}, {}, {same}, false},
      {"TOPK_V2", {data({4, 8}), scalar(3)}, {}, {same, whole}},
      {"SEGMENT_SUM", {data({4, 3}), list({0, 0, 1, 1})}, {}, {same}, false},
      {"UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_SUM",
       {data({4, 3}), list({0, 0, 1, 1}), scalar(2)},
       {},
       {same},
       false},
      // Movement
      {"RESHAPE", {data({4, 6}), list({8, 3})}},
      {"SQUEEZE", {data({4, 1, 6})}},
      {"EXPAND_DIMS", {data({4, 6}), scalar(0)}},
      {"TRANSPOSE", {data({4, 6}), list({1, 0})}},
      {"CONCATENATION", {data({1, 4, 4, 3}), data({1, 4, 4, 3})}, {3, 0}},
      {"PACK", {data({4, 6}), data({4, 6})}, {2, 0}},
      {"UNPACK", {data({2, 6})}, {2, 0}, {same, same}},
      {"SPLIT", {scalar(1), data({4, 6})}, {}, {same, same}},
      {"SPLIT_V", {data({4, 6}), list({2, 4}), scalar(1)}, {}, {same, same}},
      {"SLICE", {data({4, 6}), list({1, 2}), list({2, 3})}},
      {"STRIDED_SLICE", {data({4, 6}), list({1, 0}), list({4, 6}), list({1, 2})}, {0, 0, 0, 0, 0, 0}},
      {"PAD", {data({1, 4, 4, 3}), list({0, 0, 1, 1, 1, 1, 0, 0})}},
      {"PADV2", {data({1, 4, 4, 3}), list({0, 0, 1, 1, 1, 1, 0, 0}), weights({})}},
      {"MIRROR_PAD", {data({1, 4, 4, 3}), list({0, 0, 1, 1, 1, 1, 0, 0})}},
      {"TILE", {data({4, 6}), list({2, 1})}},
      {"BROADCAST_TO", {data({4, 1}), list({4, 6})}},
      {"BROADCAST_ARGS", {data({2}, whole), data({2}, whole)}, {}, {whole}, false},
      {"REVERSE_V2", {data({4, 6}), list({1})}},
      {"REVERSE_SEQUENCE", {data({4, 6}), list({2, 2, 2, 2})}},
      {"DYNAMIC_UPDATE_SLICE", {data({4, 6}), data({2, 3}), list({0, 0})}},
      {"MATRIX_DIAG", {data({4, 6})}},
      {"MATRIX_SET_DIAG", {data({4, 6}), data({4})}},
      // Indices and sizes
      {"GATHER", {data({4, 6}), list({2, 0})}},
      {"GATHER_ND", {data({4, 6}), data({5, 1}, whole)}},
      {"SCATTER_ND", {data({2, 1}, whole), data({2, 6}), list({4, 6})}},
      {"ONE_HOT", {data({4}, whole), scalar(5), weights({}), weights({})}},
      {"FILL", {data({2}, whole), weights({})}},
      {"RANGE", {scalar(0), data({}, whole), scalar(1)}, {}, {whole}, false},
      {"SHAPE", {data({4, 6})}, {}, {whole}},
      {"RANK", {data({4, 6})}, {}, {whole}},
      {"WHERE", {data({4, 6}, boolean)}, {}, {DType::int64}, false},
      {"UNIQUE", {data({4})}, {}, {same, whole}, false},
      {"SPARSE_TO_DENSE", {data({3}, whole), list({9}), data({3}), weights({})}, {}, {same}, false},
      {"NON_MAX_SUPPRESSION_V4",
       {data({6, 4}), data({6}), scalar(3), weights({}), weights({})},
       {},
       {whole, whole},
       false},
      {"NON_MAX_SUPPRESSION_V5",
       {data({6, 4}), data({6}), scalar(3), weights({}), weights({}), weights({})},
       {},
       {whole, same, whole},
       false},
      {detection,
       {data({1, 6, 4}), data({1, 6, 3}), weights({6, 4})},
       {},
       {DType::float32, DType::float32, DType::float32, DType::float32}},
      // Sequences and signals
      {"UNIDIRECTIONAL_SEQUENCE_RNN",
       {data({2, 5, 4}), weights({3, 4}), weights({3, 3}), bias(3)},
       {},
       {same},
       false},
      {"UNIDIRECTIONAL_SEQUENCE_LSTM",
       {data({1, 5, 4}), weights({3, 4}), weights({3, 4}), weights({3, 4}), weights({3, 4}), weights({3, 3}),
        weights({3, 3}), weights({3, 3}), weights({3, 3}), absent(),        absent(),        absent(),
        bias(3),         bias(3),         bias(3),         bias(3),         absent(),        absent(),
        state({1, 3}),   state({1, 3}),   absent(),        absent(),        absent(),        absent()},
       {4, 0, 0, 0},
       {same},
       false},
      {"RFFT2D", {data({1, 8, 8}), list({8, 8})}, {}, {DType::complex64}, false},
      // Random numbers
      {"RANDOM_STANDARD_NORMAL RANDOM_UNIFORM", {list({4, 6})}, {}, {same}, false},
      {"MULTINOMIAL", {data({4, 6}), scalar(3)}, {}, {DType::int64}, false},
  };
  return all;
}

std::string bytes_of_list(const Numbers& numbers) {
  std::string bytes(numbers.size() * sizeof(std::int32_t), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

bool is_quantized(DType dtype) {
  return dtype == DType::int8 || dtype == DType::uint8 || dtype == DType::int16;
}

/// Zero points are those of int8 with the same distance from the least number.
std::int64_t zero_point_of(DType dtype, std::int64_t of_int8) {
  return dtype == DType::uint8 ? of_int8 + 128 : of_int8;
}

bool is_layer(std::string_view type) {
  return type == "CONV_2D" || type == "DEPTHWISE_CONV_2D" || type == "FULLY_CONNECTED" ||
         type == "TRANSPOSE_CONV";
}

/// Small numbers, if they are of 32 bits: what zeros multiply is the same however it is computed. A single one is zero.
std::string bytes_of_weights(DType dtype, const Shape& shape) {
  constexpr std::size_t different = 7;
  std::string bytes(static_cast<std::size_t>(bytes_of(dtype, shape)), '\0');
  if (shape.empty() || (dtype != DType::float32 && dtype != DType::int32)) return bytes;
  for (std::size_t i = 0; i < bytes.size() / sizeof(std::int32_t); ++i) {
    const auto number = static_cast<std::int32_t>(i % different + 1);
    const float fraction = static_cast<float>(number) / (different + 1);
    std::memcpy(&bytes[i * sizeof number],
                dtype == DType::float32 ? static_cast<const void*>(&fraction) : &number, sizeof number);
  }
  return bytes;
}

/// The weights of an operator with such elements. Those of uint8 are not symmetric, and sizes of boxes not negative.
TfliteTensor weights_of(const Operand& operand, std::string_view type, DType elements) {
  TfliteTensor tensor{.shape = operand.numbers, .dtype = operand.type.value_or(elements)};
  if (elements == DType::int16 && is_layer(type)) tensor.dtype = DType::int8;
  const Shape shape(tensor.shape.begin(), tensor.shape.end());
  tensor.data = bytes_of_weights(tensor.dtype, shape);
  if (!is_quantized(tensor.dtype)) return tensor;
  tensor.scale = {0.5F};
  tensor.zero_point = {zero_point_of(tensor.dtype, tensor.dtype == DType::uint8 ? 3 : 0)};
  if (tensor.dtype == DType::int16) return tensor;
  const int middle = type == detection ? 0 : 3;
  for (std::size_t i = 0; i < tensor.data.size(); ++i)
    tensor.data[i] =
        static_cast<char>(static_cast<int>(tensor.zero_point[0]) + static_cast<int>(i * 5 % 7) - middle);
  return tensor;
}

TfliteTensor bias_of(const Operand& operand, DType elements) {
  TfliteTensor tensor{.shape = operand.numbers, .dtype = elements};
  if (is_quantized(elements)) {
    tensor.dtype = elements == DType::int16 ? DType::int64 : DType::int32;
    tensor.scale = {0.25F};
    tensor.zero_point = {0};
  }
  const Shape shape(tensor.shape.begin(), tensor.shape.end());
  tensor.data = bytes_of_weights(tensor.dtype, shape);
  return tensor;
}

/// The tensor of an operand without its name.
TfliteTensor tensor_of(const Operand& operand, std::string_view type, DType elements) {
  if (operand.role == Role::weights) return weights_of(operand, type, elements);
  if (operand.role == Role::bias) return bias_of(operand, elements);
  TfliteTensor tensor{.shape = operand.numbers, .dtype = operand.type.value_or(elements)};
  if (operand.role == Role::list) {
    tensor.shape = operand.is_scalar ? Numbers{} : Numbers{static_cast<std::int32_t>(operand.numbers.size())};
    tensor.data = bytes_of_list(operand.numbers);
    return tensor;
  }
  if (type == "DEQUANTIZE" && is_quantized(elements)) tensor.dtype = elements;
  if (is_quantized(tensor.dtype)) {
    tensor.scale = {0.5F};
    tensor.zero_point = {zero_point_of(tensor.dtype, 0)};
  }
  if (operand.role == Role::data) {
    tensor.signature = Numbers(tensor.shape.size(), -1);
  } else {
    tensor.is_variable = true;
  }
  return tensor;
}

TfliteSample call_of(const Sample& sample, std::string_view type, DType elements) {
  TfliteSubgraph network;
  TfliteOperator op{.type = std::string(type), .numbers = sample.options};
  if (type == detection) op.custom_options = bytes_of_options({});
  TfliteSample result;
  for (const Operand& operand : sample.operands) {
    const auto index = static_cast<std::int32_t>(network.tensors.size());
    op.inputs.push_back(operand.is_absent ? -1 : index);
    if (operand.is_absent) continue;
    TfliteTensor tensor = tensor_of(operand, type, elements);
    tensor.name = "x" + std::to_string(index);
    if (operand.role == Role::data) {
      network.inputs.push_back(index);
      if (!tensor.shape.empty())
        result.options.shapes[tensor.name] = GivenShape(tensor.shape.begin(), tensor.shape.end());
    }
    network.tensors.push_back(tensor);
  }
  for (const std::optional<DType>& dtype : sample.results) {
    const auto index = static_cast<std::int32_t>(network.tensors.size());
    TfliteTensor tensor{
        .name = "y" + std::to_string(index), .dtype = dtype.value_or(elements), .has_rank = false};
    if (is_quantized(tensor.dtype)) {
      const bool is_fixed = tensor.dtype == DType::int16 && sample.scale != Sample{}.scale;
      tensor.scale = {is_fixed ? 1.0F / 32768 : sample.scale};
      tensor.zero_point = {is_fixed ? 0 : zero_point_of(tensor.dtype, sample.zero_point)};
    }
    network.tensors.push_back(tensor);
    network.outputs.push_back(index);
    op.outputs.push_back(index);
  }
  network.operators = {op};
  result.content = tflite_model({.subgraphs = {network}});
  return result;
}

bool names(const Sample& sample, std::string_view type) {
  std::istringstream words{std::string(sample.types)};
  for (std::string word; words >> word;) {
    if (word == type) return true;
  }
  return false;
}

}  // namespace

std::string bytes_of_options(const DetectionOptions& options) {
  flexbuffers::Builder builder;
  builder.Map([&] {
    builder.Int("max_detections", options.most);
    builder.Int("max_classes_per_detection", options.classes_per_box);
    builder.Int("detections_per_class", options.boxes_per_class);
    builder.Int("num_classes", 2);
    builder.Bool("use_regular_nms", options.is_by_class);
    builder.Float("nms_score_threshold", 0.25F);
    builder.Float("nms_iou_threshold", 0.5F);
    for (const char* const name : {"y_scale", "x_scale"}) builder.Float(name, 10.0F);
    for (const char* const name : {"h_scale", "w_scale"}) builder.Float(name, 5.0F);
  });
  builder.Finish();
  return {builder.GetBuffer().begin(), builder.GetBuffer().end()};
}

std::optional<TfliteSample> tflite_sample_of(std::string_view type, DType elements) {
  const auto found =
      std::ranges::find_if(samples(), [&](const Sample& sample) { return names(sample, type); });
  if (found == samples().end() || (is_quantized(elements) && !found->has_bytes)) return std::nullopt;
  return call_of(*found, type, elements);
}

}  // namespace stowage::testing
