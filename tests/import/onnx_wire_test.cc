// The reader of the ONNX file format: what it makes of each kind of field, in all encodings that the format
// allows, and that bytes which are no model end in an Error with the byte and the field. The oracle is the
// library of Protocol Buffers, which writes the files.

#include "import/onnx_wire.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "long_tests.h"
#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/import.h"

namespace stowage {
namespace {

namespace wire = import::wire;
using testing::attribute;
using testing::expect_message;
using testing::node;
using testing::onnx_graph;
using testing::onnx_model;
using testing::OnnxParts;
using testing::tensor_value;
using testing::vector_of;

/// A field of length-delimited bytes, by hand.
std::string field(int number, const std::string& bytes) {
  EXPECT_LT(bytes.size(), 128U);
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

std::string varint_field(int number, char value) { return {static_cast<char>(number << 3), value}; }

std::string error_of(const std::string& bytes) {
  try {
    (void)wire::parse_model(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// A model with something of each kind.
onnx::ModelProto rich_model() {
  OnnxParts inner{.nodes = {node("Neg", {"x"}, {"z"})}, .outputs = {testing::untyped_value("z")}};
  OnnxParts parts{.nodes = {node("Mystery", {"x", "", "w"}, {"y"},
                                 {attribute("i", std::int64_t{-7}), attribute("f", 2.5F),
                                  attribute("s", std::string("text")),
                                  attribute("ints", std::vector<std::int64_t>{1, -1, INT64_MAX}),
                                  attribute("t", vector_of("", {3, -4})), attribute("g", onnx_graph(inner))},
                                 "custom")},
                  .inputs = {tensor_value("x", {"N", 3, "?"})},
                  .outputs = {tensor_value("y", {2})},
                  .initializers = {vector_of("w", {5, -6, 7})},
                  .name = "rich"};
  onnx::ModelProto model = onnx_model(parts);
  onnx::AttributeProto& floats = *model.mutable_graph()->mutable_node(0)->add_attribute();
  floats.set_name("floats");
  floats.set_type(onnx::AttributeProto::FLOATS);
  for (const float it : {0.5F, -1.5F}) floats.add_floats(it);
  onnx::AttributeProto& strings = *model.mutable_graph()->mutable_node(0)->add_attribute();
  strings.set_name("strings");
  for (const char* const it : {"a", "", "c"}) strings.add_strings(it);
  return model;
}

TEST(OnnxWire, ReadsWhatTheLibraryWrites) {
  const std::string bytes = rich_model().SerializeAsString();
  const wire::ModelProto model = wire::parse_model(bytes);
  EXPECT_EQ(model.ir_version, 8);
  ASSERT_EQ(model.opset_import.size(), 1U);
  EXPECT_EQ(model.opset_import[0].version, testing::newest_known_set);
  ASSERT_TRUE(model.graph);
  EXPECT_EQ(model.graph->name, "rich");
  const wire::TypeProto& type = *model.graph->input.at(0).type;
  EXPECT_EQ(type.elem_type, 1);
  ASSERT_EQ(type.shape->size(), 3U);
  EXPECT_EQ((*type.shape)[0].name, "N");
  EXPECT_EQ((*type.shape)[1].size, 3);
  EXPECT_FALSE((*type.shape)[2].size);
  const wire::NodeProto& it = model.graph->node.at(0);
  EXPECT_EQ(it.op_type, "Mystery");
  EXPECT_EQ(it.domain, "custom");
  EXPECT_EQ(it.input, (std::vector<std::string_view>{"x", "", "w"}));
  ASSERT_EQ(it.attribute.size(), 8U);
  EXPECT_EQ(*it.attribute[0].get<std::int64_t>(), -7);
  EXPECT_EQ(*it.attribute[1].get<float>(), 2.5F);
  EXPECT_EQ(*it.attribute[2].get<std::string_view>(), "text");
  EXPECT_EQ(*it.attribute[3].get<Shape>(), (Shape{1, -1, INT64_MAX}));
  const wire::TensorProto& tensor = **it.attribute[4].get<wire::AttributeProto::Tensor>();
  EXPECT_EQ(wire::integers_of(tensor.int64_data), (std::vector<std::int64_t>{3, -4}));
  EXPECT_EQ((*it.attribute[5].get<wire::AttributeProto::Graph>())->node.at(0).op_type, "Neg");
  EXPECT_EQ(*it.attribute[6].get<std::vector<float>>(), (std::vector<float>{0.5F, -1.5F}));
  EXPECT_EQ(*it.attribute[7].get<std::vector<std::string_view>>(),
            (std::vector<std::string_view>{"a", "", "c"}));
  EXPECT_EQ(it.attribute[0].get<float>(), nullptr);
  const wire::TensorProto& weights = model.graph->initializer.at(0);
  EXPECT_EQ(weights.dims, Shape{3});
  EXPECT_EQ(wire::integers_of(weights.int64_data), (std::vector<std::int64_t>{5, -6, 7}));
}

TEST(OnnxWire, LeavesDataWhereItIs) {
  const std::string bytes = onnx_model({.initializers = {testing::zeros("w", {40})}}).SerializeAsString();
  const wire::ModelProto model = wire::parse_model(bytes);
  const std::string_view data = *model.graph->initializer.at(0).raw_data;
  EXPECT_EQ(data.size(), 160U);
  EXPECT_GE(data.data(), bytes.data());
  EXPECT_LE(data.data() + data.size(), bytes.data() + bytes.size());
}

/// Numbers may be packed, alone, or both.
TEST(OnnxWire, ReadsNumbersInAllEncodings) {
  const std::string packed = field(1, std::string{2, 3}) + field(7, {4, 5});
  const std::string alone = varint_field(1, 2) + varint_field(1, 3) + varint_field(7, 4) + varint_field(7, 5);
  const std::string mixed = varint_field(1, 2) + field(1, {3}) + field(7, {4}) + varint_field(7, 5);
  for (const std::string& bytes : {packed, alone, mixed}) {
    const wire::TensorProto tensor = wire::parse_tensor(bytes);
    EXPECT_EQ(tensor.dims, (Shape{2, 3}));
    EXPECT_EQ(wire::integers_of(tensor.int64_data), (std::vector<std::int64_t>{4, 5}));
  }
  const std::string two("\0\0\0\x40", 4);
  const std::string three("\0\0\x40\x40", 4);
  const std::string alone_key{static_cast<char>(4 << 3 | 5)};
  for (const std::string& bytes : {field(4, two + three), alone_key + two + alone_key + three,
                                   field(4, two) + alone_key + three, field(4, two) + field(4, three)}) {
    EXPECT_EQ(wire::fixed_numbers<float>(wire::parse_tensor(bytes).float_data),
              (std::vector<float>{2.0F, 3.0F}));
  }
}

TEST(OnnxWire, SkipsWhatItDoesNotKnow) {
  const std::string known = onnx_model({.name = "known"}).SerializeAsString();
  for (const std::string& unknown :
       {field(15, "bytes"), varint_field(15, 1), std::string{15 << 3 | 5, 1, 2, 3, 4},
        std::string{15 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8}}) {
    EXPECT_EQ(wire::parse_model(unknown + known).graph->name, "known");
    EXPECT_EQ(wire::parse_model(known + unknown).graph->name, "known");
  }
}

/// Attributes that say their type and have no value: other writers leave out zeros.
TEST(OnnxWire, TakesAMissingValueForZero) {
  const auto read = [](char type) {
    const std::string bytes = field(7, field(1, field(5, std::string("\xA0\x01", 2) + type)));
    return wire::parse_model(bytes).graph->node.at(0).attribute.at(0);
  };
  EXPECT_EQ(*read(1).get<float>(), 0.0F);
  EXPECT_EQ(*read(2).get<std::int64_t>(), 0);
  EXPECT_EQ(*read(3).get<std::string_view>(), "");
  EXPECT_TRUE(read(7).get<Shape>()->empty());
}

TEST(OnnxWire, SaysWhereBytesAreNoModel) {
  expect_message(error_of(field(7, field(2, "name")).substr(0, 4)),
                 {"not an ONNX model", "ModelProto", "byte 0", "field 7", "6 bytes", "at most 2"});
  expect_message(error_of(varint_field(7, 1)),
                 {"ModelProto.graph", "byte 0", "a varint", "bytes with a length"});
  expect_message(error_of(field(1, "x")), {"ModelProto.ir_version", "bytes with a length", "a varint"});
  expect_message(error_of(varint_field(1, 4) + field(7, varint_field(2, 1))), {"GraphProto.name", "byte 4"});
  expect_message(error_of(std::string(1, '\x80')), {"byte 0", "varint that does not end"});
  expect_message(error_of(std::string(20, '\x80')), {"byte 0", "varint that does not end"});
  expect_message(error_of(std::string(1, '\x03')), {"field 0"});
  expect_message(error_of("\x0B"), {"field 1", "wire type 3"});
  expect_message(error_of(field(7, field(5, field(1, "\x80")))), {"TensorProto.dims", "byte 4", "varint"});
  expect_message(error_of(field(7, field(5, field(4, "abc")))), {"TensorProto.float_data", "3 bytes", "4"});
  const std::string huge{7 << 3 | 2, '\xFF', '\xFF', '\xFF', '\xFF', '\xFF', '\xFF', '\xFF', '\xFF', '\x7F'};
  expect_message(error_of(huge), {"field 7", "9223372036854775807 bytes", "at most 0"});
}

TEST(OnnxWire, RefusesMessagesThatNestTooDeep) {
  onnx::TypeProto type;
  onnx::TypeProto* inner = &type;
  for (int i = 0; i < 200; ++i) inner = inner->mutable_sequence_type()->mutable_elem_type();
  onnx::ModelProto model = onnx_model({.inputs = {testing::untyped_value("x")}});
  *model.mutable_graph()->mutable_input(0)->mutable_type() = type;
  expect_message(error_of(model.SerializeAsString()), {"TypeProto", "more than 100 messages deep"});
}

/// A model or an Error, never anything else.
TEST(OnnxWire, SurvivesMutations) {
  const std::vector<std::string> seeds{
      rich_model().SerializeAsString(), onnx_model(testing::counting_loop()).SerializeAsString(),
      testing::with_functions(onnx_model({.nodes = {testing::call("F", {"x"}, {"y"})},
                                          .inputs = {tensor_value("x", {2, 3})},
                                          .outputs = {testing::untyped_value("y")}}),
                              {testing::function("F", {"a"}, {"b"}, {node("Softmax", {"a"}, {"b"})})})
          .SerializeAsString()};
  std::mt19937_64 random(1);
  const int rounds = testing::is_in_a_hurry() ? 5'000 : 100'000;
  int models = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = seeds[random() % seeds.size()];
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
          break;
        case 2:
          bytes.insert(at, 1, static_cast<char>(random()));
          break;
        default:
          bytes.erase(at, 1);
          break;
      }
    }
    try {
      (void)parse_input(bytes, "x.onnx");
      ++models;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(models, rounds / 100);
}

}  // namespace
}  // namespace stowage
