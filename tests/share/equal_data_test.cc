// Which weights and instructions of several models are the same bytes.

#include "share/equal_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "onnx_models.h"
#include "stowage/error.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using share::ConstantRef;
using share::equal_data;
using share::saving_of;

using Classes = std::vector<std::vector<ConstantRef>>;

struct Constant {
  std::string data{};
  TensorKind kind = TensorKind::weight;
};

/// A model that has just these constants.
Input model_of(const std::vector<Constant>& constants) {
  Input input;
  Graph graph;
  for (const Constant& constant : constants) {
    const auto* const data = reinterpret_cast<const std::byte*>(constant.data.data());
    input.constants.set(graph.tensors.size(), std::vector<std::byte>(data, data + constant.data.size()));
    graph.tensors.push_back({.name = std::to_string(graph.tensors.size()),
                             .kind = constant.kind,
                             .bytes = static_cast<Bytes>(constant.data.size())});
  }
  graph.subgraphs.resize(1);
  input.content = std::move(graph);
  return input;
}

/// Three layers and a command stream.
std::vector<Constant> layers() {
  return {{"weights of a layer"},
          {"another layer"},
          {std::string(1000, 'z')},
          {"command stream", TensorKind::instruction}};
}

bool is_equal(const Saving& a, const Saving& b) { return a.separate == b.separate && a.shared == b.shared; }

/// Every constant is in one class, classes and members are in order, and members are equal: the slow way.
void expect_right(const Classes& classes, const std::vector<Input>& inputs) {
  const auto key = [&](const ConstantRef& ref) {
    const Tensor& tensor = std::get<Graph>(inputs[ref.model].content).tensors[ref.tensor];
    const auto data = inputs[ref.model].constants.of(ref.tensor);
    return std::pair(tensor.kind, std::vector<std::byte>(data.begin(), data.end()));
  };
  std::map<std::pair<TensorKind, std::vector<std::byte>>, std::vector<ConstantRef>> expected;
  std::size_t unknown = 0;
  for (std::size_t m = 0; m < inputs.size(); ++m) {
    const auto& tensors = std::get<Graph>(inputs[m].content).tensors;
    for (TensorId t = 0; t < tensors.size(); ++t) {
      if (tensors[t].kind != TensorKind::weight && tensors[t].kind != TensorKind::instruction) continue;
      if (tensors[t].bytes == 0) continue;
      if (inputs[m].constants.of(t).empty()) {
        ++unknown;
      } else {
        expected[key({m, t})].push_back({m, t});
      }
    }
  }
  EXPECT_EQ(classes.size(), expected.size() + unknown);
  std::vector<std::pair<std::size_t, TensorId>> firsts;
  for (const auto& members : classes) {
    ASSERT_FALSE(members.empty());
    firsts.emplace_back(members.front().model, members.front().tensor);
    if (inputs[members.front().model].constants.of(members.front().tensor).empty()) {
      EXPECT_EQ(members.size(), 1U);
    } else {
      EXPECT_EQ(members, expected[key(members.front())]);
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(firsts));
}

TEST(EqualData, OfTheSameModelTwiceIsAllShared) {
  const std::vector<Input> inputs{model_of(layers()), model_of(layers())};
  const Classes classes = equal_data(inputs);
  EXPECT_EQ(classes, (Classes{{{0, 0}, {1, 0}}, {{0, 1}, {1, 1}}, {{0, 2}, {1, 2}}, {{0, 3}, {1, 3}}}));
  EXPECT_TRUE(is_equal(saving_of(classes, inputs, TensorKind::weight), {2062, 1031}));
  EXPECT_TRUE(is_equal(saving_of(classes, inputs, TensorKind::instruction), {28, 14}));
}

TEST(EqualData, IsFoundWithinAModelToo) {
  const std::vector<Input> inputs{model_of({{"abc"}, {"xyz"}, {"abc"}, {""}})};
  EXPECT_EQ(equal_data(inputs), (Classes{{{0, 0}, {0, 2}}, {{0, 1}}}));
}

TEST(EqualData, CannotBeWhatADifferentHashWouldMerge) {
  std::vector<Constant> changed = layers();
  changed[1].data.back() = 'R';
  changed[2].data.front() = 'y';
  const std::vector<Input> inputs{model_of(layers()), model_of(changed), model_of(layers())};
  const share::DataHash always_zero = [](std::span<const std::byte>) { return std::uint64_t{0}; };
  EXPECT_EQ(equal_data(inputs, always_zero), equal_data(inputs));
  expect_right(equal_data(inputs, always_zero), inputs);
}

TEST(EqualData, OfOneChangedByteIsOneLayerLess) {
  for (std::size_t layer = 0; layer < 3; ++layer) {
    std::vector<Constant> changed = layers();
    for (const std::size_t byte :
         {std::size_t{0}, changed[layer].data.size() / 2, changed[layer].data.size() - 1}) {
      changed = layers();
      changed[layer].data[byte] ^= 1;
      const std::vector<Input> inputs{model_of(layers()), model_of(changed)};
      const Classes classes = equal_data(inputs);
      expect_right(classes, inputs);
      EXPECT_EQ(saving_of(classes, inputs, TensorKind::weight).shared,
                1031 + static_cast<Bytes>(changed[layer].data.size()));
      EXPECT_EQ(saving_of(classes, inputs, TensorKind::instruction).shared, 14);
    }
  }
}

TEST(EqualData, IsOfOneKindAndKnown) {
  std::vector<Input> inputs{model_of({{"abc"}, {"abc", TensorKind::instruction}, {"abc", TensorKind::state}}),
                            model_of({{"abc"}, {"abc", TensorKind::instruction}, {"ab"}})};
  EXPECT_EQ(equal_data(inputs), (Classes{{{0, 0}, {1, 0}}, {{0, 1}, {1, 1}}, {{1, 2}}}));
  inputs[1].constants = {};
  EXPECT_EQ(equal_data(inputs), (Classes{{{0, 0}}, {{0, 1}}, {{1, 0}}, {{1, 1}}, {{1, 2}}}));
  expect_right(equal_data(inputs), inputs);
}

TEST(EqualData, NeedsNetworks) {
  std::vector<Input> inputs{{.content = Problem{}}, model_of({{"abc"}})};
  EXPECT_EQ(equal_data(inputs), (Classes{{{1, 0}}}));
  EXPECT_EQ(equal_data({}), Classes{});
}

TEST(EqualData, OfASharedBackboneIsTheBackbone) {
  std::vector<Constant> backbone;
  for (std::size_t i = 0; i < 20; ++i) backbone.push_back({std::string(100 + i, static_cast<char>('a' + i))});
  std::vector<Constant> detector = backbone;
  std::vector<Constant> classifier = backbone;
  detector.insert(detector.begin(), {{"head of a detector"}, {"its bias"}});
  classifier.push_back({"head of a classifier"});
  const std::vector<Input> inputs{model_of(detector), model_of(classifier)};
  const Classes classes = equal_data(inputs);
  expect_right(classes, inputs);
  const Bytes common = 20 * 100 + 190;
  EXPECT_TRUE(is_equal(saving_of(classes, inputs, TensorKind::weight),
                       {2 * common + 18 + 8 + 20, common + 18 + 8 + 20}));
}

TEST(EqualData, TooLargeToCountIsRefused) {
  std::vector<Input> inputs(5, model_of({{"abc"}}));
  for (Input& input : inputs) {
    std::get<Graph>(input.content).tensors[0].bytes = largest_value;
    input.constants = {};
  }
  const Classes classes = equal_data(inputs);
  EXPECT_THROW((void)saving_of(classes, inputs, TensorKind::weight), Error);
}

TEST(EqualData, IsTheSameInEveryFormat) {
  const testing::TemporaryDirectory directory;
  const std::string bytes("\0\0\x80\x3f\0\0\0\x40", 8);  // 1 and 2
  directory.write("weights.bin", "pad." + bytes);
  onnx::TensorProto outside = testing::external("v", {2}, "8");
  auto& entry = *outside.add_external_data();
  entry.set_key("offset");
  entry.set_value("4");
  directory.write("m.onnx", testing::onnx_model({.nodes = {testing::node("Add", {"x", "w"}, {"h"}),
                                                           testing::node("Add", {"h", "v"}, {"y"})},
                                                 .inputs = {testing::tensor_value("x", {2})},
                                                 .outputs = {testing::tensor_value("y", {2})},
                                                 .initializers = {testing::reals("w", {1, 2}), outside}})
                                .SerializeAsString());
  directory.write(
      "m.tflite",
      testing::tflite_model({.subgraphs = {{.tensors = {{.name = "x", .shape = {2}},
                                                        {.name = "w", .shape = {2}, .data = bytes},
                                                        {.name = "y", .shape = {2}}},
                                            .operators = {{.type = "ADD", .inputs = {0, 1}, .outputs = {2}}},
                                            .inputs = {0},
                                            .outputs = {2}}}}));
  directory.write("m.json", R"({"format":"stowage-graph","version":1,"tensors":[{"name":"x","bytes":8},
      {"name":"w","bytes":8,"kind":"weight","data":{"hex":"0000803f00000040"}},
      {"name":"v","bytes":8,"kind":"weight","data":{"file":"weights.bin","offset":4}},{"name":"y","bytes":8}],
      "subgraphs":[{"inputs":["x"],"outputs":["y"],"operators":[
          {"type":"Fma","inputs":["x","w","v"],"outputs":["y"]}]}]})");
  std::vector<Input> inputs;
  for (const char* const name : {"m.onnx", "m.tflite", "m.json"})
    inputs.push_back(read_input(directory / name, {.constants = true}));
  const Classes classes = equal_data(inputs);
  ASSERT_EQ(classes.size(), 1U);
  EXPECT_EQ(classes[0].size(), 5U);
  EXPECT_TRUE(is_equal(saving_of(classes, inputs, TensorKind::weight), {40, 8}));
}

onnx::AttributeProto filled_with(float value) {
  return testing::attribute("value", testing::reals("", {value}));
}

Input onnx_input(const testing::OnnxParts& parts) {
  return parse_input(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
}

/// Names of the weights that are equal, class by class; those that are alone are left out.
std::string equal_names(const std::vector<Input>& inputs, const Classes& classes) {
  std::string text;
  for (const auto& members : classes) {
    if (members.size() == 1) continue;
    for (const ConstantRef& ref : members)
      text += std::get<Graph>(inputs[ref.model].content).tensors[ref.tensor].name + " ";
    text += "| ";
  }
  return text;
}

TEST(EqualData, IsWhatOnnxSaysInAnyWay) {
  using testing::node;
  // Eight times 1.5, as a list, as a Constant, as one element again and again; of 2 in one more way.
  const std::vector<float> ones(8, 1.5F);
  const std::vector<Input> inputs{onnx_input(
      {.nodes = {node("Constant", {}, {"c"}, {testing::attribute("value", testing::reals("", ones))}),
                 node("ConstantOfShape", {"n"}, {"f"}, {filled_with(1.5F)}),
                 node("ConstantOfShape", {"n"}, {"g"}, {filled_with(1.5F)}),
                 node("ConstantOfShape", {"n"}, {"two"}, {filled_with(2.0F)}),
                 node("Identity", {"w"}, {"again"}),
                 node("Sum", {"x", "w", "c", "f", "g", "two", "again"}, {"y"})},
       .inputs = {testing::tensor_value("x", {8})},
       .outputs = {testing::tensor_value("y", {8})},
       .initializers = {testing::reals("w", ones), testing::vector_of("n", {8})}})};
  EXPECT_EQ(equal_names(inputs, equal_data(inputs)), "w c f g again | ");
}

/// y = x + t2(t1(w)), with Transposes of such permutations, and w between 1 and 12.
Input transposed_twice(const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& second,
                       const Shape& shape = {2, 3, 2}, float last = 12) {
  using testing::node;
  std::vector<float> values;
  for (float value = 1; value < 12; ++value) values.push_back(value);
  values.push_back(last);
  onnx::TensorProto w = testing::reals("w", values);
  w.clear_dims();
  for (const std::int64_t dimension : shape) w.add_dims(dimension);
  return onnx_input({.nodes = {node("Transpose", {"w"}, {"t1"}, {testing::attribute("perm", first)}),
                               node("Transpose", {"t1"}, {"t2"}, {testing::attribute("perm", second)}),
                               node("Add", {"x", "t2"}, {"y"})},
                     .inputs = {testing::tensor_value("x", {1})},
                     .outputs = {testing::value_of_any_shape("y")},
                     .initializers = {w}});
}

TEST(EqualData, OfFoldedOperatorsIsOfOneRecipe) {
  const auto names = [](const Input& a, const Input& b) {
    const std::vector<Input> inputs{a, b};
    return equal_names(inputs, equal_data(inputs));
  };
  const Input model = transposed_twice({1, 0, 2}, {2, 1, 0});
  EXPECT_EQ(names(model, transposed_twice({1, 0, 2}, {2, 1, 0})), "w w | t1 t1 | t2 t2 | ");
  EXPECT_EQ(names(model, transposed_twice({1, 0, 2}, {2, 0, 1})), "w w | t1 t1 | ");
  EXPECT_EQ(names(model, transposed_twice({0, 1, 2}, {2, 1, 0})), "w w | ");
  EXPECT_EQ(names(model, transposed_twice({1, 0, 2}, {2, 1, 0}, {3, 2, 2})), "w w | ");
  EXPECT_EQ(names(model, transposed_twice({1, 0, 2}, {2, 1, 0}, {2, 3, 2}, 13)), "");
}

TEST(EqualData, IsNotStoredThatOnlyFoldedOperatorsRead) {
  std::vector<Input> inputs(2, transposed_twice({1, 0, 2}, {2, 1, 0}));
  Classes classes = equal_data(inputs);
  share::leave_unread_out(classes, inputs);
  EXPECT_EQ(equal_names(inputs, classes), "t2 t2 | ");
  EXPECT_EQ(classes.size(), 1U);
  auto& main = std::get<Graph>(inputs[1].content).subgraphs[0];
  main.outputs.push_back(0);  // the caller reads w
  classes = equal_data(inputs);
  share::leave_unread_out(classes, inputs);
  EXPECT_EQ(classes, (Classes{{{1, 0}}, {{0, 3}, {1, 3}}})) << equal_names(inputs, classes);
}

TEST(EqualData, OfARealModelTwiceIsAllShared) {
  const std::filesystem::path models = std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite";
  if (!std::filesystem::exists(models / "person_detect.tflite")) GTEST_SKIP() << models << " is not there";
  const Input model = read_input(models / "person_detect.tflite", {.constants = true});
  const Input accelerated = read_input(models / "person_detect_vela.tflite", {.constants = true});
  const std::vector<Input> once{model};
  const std::vector<Input> inputs{model, read_input(models / "person_detect.tflite", {.constants = true}),
                                  accelerated, accelerated};
  const Classes classes = equal_data(inputs);
  expect_right(classes, inputs);
  const Saving weights = saving_of(classes, inputs, TensorKind::weight);
  const Saving one = saving_of(equal_data(once), once, TensorKind::weight);
  EXPECT_GT(one.shared, 200'000);
  EXPECT_EQ(weights.separate, 2 * one.separate + 2 * 260480);
  EXPECT_EQ(weights.shared, one.shared + 260480);
  EXPECT_TRUE(is_equal(saving_of(classes, inputs, TensorKind::instruction), {2 * 8168, 8168}));
}

}  // namespace
}  // namespace stowage
