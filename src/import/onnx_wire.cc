// One pass over the file. A message is a row of fields, each a key (number and wire type) and a value;
// a field of length-delimited bytes may be another message. A cursor reads one field at a time and checks
// that it ends within its message; what the reader of a message does not ask for is skipped. Numbers of data
// fields stay encoded until someone wants them, but their encoding is checked here.
//
// Limits: messages nest at most `deepest` levels and there are at most `most_messages` (onnx_cursor.cc), so that a small file
// cannot use up stack or memory. Lengths are of 64 bits: files may be of any size.
//
// Cost: linear in the bytes that are not weights. Source: the encoding of Protocol Buffers and ONNX's
// onnx.proto; varints are decoded by protozero.

#include "import/onnx_wire.h"

#include <protozero/varint.hpp>

#include "import/onnx_cursor.h"

namespace stowage::import::wire {
namespace {

/// The message in the cursor's field. Each message type has a `read` below.
template <typename Message>
Message message_in(const Cursor& cursor, std::string_view name, std::string_view type);

StringStringEntryProto read(Cursor& cursor, const StringStringEntryProto*) {
  StringStringEntryProto entry;
  while (cursor.next()) {
    if (cursor.field() == 1) entry.key = cursor.text("key");
    if (cursor.field() == 2) entry.value = cursor.text("value");
  }
  return entry;
}

TensorProto read(Cursor& cursor, const TensorProto*) {
  TensorProto tensor;
  while (cursor.next()) {
    switch (cursor.field()) {
      case 1:
        cursor.add_integers("dims", tensor.dims);
        break;
      case 2:
        tensor.data_type = cursor.small_integer("data_type");
        break;
      case 4:
        cursor.add_fixed("float_data", Coding::fixed32, tensor.float_data);
        break;
      case 5:
        cursor.add_integers("int32_data", tensor.int32_data);
        break;
      case 7:
        cursor.add_integers("int64_data", tensor.int64_data);
        break;
      case 8:
        tensor.name = cursor.text("name");
        break;
      case 9:
        tensor.raw_data = cursor.text("raw_data");
        break;
      case 10:
        cursor.add_fixed("double_data", Coding::fixed64, tensor.double_data);
        break;
      case 11:
        cursor.add_integers("uint64_data", tensor.uint64_data);
        break;
      case 13:
        tensor.external_data.push_back(
            message_in<StringStringEntryProto>(cursor, "external_data", "StringStringEntryProto"));
        break;
      case 14:
        tensor.is_external = cursor.integer("data_location") == 1;
        break;
      default:
        break;
    }
  }
  return tensor;
}

SparseTensorProto read(Cursor& cursor, const SparseTensorProto*) {
  SparseTensorProto tensor;
  while (cursor.next()) {
    if (cursor.field() == 1) tensor.values = message_in<TensorProto>(cursor, "values", "TensorProto");
    if (cursor.field() == 2) tensor.indices = message_in<TensorProto>(cursor, "indices", "TensorProto");
    if (cursor.field() == 3) cursor.add_integers("dims", tensor.dims);
  }
  return tensor;
}

/// Some exporters write `?` for each axis that has no name; these axes need not be equal.
Dimension read(Cursor& cursor, const Dimension*) {
  Dimension dimension;
  while (cursor.next()) {
    if (cursor.field() == 1) dimension = {.size = cursor.integer("dim_value"), .name = {}};
    if (cursor.field() == 2) dimension = {.size = {}, .name = cursor.text("dim_param")};
  }
  if (dimension.name == "?") dimension.name = {};
  return dimension;
}

using Dimensions = std::vector<Dimension>;

Dimensions read(Cursor& cursor, const Dimensions*) {
  Dimensions shape;
  while (cursor.next()) {
    if (cursor.field() == 1)
      shape.push_back(message_in<Dimension>(cursor, "dim", "TensorShapeProto.Dimension"));
  }
  return shape;
}

TypeProto read(Cursor& cursor, const TypeProto*) {
  using Kind = TypeProto::Kind;
  TypeProto type;
  while (cursor.next()) {
    const auto set = [&](Kind kind, std::string_view name) {
      if (kind == Kind::tensor || kind == Kind::sparse_tensor) {
        Cursor content(cursor.file(), cursor.text(name), "TypeProto.Tensor", cursor.depth() + 1);
        type = {};
        while (content.next()) {
          if (content.field() == 1) type.elem_type = content.small_integer("elem_type");
          if (content.field() == 2) type.shape = message_in<Dimensions>(content, "shape", "TensorShapeProto");
        }
      } else {
        // A sequence and an optional have their element's type in field 1, a map in field 2.
        Cursor content(cursor.file(), cursor.text(name), "TypeProto.Sequence", cursor.depth() + 1);
        type = {};
        while (content.next()) {
          if (content.field() == (kind == Kind::map ? 2U : 1U) && kind != Kind::opaque)
            type.element =
                std::make_shared<const TypeProto>(message_in<TypeProto>(content, "elem_type", "TypeProto"));
        }
      }
      type.kind = kind;
    };
    if (cursor.field() == 1) set(Kind::tensor, "tensor_type");
    if (cursor.field() == 4) set(Kind::sequence, "sequence_type");
    if (cursor.field() == 5) set(Kind::map, "map_type");
    if (cursor.field() == 7) set(Kind::opaque, "opaque_type");
    if (cursor.field() == 8) set(Kind::sparse_tensor, "sparse_tensor_type");
    if (cursor.field() == 9) set(Kind::optional, "optional_type");
  }
  return type;
}

ValueInfoProto read(Cursor& cursor, const ValueInfoProto*) {
  ValueInfoProto value;
  while (cursor.next()) {
    if (cursor.field() == 1) value.name = cursor.text("name");
    if (cursor.field() == 2) value.type = message_in<TypeProto>(cursor, "type", "TypeProto");
  }
  return value;
}

/// The list in an attribute, which has no other value before.
template <typename List>
List& list_in(AttributeProto& attribute) {
  if (!std::holds_alternative<List>(attribute.value)) attribute.value = List{};
  return *std::get_if<List>(&attribute.value);
}

/// A value that says its type and is not written is zero, or empty.
AttributeProto::Value value_of_type(std::int64_t type) {
  switch (type) {
    case 1:
      return 0.0F;
    case 2:
      return std::int64_t{0};
    case 3:
      return std::string_view();
    case 6:
      return std::vector<float>();
    case 7:
      return Shape();
    case 8:
      return std::vector<std::string_view>();
    default:
      return {};
  }
}

AttributeProto read(Cursor& cursor, const AttributeProto*) {
  AttributeProto attribute;
  std::int64_t type = 0;
  while (cursor.next()) {
    switch (cursor.field()) {
      case 1:
        attribute.name = cursor.text("name");
        break;
      case 2:
        attribute.value = cursor.real("f");
        break;
      case 3:
        attribute.value = cursor.integer("i");
        break;
      case 4:
        attribute.value = cursor.text("s");
        break;
      case 5:
        attribute.value =
            std::make_shared<const TensorProto>(message_in<TensorProto>(cursor, "t", "TensorProto"));
        break;
      case 6:
        attribute.value =
            std::make_shared<const GraphProto>(message_in<GraphProto>(cursor, "g", "GraphProto"));
        break;
      case 7: {
        Numbers numbers;
        cursor.add_fixed("floats", Coding::fixed32, numbers);
        auto& floats = list_in<std::vector<float>>(attribute);
        for (const float number : fixed_numbers<float>(numbers)) floats.push_back(number);
        break;
      }
      case 8:
        cursor.add_integers("ints", list_in<Shape>(attribute));
        break;
      case 9:
        list_in<std::vector<std::string_view>>(attribute).push_back(cursor.text("strings"));
        break;
      case 10:
        list_in<std::vector<AttributeProto::Tensor>>(attribute).push_back(
            std::make_shared<const TensorProto>(message_in<TensorProto>(cursor, "tensors", "TensorProto")));
        break;
      case 11:
        list_in<std::vector<AttributeProto::Graph>>(attribute).push_back(
            std::make_shared<const GraphProto>(message_in<GraphProto>(cursor, "graphs", "GraphProto")));
        break;
      case 14:
        attribute.value = std::make_shared<const TypeProto>(message_in<TypeProto>(cursor, "tp", "TypeProto"));
        break;
      case 20:
        type = cursor.integer("type");
        break;
      case 21:
        attribute.ref_attr_name = cursor.text("ref_attr_name");
        break;
      case 22:
        attribute.value = std::make_shared<const SparseTensorProto>(
            message_in<SparseTensorProto>(cursor, "sparse_tensor", "SparseTensorProto"));
        break;
      default:
        break;
    }
  }
  if (std::holds_alternative<std::monostate>(attribute.value)) attribute.value = value_of_type(type);
  return attribute;
}

NodeProto read(Cursor& cursor, const NodeProto*) {
  NodeProto node;
  while (cursor.next()) {
    switch (cursor.field()) {
      case 1:
        node.input.push_back(cursor.text("input"));
        break;
      case 2:
        node.output.push_back(cursor.text("output"));
        break;
      case 3:
        node.name = cursor.text("name");
        break;
      case 4:
        node.op_type = cursor.text("op_type");
        break;
      case 5:
        node.attribute.push_back(message_in<AttributeProto>(cursor, "attribute", "AttributeProto"));
        node.attribute.back().bytes = cursor.text("attribute");
        break;
      case 7:
        node.domain = cursor.text("domain");
        break;
      case 8:
        node.overload = cursor.text("overload");
        break;
      default:
        break;
    }
  }
  node.attribute.shrink_to_fit();  // there are many nodes
  return node;
}

GraphProto read(Cursor& cursor, const GraphProto*) {
  GraphProto graph;
  std::size_t nodes = 0;
  for (Cursor ahead = cursor; ahead.next();) nodes += ahead.field() == 1 ? 1U : 0U;
  graph.node.reserve(nodes);
  while (cursor.next()) {
    switch (cursor.field()) {
      case 1:
        graph.node.push_back(message_in<NodeProto>(cursor, "node", "NodeProto"));
        break;
      case 2:
        graph.name = cursor.text("name");
        break;
      case 5:
        graph.initializer.push_back(message_in<TensorProto>(cursor, "initializer", "TensorProto"));
        break;
      case 11:
        graph.input.push_back(message_in<ValueInfoProto>(cursor, "input", "ValueInfoProto"));
        break;
      case 12:
        graph.output.push_back(message_in<ValueInfoProto>(cursor, "output", "ValueInfoProto"));
        break;
      case 13:
        graph.value_info.push_back(message_in<ValueInfoProto>(cursor, "value_info", "ValueInfoProto"));
        break;
      case 15:
        graph.sparse_initializer.push_back(
            message_in<SparseTensorProto>(cursor, "sparse_initializer", "SparseTensorProto"));
        break;
      default:
        break;
    }
  }
  return graph;
}

OperatorSetIdProto read(Cursor& cursor, const OperatorSetIdProto*) {
  OperatorSetIdProto set;
  while (cursor.next()) {
    if (cursor.field() == 1) set.domain = cursor.text("domain");
    if (cursor.field() == 2) set.version = cursor.integer("version");
  }
  return set;
}

FunctionProto read(Cursor& cursor, const FunctionProto*) {
  FunctionProto function;
  while (cursor.next()) {
    const std::uint32_t field = cursor.field();
    if (field == 1) function.name = cursor.text("name");
    if (field == 4) function.input.push_back(cursor.text("input"));
    if (field == 5) function.output.push_back(cursor.text("output"));
    if (field == 7) function.node.push_back(message_in<NodeProto>(cursor, "node", "NodeProto"));
    if (field == 10) function.domain = cursor.text("domain");
    if (field == 11) {
      function.attribute_proto.push_back(
          message_in<AttributeProto>(cursor, "attribute_proto", "AttributeProto"));
      function.attribute_proto.back().bytes = cursor.text("attribute_proto");
    }
    if (field == 13) function.overload = cursor.text("overload");
  }
  return function;
}

ModelProto read(Cursor& cursor, const ModelProto*) {
  ModelProto model;
  while (cursor.next()) {
    switch (cursor.field()) {
      case 1:
        model.ir_version = cursor.integer("ir_version");
        break;
      case 7:
        model.graph = message_in<GraphProto>(cursor, "graph", "GraphProto");
        break;
      case 8:
        model.opset_import.push_back(
            message_in<OperatorSetIdProto>(cursor, "opset_import", "OperatorSetIdProto"));
        break;
      case 25:
        model.functions.push_back(message_in<FunctionProto>(cursor, "functions", "FunctionProto"));
        break;
      default:
        break;
    }
  }
  return model;
}

template <typename Message>
Message message_in(const Cursor& cursor, std::string_view name, std::string_view type) {
  Cursor inner(cursor.file(), cursor.text(name), type, cursor.depth() + 1);
  return read(inner, static_cast<const Message*>(nullptr));
}

}  // namespace

std::vector<std::int64_t> integers_of(const Numbers& numbers) {
  std::vector<std::int64_t> result;
  for (const std::string_view run : numbers.runs) {
    for (const char* at = run.data(); at != run.data() + run.size();)
      result.push_back(static_cast<std::int64_t>(protozero::decode_varint(&at, run.data() + run.size())));
  }
  return result;
}

ModelProto parse_model(std::string_view bytes) {
  File file{bytes};
  Cursor cursor(file, bytes, "ModelProto", 0);
  return read(cursor, static_cast<const ModelProto*>(nullptr));
}

TensorProto parse_tensor(std::string_view bytes) {
  File file{bytes};
  Cursor cursor(file, bytes, "TensorProto", 0);
  return read(cursor, static_cast<const TensorProto*>(nullptr));
}

}  // namespace stowage::import::wire
