// Where the bytes of weights and instructions are: in the model's file, in files beside it, in graph JSON.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::TemporaryDirectory;

const ImportOptions with_constants{.constants = true};

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TensorId id_of(const Input& input, const std::string& name) {
  const auto& tensors = std::get<Graph>(input.content).tensors;
  const auto it = std::ranges::find(tensors, name, &Tensor::name);
  EXPECT_NE(it, tensors.end()) << name;
  return static_cast<TensorId>(it - tensors.begin());
}

std::span<const std::byte> data_of(const Input& input, const std::string& name) {
  return input.constants.of(id_of(input, name));
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Whether bytes lie where the system has mapped that file.
bool is_mapped_from(std::span<const std::byte> bytes, const std::filesystem::path& file) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream range(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    range >> std::hex >> begin >> dash >> end;
    if (address >= begin && address + bytes.size() <= end)
      return line.ends_with(std::filesystem::canonical(file).string());
  }
  return false;
}

/// x + w + v, of which w and v are one buffer's data.
testing::TfliteSpec tflite_spec() {
  return {
      .subgraphs = {{.tensors = {{.name = "x", .shape = {1, 4}, .dtype = DType::int8},
                                 {.name = "w", .shape = {1, 4}, .dtype = DType::int8, .data = "abcd"},
                                 {.name = "v", .shape = {1, 4}, .dtype = DType::int8, .buffer = 1},
                                 {.name = "s", .shape = {1, 4}, .dtype = DType::int8, .is_variable = true},
                                 {.name = "h", .shape = {1, 4}, .dtype = DType::int8},
                                 {.name = "y", .shape = {1, 4}, .dtype = DType::int8}},
                     .operators = {{.type = "ADD", .inputs = {0, 1}, .outputs = {4}},
                                   {.type = "ADD", .inputs = {4, 2}, .outputs = {5}}},
                     .inputs = {0},
                     .outputs = {5}}}};
}

TEST(Constants, AreNotLookedForUnlessAsked) {
  const std::string bytes = testing::tflite_model(tflite_spec());
  const Input input = parse_input(bytes, "m.tflite");
  EXPECT_TRUE(data_of(input, "w").empty());
  const Input asked = parse_input(bytes, "m.tflite", with_constants);
  EXPECT_EQ(std::get<Graph>(input.content), std::get<Graph>(asked.content));
}

TEST(Constants, OfTfliteStayInTheFile) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", testing::tflite_model(tflite_spec()));
  const Input input = read_input(directory / "m.tflite", with_constants);
  const Network network = read_network(directory / "m.tflite");
  for (const Input* const it : {&input, &network.input}) {
    EXPECT_EQ(text(data_of(*it, "w")), "abcd");
    EXPECT_EQ(data_of(*it, "v").data(), data_of(*it, "w").data());
    EXPECT_TRUE(is_mapped_from(data_of(*it, "w"), directory / "m.tflite"));
    EXPECT_TRUE(data_of(*it, "x").empty());
  }
  EXPECT_TRUE(data_of(input, "s").empty()) << "the file does not say what it starts with";
  EXPECT_EQ(text(data_of(network.input, "s")), std::string(4, '\0'));
}

TEST(Constants, OutliveTheTextTheyAreReadFrom) {
  for (const std::size_t shift : {0U, 1U}) {
    std::string bytes = std::string(shift, ' ') + testing::tflite_model(tflite_spec());
    Input input = parse_input(std::string_view(bytes).substr(shift), "m.tflite", with_constants);
    const Network network = parse_network(std::string_view(bytes).substr(shift), "m.tflite");
    std::ranges::fill(bytes, '?');
    const Input copy = input;
    input = {};
    EXPECT_EQ(text(data_of(copy, "w")), "abcd");
    EXPECT_EQ(text(data_of(network.input, "w")), "abcd");
  }
}

TEST(Constants, OfAnotherSizeThanTheTensorAreRefused) {
  testing::TfliteSpec spec = tflite_spec();
  spec.subgraphs[0].tensors[1].data = "abc";
  const std::string bytes = testing::tflite_model(spec);
  EXPECT_NO_THROW((void)parse_input(bytes, "m.tflite"));
  EXPECT_EQ(error_of([&] { (void)parse_input(bytes, "m.tflite", with_constants); }),
            "m.tflite: tensor 'w': has 3 bytes of data, expected 4");
}

TEST(Constants, OfAcceleratorsHaveTheirCommandStreamAsInstructions) {
  const std::filesystem::path file =
      std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite/person_detect_vela.tflite";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const Input input = read_input(file, with_constants);
  const Graph& graph = std::get<Graph>(input.content);
  const TensorId stream = id_of(input, "_split_1_command_stream");
  EXPECT_EQ(graph.tensors[stream].kind, TensorKind::instruction);
  EXPECT_EQ(graph.tensors[stream].bytes, 8168);
  EXPECT_TRUE(text(input.constants.of(stream)).starts_with("COP1"));
  EXPECT_EQ(graph.tensors[id_of(input, "_split_1_flash")].kind, TensorKind::weight);
  EXPECT_EQ(data_of(input, "_split_1_flash").size(), 260480U);
  EXPECT_EQ(graph.tensors[id_of(input, "_split_1_scratch")].kind, TensorKind::scratch);
  const PlanResult result = make_plan(input, {});
  EXPECT_TRUE(result.faults.empty());
  EXPECT_TRUE(result.plan.tensors[stream].views.empty());
}

/// Bytes that are a float each: 1, 2, ...
std::string floats(std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i + 1);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return bytes;
}

onnx::TensorProto external_at(const std::string& name, const std::string& offset,
                              const std::string& location = "weights.bin") {
  onnx::TensorProto tensor = testing::external(name, {4}, "16");
  tensor.mutable_external_data(0)->set_value(location);
  auto& entry = *tensor.add_external_data();
  entry.set_key("offset");
  entry.set_value(offset);
  return tensor;
}

/// x + w + v.
std::string onnx_bytes(const onnx::TensorProto& w, const onnx::TensorProto& v) {
  return testing::onnx_model(
             {.nodes = {testing::node("Add", {"x", "w"}, {"h"}), testing::node("Add", {"h", "v"}, {"y"})},
              .inputs = {testing::tensor_value("x", {4})},
              .outputs = {testing::tensor_value("y", {4})},
              .initializers = {w, v}})
      .SerializeAsString();
}

onnx::TensorProto embedded(const std::string& name) { return testing::reals(name, {1, 2, 3, 4}); }

TEST(Constants, OfOnnxAreInTheFileOrBesideIt) {
  const TemporaryDirectory directory;
  directory.write("m.onnx", onnx_bytes(embedded("w"), external_at("v", "4")));
  directory.write("weights.bin", floats(8));
  const Input input = read_input(directory / "m.onnx", with_constants);
  const Network network = read_network(directory / "m.onnx");
  for (const Input* const it : {&input, &network.input}) {
    EXPECT_EQ(text(data_of(*it, "w")), floats(4));
    EXPECT_EQ(text(data_of(*it, "v")), floats(8).substr(4, 16));
    EXPECT_TRUE(is_mapped_from(data_of(*it, "v"), directory / "weights.bin"));
  }
  const Input parsed =
      parse_input(directory.read("m.onnx"), (directory / "other.onnx").string(), with_constants);
  EXPECT_EQ(text(data_of(parsed, "v")), floats(8).substr(4, 16));
}

/// A network of what folding makes of w = [1 2 3 4] and a shape; all of it is read.
onnx::ModelProto folding_model() {
  using testing::attribute;
  using testing::node;
  return testing::onnx_model(
      {.nodes = {node("Constant", {}, {"c"}, {attribute("value", testing::reals("", {5, 6, 7, 8}))}),
                 node("Constant", {}, {"i"}, {attribute("value_int", std::int64_t{7})}),
                 node("ConstantOfShape", {"n"}, {"f"}, {attribute("value", testing::reals("", {2}))}),
                 node("ConstantOfShape", {"n"}, {"z"}), node("Identity", {"w"}, {"same"}),
                 node("Reshape", {"w", "two"}, {"m"}), node("Transpose", {"m"}, {"t"}),
                 node("Shape", {"x"}, {"s"}), node("Size", {"x"}, {"e"}),
                 node("Sum", {"x", "w", "c", "f", "z", "same"}, {"y"}), node("MatMul", {"a", "t"}, {"b"}),
                 node("Reshape", {"b", "s"}, {"u"}), node("Expand", {"u", "i"}, {"v"})},
       .inputs = {testing::tensor_value("x", {4}), testing::tensor_value("a", {2, 2})},
       .outputs = {testing::tensor_value("y", {4}), testing::value_of_any_shape("u"),
                   testing::value_of_any_shape("e", onnx::TensorProto::INT64)},
       .initializers = {embedded("w"), testing::vector_of("n", {4}), testing::vector_of("two", {2, 2})}});
}

TEST(Constants, ThatOnnxComputesAreKnownByWhatMakesThem) {
  onnx::ModelProto model = folding_model();
  model.mutable_graph()->mutable_node()->RemoveLast();  // Expand to 7 is for the scalar's value alone
  const std::string bytes = model.SerializeAsString();
  const Input input = parse_input(bytes, "m.onnx", with_constants);
  const Network network = parse_network(bytes, "m.onnx");
  for (const Input* const it : {&input, &network.input}) {
    const std::string fives = text(data_of(*it, "c"));
    ASSERT_EQ(fives.size(), 16U);
    EXPECT_EQ(fives.substr(0, 4), floats(5).substr(16));
    EXPECT_EQ(text(data_of(*it, "i")), std::string("\7\0\0\0\0\0\0\0", 8));
    EXPECT_EQ(text(data_of(*it, "s")), std::string("\4\0\0\0\0\0\0\0", 8));
    EXPECT_EQ(text(data_of(*it, "e")), std::string("\4\0\0\0\0\0\0\0", 8));
    EXPECT_TRUE(data_of(*it, "f").empty());
    EXPECT_EQ(text(it->constants.element_of(id_of(*it, "f"))), floats(2).substr(4));
    EXPECT_EQ(text(it->constants.element_of(id_of(*it, "z"))), std::string(4, '\0'));
    for (const char* const name : {"same", "m"}) {
      EXPECT_EQ(data_of(*it, name).data(), data_of(*it, "w").data()) << name;
      EXPECT_EQ(data_of(*it, name).size(), 16U);
    }
    const Recipe* const recipe = it->constants.recipe_of(id_of(*it, "t"));
    ASSERT_NE(recipe, nullptr);
    EXPECT_TRUE(recipe->operation.starts_with("Transpose 17 0 float32[2,2]")) << recipe->operation;
    EXPECT_EQ(recipe->inputs, (std::vector<std::optional<TensorId>>{id_of(*it, "m")}));
    EXPECT_EQ(it->constants.recipe_of(id_of(*it, "w")), nullptr);
    EXPECT_TRUE(data_of(*it, "y").empty());
  }
}

/// What is known before does not change what is computed: no kernel writes into a file's data.
TEST(Constants, ThatOnnxComputesAreComputedAllTheSame) {
  onnx::ModelProto model = folding_model();
  model.mutable_graph()->mutable_node()->RemoveLast();
  const Network network = parse_network(model.SerializeAsString(), "m.onnx");
  Array x{.dtype = DType::float32, .shape = {4}, .data = std::vector<std::byte>(16)};
  Array a{.dtype = DType::float32, .shape = {2, 2}, .data = std::vector<std::byte>(16)};
  const RunOptions options{.kernels = KernelSet::plain, .inputs = {{"x", x}, {"a", a}}};
  for (std::size_t round = 0; round < 2; ++round) {
    const RunResult result = run_plan(network, make_plan(network.input, {}).plan, options);
    ASSERT_FALSE(result.fault) << result.fault->what;
    const auto* const y = reinterpret_cast<const float*>(result.outputs.at(0).array.data.data());
    EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{9, 12, 15, 18}));  // 2 w + c + 2
    RunOptions random = options;
    random.random_weights = 3;
    EXPECT_FALSE(run_plan(network, make_plan(network.input, {}).plan, random).fault);
  }
}

TEST(Constants, InOneFileAreMappedOnce) {
  const TemporaryDirectory directory;
  directory.write("m.onnx", onnx_bytes(external_at("w", "0"), external_at("v", "8", "./weights.bin")));
  directory.write("weights.bin", floats(8));
  const Input input = read_input(directory / "m.onnx", with_constants);
  EXPECT_EQ(data_of(input, "w").data() + 8, data_of(input, "v").data());
}

TEST(Constants, InFilesThatAreMissingOrTooSmallAreRefused) {
  const TemporaryDirectory directory;
  const std::string file = (directory / "m.onnx").string();
  directory.write("m.onnx", onnx_bytes(embedded("w"), external_at("v", "20")));
  EXPECT_NO_THROW((void)read_input(file));
  const auto error = [&] { return error_of([&] { (void)read_input(file, with_constants); }); };
  EXPECT_EQ(error(), file + ": tensor 'v': has its data in 'weights.bin', which cannot be read");
  directory.write("weights.bin", floats(8));
  EXPECT_EQ(error(), file + ": tensor 'v': has 16 bytes of data at 20 of 'weights.bin', which has 32 bytes");
  directory.write("m.onnx", onnx_bytes(embedded("w"), external_at("v", "0", "../weights.bin")));
  EXPECT_EQ(error(),
            file + ": tensor 'v': has its data in '../weights.bin', expected a file beside the model");
}

TEST(Constants, ThatAreNotAlignedCanBeComputedWith) {
  const TemporaryDirectory directory;
  directory.write("m.onnx", onnx_bytes(embedded("w"), external_at("v", "3")));
  directory.write("weights.bin", "abc" + floats(4));
  const Network network = read_network(directory / "m.onnx");
  const PlanResult planned = make_plan(network.input, {});
  Array x{.dtype = DType::float32, .shape = {4}, .data = std::vector<std::byte>(16)};
  for (const KernelSet kernels : {KernelSet::plain, KernelSet::fast}) {
    const RunOptions options{.kernels = kernels, .inputs = {{"x", x}}};
    const Runner runner(network, options);
    const RunResult result = runner.run(planned.plan, options);
    ASSERT_EQ(result.outputs.size(), 1U);
    const auto* const y = reinterpret_cast<const float*>(result.outputs[0].array.data.data());
    EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{2, 4, 6, 8}));
  }
}

std::string json_with(const std::string& data, const std::string& kind = "weight") {
  return R"({"format":"stowage-graph","version":1,"tensors":[{"name":"x","bytes":4},{"name":"w","bytes":4,"kind":")" +
         kind + R"(","data":)" + data +
         R"(},{"name":"y","bytes":4}],"subgraphs":[{"inputs":["x"],"outputs":["y"],"operators":[)"
         R"({"type":"Add","inputs":["x","w"],"outputs":["y"]}]}]})";
}

TEST(Constants, OfGraphJsonAreHexadecimalDigitsOrInAFileBesideIt) {
  const TemporaryDirectory directory;
  const auto read = [&](const std::string& data, const std::string& kind = "weight") {
    directory.write("m.json", json_with(data, kind));
    EXPECT_TRUE(data_of(read_input(directory / "m.json"), "w").empty());
    const Input input = read_input(directory / "m.json", with_constants);
    return text(data_of(input, "w"));
  };
  std::filesystem::create_directory(directory / "below");
  directory.write("below/w.bin", "0123abcd");
  EXPECT_EQ(read(R"({"hex":"61622D7a"})"), "ab-z");
  EXPECT_EQ(read(R"({"hex":"61622D7a"})", "instruction"), "ab-z");
  EXPECT_EQ(read(R"({"file":"below/w.bin"})"), "0123");
  EXPECT_EQ(read(R"({"file":"below/w.bin","offset":4})"), "abcd");
  const Input input = read_input(directory / "m.json", with_constants);
  EXPECT_TRUE(is_mapped_from(data_of(input, "w"), directory / "below/w.bin"));
  const Input parsed = parse_input(json_with(R"({"file":"below/w.bin","offset":4})"),
                                   (directory / "other.json").string(), with_constants);
  EXPECT_EQ(text(data_of(parsed, "w")), "abcd");
}

TEST(Constants, OfGraphJsonAreRefusedWhenTheirFormIsWrong) {
  const auto error = [](const std::string& data, const std::string& kind = "weight") {
    return error_of([&] { (void)parse_input(json_with(data, kind), "m.json"); });
  };
  const std::string place = "m.json: /tensors/1/data";
  EXPECT_EQ(error(R"({"hex":"0011223g"})"),
            place + R"(/hex: is '"0011223g"', expected pairs of hexadecimal digits)");
  EXPECT_EQ(error(R"({"hex":"0011223"})"),
            place + R"(/hex: is '"0011223"', expected pairs of hexadecimal digits)");
  EXPECT_EQ(error(R"({"hex":"001122"})"), place + "/hex: has 3 bytes of data, expected 4");
  EXPECT_EQ(error(R"({"hex":7})"), place + "/hex: is '7', expected a string");
  EXPECT_EQ(error("{}"), place + ": has neither, expected one of 'hex' and 'file'");
  EXPECT_EQ(error(R"({"hex":"00112233","file":"w"})"),
            place + ": has both, expected one of 'hex' and 'file'");
  EXPECT_EQ(error("[]"), place + ": is an array, expected an object");
  EXPECT_EQ(error(R"({"file":"/w.bin"})"),
            place + "/file: has its data in '/w.bin', expected a file beside the model");
  EXPECT_EQ(error(R"({"file":"a/../../w.bin"})"),
            place + "/file: has its data in 'a/../../w.bin', expected a file beside the model");
  EXPECT_EQ(error(R"({"file":"w.bin","offset":-1})"), place + "/offset: is '-1', expected at least 0");
  EXPECT_EQ(error(R"({"hex":"00112233"})", "temporary"),
            place + ": is of a tensor of kind temporary, expected one of kind weight or instruction");
}

TEST(Constants, OfGraphJsonInFilesThatAreMissingOrTooSmallAreRefused) {
  const TemporaryDirectory directory;
  const auto error = [&](const std::string& data) {
    directory.write("m.json", json_with(data));
    EXPECT_NO_THROW((void)read_input(directory / "m.json"));
    return error_of([&] { (void)read_input(directory / "m.json", with_constants); });
  };
  const std::string place = (directory / "m.json").string() + ": /tensors/1/data/file: ";
  EXPECT_EQ(error(R"({"file":"w.bin"})"), place + "has its data in 'w.bin', which cannot be read");
  directory.write("w.bin", "abcde");
  EXPECT_EQ(error(R"({"file":"w.bin","offset":2})"),
            place + "has 4 bytes of data at 2 of 'w.bin', which has 5 bytes");
}

}  // namespace
}  // namespace stowage
