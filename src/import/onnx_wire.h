#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "operators/known.h"
#include "stowage/graph.h"

/// The messages of an ONNX file as plain structs, as far as planning and running need them. Text and data are
/// views into the file, which must outlive them. Names are those of the format.
namespace stowage::import::wire {

/// A repeated field of numbers, still encoded: one run for each part of the file that has some of them.
struct Numbers {
  std::vector<std::string_view> runs{};

  [[nodiscard]] bool empty() const { return runs.empty(); }
};

/// The numbers of a field whose elements have a fixed width: that of `Stored`.
template <typename Stored>
[[nodiscard]] std::vector<Stored> fixed_numbers(const Numbers& numbers) {
  std::vector<Stored> result;
  for (const std::string_view run : numbers.runs) {
    const std::size_t count = run.size() / sizeof(Stored);
    if (count == 0) continue;
    result.resize(result.size() + count);
    std::memcpy(result.data() + result.size() - count, run.data(), count * sizeof(Stored));
  }
  return result;
}

/// The numbers of a field of integers. Unsigned 64-bit numbers keep their bits.
[[nodiscard]] std::vector<std::int64_t> integers_of(const Numbers& numbers);

struct StringStringEntryProto {
  std::string_view key{};
  std::string_view value{};
};

struct TensorProto {
  std::string_view name{};
  int data_type = 0;
  bool is_external = false;
  Shape dims{};
  std::optional<std::string_view> raw_data{};
  Numbers float_data{};
  Numbers double_data{};
  Numbers int32_data{};
  Numbers int64_data{};
  Numbers uint64_data{};
  std::vector<StringStringEntryProto> external_data{};
};

struct SparseTensorProto {
  TensorProto values{};
  TensorProto indices{};
  Shape dims{};
};

/// TensorShapeProto.Dimension: a size, a name, or neither.
struct Dimension {
  std::optional<std::int64_t> size{};
  std::string_view name{};
};

struct TypeProto {
  using Kind = operators::Type::Kind;

  Kind kind = Kind::none;
  int elem_type = 0;
  std::optional<std::vector<Dimension>> shape{};
  std::shared_ptr<const TypeProto> element{};  ///< Of a sequence, map or optional.
};

struct ValueInfoProto {
  std::string_view name{};
  std::optional<TypeProto> type{};
};

struct GraphProto;

/// An attribute has one value. Graphs and tensors are shared by the calls of a function.
struct AttributeProto {
  using Graph = std::shared_ptr<const GraphProto>;
  using Tensor = std::shared_ptr<const TensorProto>;
  using SparseTensor = std::shared_ptr<const SparseTensorProto>;
  using Type = std::shared_ptr<const TypeProto>;
  using Value = std::variant<std::monostate, std::int64_t, float, std::string_view, Shape, std::vector<float>,
                             std::vector<std::string_view>, Tensor, std::vector<Tensor>, Graph,
                             std::vector<Graph>, SparseTensor, Type>;

  std::string_view name{};
  std::string_view ref_attr_name{};  ///< Takes the value of this attribute of the function's call.
  Value value{};
  std::string_view bytes{};  ///< The whole message.

  /// The value if it is of this type; otherwise null.
  template <typename T>
  [[nodiscard]] const T* get() const {
    return std::get_if<T>(&value);
  }
};

struct NodeProto {
  std::string_view name{};
  std::string_view op_type{};
  std::string_view domain{};
  std::string_view overload{};
  std::vector<std::string_view> input{};
  std::vector<std::string_view> output{};
  std::vector<AttributeProto> attribute{};
};

/// The value of a node's attribute, if it has one of this type; otherwise null.
template <typename T>
[[nodiscard]] const T* attribute_of(const NodeProto& node, std::string_view name) {
  for (const AttributeProto& attribute : node.attribute)
    if (attribute.name == name) return attribute.get<T>();
  return nullptr;
}

struct GraphProto {
  std::string_view name{};
  std::vector<NodeProto> node{};
  std::vector<TensorProto> initializer{};
  std::vector<SparseTensorProto> sparse_initializer{};
  std::vector<ValueInfoProto> input{};
  std::vector<ValueInfoProto> output{};
  std::vector<ValueInfoProto> value_info{};
};

struct OperatorSetIdProto {
  std::string_view domain{};
  std::int64_t version = 0;
};

struct FunctionProto {
  std::string_view name{};
  std::string_view domain{};
  std::string_view overload{};
  std::vector<std::string_view> input{};
  std::vector<std::string_view> output{};
  std::vector<AttributeProto> attribute_proto{};  ///< Attributes with defaults.
  std::vector<NodeProto> node{};
};

struct ModelProto {
  std::int64_t ir_version = 0;
  std::vector<OperatorSetIdProto> opset_import{};
  std::optional<GraphProto> graph{};
  std::vector<FunctionProto> functions{};
  std::deque<std::string> made_names{};  ///< Of values that are not in the file, but in calls of functions.
};

/// Throws Error for bytes that are not such a message, with the byte and the field.
[[nodiscard]] ModelProto parse_model(std::string_view file);
[[nodiscard]] TensorProto parse_tensor(std::string_view file);

}  // namespace stowage::import::wire
