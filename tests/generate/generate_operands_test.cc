// Operators that lack operands: a reader may reject them; otherwise they are planned, run and written as C, or refused
// with an error. Nothing may end the program. Resource variables of TFLite have operators without outputs.

#include <gtest/gtest.h>

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

/// As streaming wake words have it: the first run makes the variable, each run reads and changes it.
TEST(GenerateOperands, ResourceVariablesAreRefusedByName) {
  const testing::TfliteTensor handle{.name = "h", .shape = {1}, .dtype = DType::resource};
  const std::string bytes = testing::tflite_model(
      {.subgraphs = {{.tensors = {{.name = "x", .shape = {1, 8}},
                                  handle,
                                  {.name = "old", .shape = {1, 8}},
                                  {.name = "y", .shape = {1, 8}}},
                      .operators = {{.type = "VAR_HANDLE", .outputs = {1}},
                                    {.type = "READ_VARIABLE", .inputs = {1}, .outputs = {2}},
                                    {.type = "ADD", .inputs = {0, 2}, .outputs = {3}},
                                    {.type = "ASSIGN_VARIABLE", .inputs = {1, 3}}},
                      .inputs = {0},
                      .outputs = {3}}}});
  const Network network = parse_network(bytes, "m.tflite", {.constants = true});
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

}  // namespace
}  // namespace stowage
