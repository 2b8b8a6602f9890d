// Operators that lack operands: a reader may reject them; otherwise they are planned, run and written as C, or refused
// with an error. Nothing may end the program. Resource variables of TFLite have operators without outputs.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "c_packages.h"
#include "kernels/kernel.h"
#include "kernels/kernels.h"
#include "onnx_models.h"
#include "onnx_samples.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/report.h"
#include "stowage/run.h"
#include "stowage/tflm.h"
#include "temporary.h"
#include "tflite_generated.h"
#include "tflite_models.h"

namespace stowage {
namespace {

/// What the attempt throws besides errors for users; empty if nothing.
std::string accident_of(const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const Error&) {
  } catch (const UsageError&) {
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (const kernels::Unsupported& unsupported) {
    return "Unsupported: " + unsupported.reason;
  }
  return "";
}

/// What every command does with a model.
void expect_no_accident(const std::string& bytes, const std::string& file, const std::string& words) {
  std::optional<Network> network;
  const auto expect = [&](const std::string& what, const std::function<void()>& attempt) {
    EXPECT_EQ(accident_of(attempt), "") << what << " of " << words;
  };
  expect("read", [&] { network = parse_network(bytes, file, {.constants = true}); });
  if (!network) return;
  PlanOptions rows;
  rows.stream = StreamOptions{};
  rows.solve.effort = 20;
  rows.solve.threads = 1;
  PlanOptions whole = rows;
  whole.stream.reset();
  for (const PlanOptions& options : {whole, rows}) {
    expect("plan", [&] {
      const Plan plan = make_plan(network->input, options).plan;
      std::ostringstream out;
      expect("output", [&] {
        write_json(plan, out);
        write_summary(plan, out);
        write_svg(plan, out);
        const std::vector<ReportedPlan> reported{{.plan = plan, .graphs = {network->graph()}}};
        write_report(reported, {}, out);
      });
      expect("header", [&] { write_header(plan, std::vector{network->graph()}, {}, out); });
      expect("run", [&] { (void)run_plan(*network, plan, {.check = RunCheck::tensors}); });
      expect("generate", [&] { (void)generate_package(*network, plan, {.name = "m"}); });
      expect("generate", [&] { (void)generate_package(*network, plan, {.name = "m", .cases = 0}); });
      std::vector<std::string> types;
      for (const Operator& op : network->graph().subgraphs[0].operators) types.push_back(op.type);
      expect("extern",
             [&] { (void)generate_package(*network, plan, {.name = "m", .cases = 0, .externs = types}); });
    });
  }
  if (!is_tflite(bytes)) return;
  expect("inspect", [&] { (void)kernel_requests(bytes, tflm_32); });
  expect("strip", [&] { (void)without_unread_parts(bytes); });
}

/// An operator between an input and an output of the model, which are not all its operands.
std::string tflite_with(const std::string& type, int inputs, int outputs, DType dtype) {
  testing::TfliteSubgraph main{.tensors = {{.name = "x", .shape = {1, 4, 4, 2}, .dtype = dtype},
                                           {.name = "y", .shape = {1, 4, 4, 2}, .dtype = dtype},
                                           {.name = "z", .shape = {1, 4, 4, 2}, .dtype = dtype}},
                               .inputs = {0},
                               .outputs = {1}};
  for (testing::TfliteTensor& tensor : main.tensors) {
    if (dtype != DType::int8) continue;
    tensor.scale = {0.5F};
    tensor.zero_point = {0};
  }
  main.operators = {{.type = "RELU", .inputs = {0}, .outputs = {1}},
                    {.type = type,
                     .inputs = std::vector<std::int32_t>(static_cast<std::size_t>(inputs), 0),
                     .outputs = {}}};
  if (outputs > 0) main.operators[1].outputs = {2};
  const bool has_bodies = type == "IF" || type == "WHILE" || type == "CALL_ONCE";
  if (has_bodies) main.operators[1].options = "";  // without the numbers of its bodies
  return testing::tflite_model({.subgraphs = {main}});
}

TEST(GenerateOperands, TfliteOperatorsWithoutThem) {
  for (const auto builtin : tflite::EnumValuesBuiltinOperator()) {
    const std::string type = tflite::EnumNameBuiltinOperator(builtin);
    for (const DType dtype : {DType::float32, DType::int8})
      for (const auto& [inputs, outputs] :
           std::vector<std::pair<int, int>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {3, 0}})
        expect_no_accident(tflite_with(type, inputs, outputs, dtype), "m.tflite",
                           type + " with " + std::to_string(inputs) + " inputs and " +
                               std::to_string(outputs) + " outputs, " + std::string(name_of(dtype)));
  }
}

TEST(GenerateOperands, OnnxOperatorsWithoutThem) {
  constexpr int set = 21;
  for (const auto& kernel : kernels::onnx_kernels()) {
    const std::string type(kernel.first);
    const std::optional<onnx::ModelProto> sample = testing::sample_of(type, set);
    if (!sample) continue;
    const auto with = [&](const std::string& what, const std::function<void(onnx::NodeProto&)>& change) {
      onnx::ModelProto model = *sample;
      change(*model.mutable_graph()->mutable_node(model.graph().node_size() - 1));
      expect_no_accident(model.SerializeAsString(), "m.onnx", type + " " + what);
    };
    with("as it is", [](onnx::NodeProto&) {});
    with("without outputs", [](onnx::NodeProto& node) { node.clear_output(); });
    with("without the first output", [](onnx::NodeProto& node) { node.set_output(0, ""); });
    with("without inputs", [](onnx::NodeProto& node) { node.clear_input(); });
    for (int i = 0; i < sample->graph().node(sample->graph().node_size() - 1).input_size(); ++i)
      with("without input " + std::to_string(i), [i](onnx::NodeProto& node) { node.set_input(i, ""); });
  }
}

/// As streaming wake words have it: each run adds to a variable, which CALL_ONCE gives its first value.
testing::TfliteSpec sums_of_all_runs() {
  const testing::TfliteTensor handle{.name = "h", .shape = {}, .dtype = DType::resource};
  const std::vector<float> first{1, 2, 3, 4};
  const std::string data(reinterpret_cast<const char*>(first.data()), first.size() * sizeof(float));
  return {.subgraphs = {{.tensors = {{.name = "x", .shape = {1, 4}},
                                     handle,
                                     {.name = "old", .shape = {1, 4}},
                                     {.name = "y", .shape = {1, 4}}},
                         .operators = {{.type = "CALL_ONCE", .bodies = {1}},
                                       {.type = "VAR_HANDLE", .outputs = {1}, .shared_name = "v"},
                                       {.type = "READ_VARIABLE", .inputs = {1}, .outputs = {2}},
                                       {.type = "ADD", .inputs = {0, 2}, .outputs = {3}},
                                       {.type = "ASSIGN_VARIABLE", .inputs = {1, 3}}},
                         .inputs = {0},
                         .outputs = {3}},
                        {.tensors = {handle, {.name = "first", .shape = {1, 4}, .data = data}},
                         .operators = {{.type = "VAR_HANDLE", .outputs = {0}, .shared_name = "v"},
                                       {.type = "ASSIGN_VARIABLE", .inputs = {0, 1}}}}}};
}

TEST(GenerateOperands, VariablesKeepWhatRunsAssign) {
  const Network network =
      parse_network(testing::tflite_model(sums_of_all_runs()), "m.tflite", {.constants = true});
  EXPECT_EQ(network.graph().tensors[1].kind, TensorKind::state);
  const Plan plan = make_plan(network.input).plan;
  const RunResult run = run_plan(network, plan, {.check = RunCheck::tensors});
  EXPECT_FALSE(run.fault);
  Package package = generate_package(network, plan, {.name = "sums"});
  EXPECT_EQ(package.state, 16);
  const std::string readme = std::ranges::find(package.files, "README.md", &GeneratedFile::path)->content;
  const std::size_t code = readme.find("```c\n") + 5;
  for (GeneratedFile& file : package.files)
    if (file.path == "sums_test.c")
      file.content = readme.substr(code, readme.find("```", code) - code) + R"(
int main(void) {
  const float x[4] = {1, 1, 1, 2};
  float y[4];
  int session, n, i, faults = 0;
  for (session = 0; session < 2; session++) {
    start_sums();
    for (n = 1; n < 4; n++) {
      infer_sums(x, y);
      for (i = 0; i < 4; i++) faults += y[i] != (float)(i + 1) + (float)n * x[i];
    }
  }
  return faults;
}
)";
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  packages.add("sums", package);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// Without a first value, with one of another shape, with one that is computed, and with CALL_ONCE behind the first use.
TEST(GenerateOperands, VariablesThatAreNoStateAreRefused) {
  const auto expect_refused = [](const std::string& what, const auto& change) {
    testing::TfliteSpec spec = sums_of_all_runs();
    change(spec.subgraphs[0], spec.subgraphs[1]);
    const Network network = parse_network(testing::tflite_model(spec), "m.tflite", {.constants = true});
    try {
      (void)run_plan(network, make_plan(network.input).plan);
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("its variable does not become state"), std::string::npos)
          << what << ": " << error.what();
    }
  };
  using Sub = testing::TfliteSubgraph;
  expect_refused("none", [](Sub& main, Sub&) { main.operators.erase(main.operators.begin()); });
  expect_refused("of another variable", [](Sub&, Sub& once) { once.operators[0].shared_name = "other"; });
  expect_refused("of another shape", [](Sub&, Sub& once) { once.tensors[1].shape = {2, 2}; });
  expect_refused("computed", [](Sub&, Sub& once) {
    once.tensors.push_back({.name = "same", .shape = {1, 4}});
    once.operators.insert(once.operators.begin() + 1, {.type = "RELU", .inputs = {1}, .outputs = {2}});
    once.operators.back().inputs[1] = 2;
  });
  expect_refused("too late", [](Sub& main, Sub&) {
    std::rotate(main.operators.begin(), main.operators.begin() + 1, main.operators.end());
  });
}

TEST(GenerateOperands, ResourceVariablesAreRefusedByName) {
  testing::TfliteSpec spec = sums_of_all_runs();
  spec.subgraphs[0].operators.erase(spec.subgraphs[0].operators.begin());
  const Network network = parse_network(testing::tflite_model(spec), "m.tflite", {.constants = true});
  const Plan plan = make_plan(network.input).plan;
  try {
    (void)generate_package(network, plan, {.name = "m"});
    ADD_FAILURE() << "no C is generated for variables";
  } catch (const Error& error) {
    for (const char* const type : {"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"})
      EXPECT_NE(std::string(error.what()).find(type), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find("--extern"), std::string::npos) << error.what();
  }
}

/// float16 and sparse weights are in flash as the float32 that they stand for.
TEST(GenerateOperands, WeightsInASmallerFormAreFloat32) {
  const std::vector<std::uint16_t> weights{0x3C00, 0xC000, 0x0001, 0x3800};
  const std::vector<std::uint16_t> bias{0xBC00, 0x4400};
  const auto text_of = [](const std::vector<std::uint16_t>& numbers) {
    return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::uint16_t));
  };
  const testing::TfliteSparsity sparsity{
      .order = {0, 1},
      .levels = {{.extent = 2}, {.is_dense = false, .segments = {0, 1, 4}, .indices = {2, 0, 1, 3}}}};
  const std::string bytes =
      testing::tflite_model(
          {.subgraphs = {
               {.tensors = {{.name = "x", .shape = {1, 4}},
                            {.name = "w",
                             .shape = {2, 4},
                             .dtype = DType::float16,
                             .data = text_of(weights),
                             .sparsity = sparsity},
                            {.name = "dense", .shape = {2, 4}, .dtype = DType::float16},
                            {.name = "real", .shape = {2, 4}},
                            {.name = "b", .shape = {2}, .dtype = DType::float16, .data = text_of(bias)},
                            {.name = "bias", .shape = {2}},
                            {.name = "y", .shape = {1, 2}}},
                .operators =
                    {{.type = "DENSIFY", .inputs = {1}, .outputs = {2}},
                     {.type = "DEQUANTIZE", .inputs = {2}, .outputs = {3}},
                     {.type = "DEQUANTIZE", .inputs = {4}, .outputs = {5}},
                     {.type = "FULLY_CONNECTED", .inputs = {0, 3, 5}, .outputs = {6}, .numbers = {0, 0, 0}}},
                .inputs = {0},
                .outputs = {6}}}});
  const Network network = parse_network(bytes, "m.tflite");
  const Package package =
      generate_package(network, make_plan(network.input).plan, {.name = "small", .cases = 3});
  EXPECT_EQ(package.weights, 40);
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  packages.add("small", package);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// A layer of reals whose weights are bytes, with a scale for each of them or for all, on three rows.
std::string hybrid_layer(const std::vector<float>& scales, bool has_zero_point) {
  constexpr std::int32_t outputs = 11;
  constexpr std::int32_t inputs = 5;
  std::string weights;
  for (int i = 0; i < outputs * inputs; ++i) weights.push_back(static_cast<char>(i * 37 % 255 - 127));
  std::vector<float> bias(outputs);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = 0.3F * static_cast<float>(i) - 1;
  const std::string numbers(reinterpret_cast<const char*>(bias.data()), bias.size() * sizeof(float));
  return testing::tflite_model(
      {.subgraphs = {{.tensors = {{.name = "x", .shape = {3, inputs}},
                                  {.name = "w",
                                   .shape = {outputs, inputs},
                                   .dtype = DType::int8,
                                   .data = weights,
                                   .scale = scales,
                                   .zero_point = std::vector<std::int64_t>(scales.size(), 0)},
                                  {.name = "b", .shape = {outputs}, .data = numbers},
                                  {.name = "r", .shape = {3, inputs}},
                                  {.name = "y", .shape = {3, outputs}}},
                      .operators = {{.type = "RELU", .inputs = {0}, .outputs = {3}},
                                    {.type = "FULLY_CONNECTED",
                                     .inputs = {3, 1, 2},
                                     .outputs = {4},
                                     .numbers = {1, 0, 1, has_zero_point ? 1 : 0}}},
                      .inputs = {0},
                      .outputs = {4}}}});
}

TEST(GenerateOperands, WeightsOfBytesStayBytesInALayerOfReals) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  std::vector<float> scales(11);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 0.01F * static_cast<float>(i + 1);
  int count = 0;
  for (const bool has_zero_point : {false, true}) {
    for (const std::vector<float>& of_weights : {std::vector<float>{0.02F}, scales}) {
      const Network network = parse_network(hybrid_layer(of_weights, has_zero_point), "m.tflite");
      PlanOptions rows;
      rows.io = Io::rows;
      rows.stream = StreamOptions{};
      for (const PlanOptions& options : {PlanOptions{}, rows}) {
        const std::string name = "layer_" + std::to_string(count++);
        const Package package =
            generate_package(network, make_plan(network.input, options).plan, {.name = name, .cases = 3});
        EXPECT_EQ(package.weights, 11 * 5 + 11 * 4 + 11 * 4);  // bytes, scales, biases
        packages.add(name, package);
      }
    }
  }
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage
