#include "tflite_models.h"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

#include "tflite_generated.h"

namespace stowage::testing {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using tflite::BuiltinOperator;
using tflite::BuiltinOptions;
using tflite::TensorType;

TensorType type_of(DType dtype) {
  static constexpr std::array<std::pair<DType, TensorType>, 22> types{
      {{DType::float32, TensorType::FLOAT32},
       {DType::float16, TensorType::FLOAT16},
       {DType::int32, TensorType::INT32},
       {DType::uint8, TensorType::UINT8},
       {DType::int64, TensorType::INT64},
       {DType::string, TensorType::STRING},
       {DType::boolean, TensorType::BOOL},
       {DType::int16, TensorType::INT16},
       {DType::complex64, TensorType::COMPLEX64},
       {DType::int8, TensorType::INT8},
       {DType::float64, TensorType::FLOAT64},
       {DType::complex128, TensorType::COMPLEX128},
       {DType::uint64, TensorType::UINT64},
       {DType::resource, TensorType::RESOURCE},
       {DType::uint32, TensorType::UINT32},
       {DType::uint16, TensorType::UINT16},
       {DType::int4, TensorType::INT4},
       {DType::bfloat16, TensorType::BFLOAT16},
       {DType::int2, TensorType::INT2},
       {DType::uint4, TensorType::UINT4},
       {DType::float8e4m3fn, TensorType::FLOAT8_E4M3FN},
       {DType::float8e5m2, TensorType::FLOAT8_E5M2}}};
  for (const auto& [known, type] : types) {
    if (known == dtype) return type;
  }
  throw std::invalid_argument("TFLite has no such element type");
}

/// Custom operators are those that have no builtin's name.
BuiltinOperator builtin_named(const std::string& name) {
  for (const BuiltinOperator builtin : tflite::EnumValuesBuiltinOperator()) {
    if (tflite::EnumNameBuiltinOperator(builtin) == name) return builtin;
  }
  return BuiltinOperator::CUSTOM;
}

/// Writes one file. Data outside the flatbuffer needs the flatbuffer's size, which does not depend
/// on its value: so a file with such data is written twice.
class Writer {
 public:
  Writer(const TfliteSpec& spec, std::size_t flatbuffer_size) : end_(flatbuffer_size) {
    buffers_.push_back(tflite::CreateBuffer(builder_));
    std::vector<Offset<tflite::SubGraph>> once;
    for (const TfliteSubgraph& subgraph : spec.subgraphs) once.push_back(write(subgraph));
    std::vector<Offset<tflite::SubGraph>> subgraphs;
    for (std::size_t i = 0; i < spec.repeats; ++i)
      subgraphs.insert(subgraphs.end(), once.begin(), once.end());
    std::vector<Offset<tflite::Metadata>> metadata;
    for (const TfliteMetadata& entry : spec.metadata) metadata.push_back(write(entry));
    const auto buffers = spec.has_buffers ? builder_.CreateVector(buffers_) : 0;
    const auto description = spec.description.empty() ? 0 : builder_.CreateString(spec.description);
    tflite::FinishModelBuffer(builder_,
                              tflite::CreateModel(builder_, spec.version, builder_.CreateVector(codes_),
                                                  builder_.CreateVector(subgraphs), description, buffers, 0,
                                                  metadata.empty() ? 0 : builder_.CreateVector(metadata)));
  }

  [[nodiscard]] std::size_t flatbuffer_size() const { return builder_.GetSize(); }
  [[nodiscard]] bool has_outside() const { return !outside_.empty(); }
  [[nodiscard]] std::string bytes() const {
    return std::string(reinterpret_cast<const char*>(builder_.GetBufferPointer()), builder_.GetSize()) +
           outside_;
  }

 private:
  Offset<tflite::SubGraph> write(const TfliteSubgraph& subgraph) {
    std::vector<Offset<tflite::Tensor>> tensors;
    for (const TfliteTensor& tensor : subgraph.tensors) tensors.push_back(write(tensor));
    std::vector<Offset<tflite::Operator>> operators;
    for (const TfliteOperator& op : subgraph.operators) operators.push_back(write(op));
    return tflite::CreateSubGraphDirect(builder_, &tensors, &subgraph.inputs, &subgraph.outputs, &operators,
                                        name_of(subgraph.name));
  }

  Offset<tflite::Metadata> write(const TfliteMetadata& entry) {
    if (!entry.buffer) {
      const std::vector<std::uint8_t> data(entry.data.begin(), entry.data.end());
      buffers_.push_back(tflite::CreateBufferDirect(builder_, &data));
    }
    return tflite::CreateMetadataDirect(
        builder_, name_of(entry.name),
        entry.buffer.value_or(static_cast<std::uint32_t>(buffers_.size() - 1)));
  }

  Offset<tflite::Tensor> write(const TfliteTensor& tensor) {
    const std::uint32_t buffer = tensor.buffer.value_or(write_buffer(tensor));
    const TensorType type = tensor.type ? static_cast<TensorType>(*tensor.type) : type_of(tensor.dtype);
    return tflite::CreateTensorDirect(builder_, &tensor.shape, type, buffer, name_of(tensor.name),
                                      write_quantization(tensor), tensor.is_variable, write_sparsity(tensor),
                                      tensor.signature.empty() ? nullptr : &tensor.signature, tensor.has_rank,
                                      tensor.external_buffer);
  }

  Offset<tflite::QuantizationParameters> write_quantization(const TfliteTensor& tensor) {
    if (tensor.scale.empty() && tensor.zero_point.empty() && tensor.details == 0) return 0;
    return tflite::CreateQuantizationParametersDirect(builder_, &tensor.scale, &tensor.zero_point,
                                                      tensor.details, tensor.quantized_dimension);
  }

  Offset<tflite::SparsityParameters> write_sparsity(const TfliteTensor& tensor) {
    if (!tensor.sparsity) return 0;
    std::vector<Offset<tflite::DimensionMetadata>> levels;
    for (const TfliteLevel& level : tensor.sparsity->levels) {
      const auto segments = write_indices(level.segments, level.type);
      const auto indices = write_indices(level.indices, level.type);
      const auto type = level.is_dense ? tflite::SparseIndexVector::NONE
                                       : static_cast<tflite::SparseIndexVector>(level.type);
      levels.push_back(tflite::CreateDimensionMetadata(
          builder_, static_cast<tflite::DimensionType>(level.format.value_or(level.is_dense ? 0 : 1)),
          level.extent, type, level.is_dense ? 0 : segments, type, level.is_dense ? 0 : indices));
    }
    return tflite::CreateSparsityParametersDirect(builder_, &tensor.sparsity->order, &tensor.sparsity->blocks,
                                                  &levels);
  }

  Offset<void> write_indices(const std::vector<std::int32_t>& numbers, std::uint8_t type) {
    const std::vector<std::uint16_t> words(numbers.begin(), numbers.end());
    const std::vector<std::uint8_t> bytes(numbers.begin(), numbers.end());
    if (type == 3) return tflite::CreateUint8VectorDirect(builder_, &bytes).Union();
    if (type == 2) return tflite::CreateUint16VectorDirect(builder_, &words).Union();
    return tflite::CreateInt32VectorDirect(builder_, &numbers).Union();
  }

  std::uint32_t write_buffer(const TfliteTensor& tensor) {
    if (tensor.claim) {
      buffers_.push_back(tflite::CreateBuffer(builder_, 0, tensor.claim->offset, tensor.claim->size));
    } else if (tensor.data.empty()) {
      return 0;
    } else if (tensor.is_outside) {
      buffers_.push_back(tflite::CreateBuffer(builder_, 0, end_ + outside_.size(), tensor.data.size()));
      outside_ += tensor.data;
    } else {
      const std::vector<std::uint8_t> data(tensor.data.begin(), tensor.data.end());
      buffers_.push_back(tflite::CreateBufferDirect(builder_, &data));
    }
    return static_cast<std::uint32_t>(buffers_.size() - 1);
  }

  Offset<tflite::Operator> write(const TfliteOperator& op) {
    const std::uint32_t code = op.code_index.value_or(write_code(op));
    const auto [type, options] = write_options(op.options.value_or(op.type), op);
    const std::vector<std::uint8_t> custom(op.custom_options.begin(), op.custom_options.end());
    return tflite::CreateOperatorDirect(builder_, code, &op.inputs, &op.outputs, type, options,
                                        custom.empty() ? nullptr : &custom);
  }

  std::uint32_t write_code(const TfliteOperator& op) {
    const BuiltinOperator builtin = builtin_named(op.type);
    constexpr int largest_old = 127;
    const int number = static_cast<int>(builtin);
    const auto [old_number, new_number] = op.codes.value_or(std::pair{std::min(number, largest_old), number});
    codes_.push_back(
        tflite::CreateOperatorCodeDirect(builder_, static_cast<std::int8_t>(old_number),
                                         builtin == BuiltinOperator::CUSTOM ? name_of(op.type) : nullptr, 1,
                                         static_cast<BuiltinOperator>(new_number)));
    return static_cast<std::uint32_t>(codes_.size() - 1);
  }

  std::pair<BuiltinOptions, Offset<void>> write_options(const std::string& type, const TfliteOperator& op) {
    const auto body = [&](std::size_t i) { return op.bodies.at(i); };
    if (type == "IF")
      return {BuiltinOptions::IfOptions, tflite::CreateIfOptions(builder_, body(0), body(1)).Union()};
    if (type == "WHILE")
      return {BuiltinOptions::WhileOptions, tflite::CreateWhileOptions(builder_, body(0), body(1)).Union()};
    if (type == "CALL_ONCE")
      return {BuiltinOptions::CallOnceOptions, tflite::CreateCallOnceOptions(builder_, body(0)).Union()};
    if (type == "VAR_HANDLE" && !op.shared_name.empty())
      return {BuiltinOptions::VarHandleOptions,
              tflite::CreateVarHandleOptionsDirect(builder_, nullptr, op.shared_name.c_str()).Union()};
    const bool is_custom = builtin_named(type) == BuiltinOperator::CUSTOM;
    if (is_custom || op.numbers.empty()) return {BuiltinOptions::NONE, 0};
    const BuiltinOptions options = options_of(type);
    const flatbuffers::TypeTable& all = *tflite::BuiltinOptionsTypeTable();
    const flatbuffers::TypeCode code = all.type_codes[static_cast<std::size_t>(options)];
    return {options, write_numbers(*all.type_refs[code.sequence_ref](), op.numbers)};
  }

  /// A table with these numbers as its fields, or as the elements of its first field, a vector.
  Offset<void> write_numbers(const flatbuffers::TypeTable& table, const std::vector<std::int32_t>& numbers) {
    if (table.type_codes[0].is_repeating != 0) {
      const auto vector = builder_.CreateVector(numbers);
      const auto start = builder_.StartTable();
      builder_.AddOffset(flatbuffers::FieldIndexToOffset(0), vector);
      return builder_.EndTable(start);
    }
    const auto start = builder_.StartTable();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto field = flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(i));
      switch (table.type_codes[i].base_type) {
        case flatbuffers::ET_BOOL:
        case flatbuffers::ET_CHAR:
          builder_.AddElement(field, static_cast<std::int8_t>(numbers[i]));
          break;
        case flatbuffers::ET_FLOAT:
          builder_.AddElement(field, static_cast<float>(numbers[i]));
          break;
        default:
          builder_.AddElement(field, numbers[i]);
      }
    }
    return builder_.EndTable(start);
  }

  static BuiltinOptions options_of(const std::string& type) {
    using enum BuiltinOptions;
    static const std::map<std::string, BuiltinOptions> options{
        {"ARG_MAX", ArgMaxOptions},
        {"AVERAGE_POOL_2D", Pool2DOptions},
        {"BATCH_MATMUL", BatchMatMulOptions},
        {"CONCATENATION", ConcatenationOptions},
        {"CONV_2D", Conv2DOptions},
        {"CONV_3D", Conv3DOptions},
        {"CONV_3D_TRANSPOSE", Conv3DOptions},
        {"DEPTHWISE_CONV_2D", DepthwiseConv2DOptions},
        {"DEPTH_TO_SPACE", DepthToSpaceOptions},
        {"FULLY_CONNECTED", FullyConnectedOptions},
        {"GATHER", GatherOptions},
        {"GELU", GeluOptions},
        {"L2_POOL_2D", Pool2DOptions},
        {"LOCAL_RESPONSE_NORMALIZATION", LocalResponseNormalizationOptions},
        {"LSTM", LSTMOptions},
        {"MAX_POOL_2D", Pool2DOptions},
        {"MEAN", ReducerOptions},
        {"ONE_HOT", OneHotOptions},
        {"PACK", PackOptions},
        {"REDUCE_MAX", ReducerOptions},
        {"REDUCE_MIN", ReducerOptions},
        {"REDUCE_PROD", ReducerOptions},
        {"RESHAPE", ReshapeOptions},
        {"SOFTMAX", SoftmaxOptions},
        {"SPACE_TO_DEPTH", SpaceToDepthOptions},
        {"SQUEEZE", SqueezeOptions},
        {"STRIDED_SLICE", StridedSliceOptions},
        {"SUM", ReducerOptions},
        {"SVDF", SVDFOptions},
        {"TRANSPOSE_CONV", TransposeConvOptions},
        {"UNIDIRECTIONAL_SEQUENCE_LSTM", UnidirectionalSequenceLSTMOptions},
        {"UNPACK", UnpackOptions},
    };
    const auto known = options.find(type);
    if (known == options.end()) throw std::invalid_argument("no options are known for " + type);
    return known->second;
  }

  static const char* name_of(const std::string& name) { return name.empty() ? nullptr : name.c_str(); }

  std::size_t end_;
  FlatBufferBuilder builder_{};
  std::vector<Offset<tflite::OperatorCode>> codes_{};
  std::vector<Offset<tflite::Buffer>> buffers_{};
  std::string outside_{};
};

}  // namespace

std::string tflite_model(const TfliteSpec& spec) {
  constexpr std::size_t some_size = 1000;  // not 0, which would be left out
  const Writer first(spec, some_size);
  return first.has_outside() ? Writer(spec, first.flatbuffer_size()).bytes() : first.bytes();
}

}  // namespace stowage::testing
