// plan_package: what `stowage generate` decides, for clients of the library.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c_packages.h"
#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::node;

/// Relus in a row over an image of the given type.
Network chain_of_relus(const std::string& type = "Relu") {
  testing::OnnxParts parts{.inputs = {testing::tensor_value("t0", {1, 2, 24, 4})},
                           .outputs = {testing::value_of_any_shape("t4")}};
  for (int i = 0; i < 4; ++i)
    parts.nodes.push_back(node(type, {"t" + std::to_string(i)}, {"t" + std::to_string(i + 1)}));
  return parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
}

PlanOptions by_rows() {
  PlanOptions options;
  options.solve.effort = 1000;
  options.stream.emplace();
  options.io = Io::rows;
  return options;
}

TEST(GeneratePlanned, WeighsRingsAndSaysSoInTheReadme) {
  const PlannedPackage made = plan_package({chain_of_relus()}, by_rows(), {.name = "net", .cases = 0});
  EXPECT_EQ(made.no_rows, "");
  EXPECT_TRUE(made.planned.faults.empty());
  ASSERT_TRUE(is_streamed(made.planned.plan));
  const auto readme_of = [](const Package& package) {
    return std::ranges::find(package.files, "README.md", &GeneratedFile::path)->content;
  };
  EXPECT_NE(readme_of(made.package).find("would take an arena of "), std::string::npos);
  PlanOptions rings = by_rows();
  rings.stream->layout = StreamLayout::ring;
  const PlannedPackage other = plan_package({chain_of_relus()}, rings, {.name = "net", .cases = 0});
  EXPECT_EQ(readme_of(other.package).find("would take an arena of "), std::string::npos);
  const auto cost_of = [](const Package& it) { return it.arena + it.state + it.control; };
  EXPECT_LE(cost_of(made.package), cost_of(other.package));
}

TEST(GeneratePlanned, TheReadmeHasCodeThatCompilesAndRuns) {
  Package package = plan_package({chain_of_relus()}, by_rows(), {.name = "net", .cases = 0}).package;
  const auto content_of = [&](const char* path) -> std::string& {
    return std::ranges::find(package.files, path, &GeneratedFile::path)->content;
  };
  const std::string readme = content_of("README.md");
  const std::size_t code = readme.find("```c\n") + 5;
  content_of("net_test.c") = readme.substr(code, readme.find("```", code) - code) + R"(
static int rows;
static void give(void *row) { *(float *)row = 1; rows++; }
static void take(const void *row) { rows -= *(const float *)row >= 0; }
int main(void) {
  infer_net(give, take);
  return rows;
}
)";
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  packages.add("net", package);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

TEST(GeneratePlanned, SaysWhyThereAreNoRows) {
  PlanOptions options = by_rows();
  options.solve.effort = 0;
  const PlannedPackage made = plan_package({chain_of_relus()}, options, {.name = "net", .cases = 0});
  EXPECT_NE(made.no_rows, "");
  EXPECT_TRUE(made.package.files.empty());
}

TEST(GeneratePlanned, PlansAgainUntilNothingIsLeftToTakeAway) {
  std::vector<std::string> hows;
  const auto note = [&](std::string_view, std::string_view how) { hows.emplace_back(how); };
  PlanOptions options = by_rows();
  options.io = Io::arena;
  EXPECT_THROW(
      (void)plan_package({chain_of_relus("Erf")}, options, {.name = "Not a C name", .cases = 0}, note),
      UsageError);
  EXPECT_TRUE(hows.empty()) << "wrong usage stays wrong";
}

Network network_of(testing::OnnxParts parts) {
  return parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
}

/// Of bytes: without rows 192, for input and output are no smaller.
Network reshaped() {
  return network_of({.nodes = {node("Relu", {"x"}, {"a"}), node("Reshape", {"a", "shape"}, {"b"}),
                               node("Tanh", {"b"}, {"y"})},
                     .inputs = {testing::tensor_value("x", {12, 4})},
                     .outputs = {testing::tensor_value("y", {1, 12, 4})},
                     .initializers = {testing::vector_of("shape", {1, 12, 4})}});
}

Network picked() {
  onnx::TensorProto indices = testing::vector_of("i", {0, 1, 0, 3, 0, 0});
  indices.set_dims(0, 3);
  indices.add_dims(2);
  return network_of(
      {.nodes = {node("Relu", {"x"}, {"a"}), node("GatherND", {"a", "i"}, {"b"}), node("Tanh", {"b"}, {"y"}),
                 node("GatherND", {"a", "i"}, {"z"})},
       .inputs = {testing::tensor_value("x", {1, 4, 16, 16})},
       .outputs = {testing::tensor_value("y", {3, 16, 16}), testing::tensor_value("z", {3, 16, 16})},
       .initializers = {indices}});
}

/// Of a GRU in both directions only the last states.
Network last_states() {
  return network_of({.nodes = {node("Relu", {"x"}, {"a"}),
                               node("GRU", {"a", "w", "r"}, {"", "y"},
                                    {testing::attribute("hidden_size", std::int64_t{5}),
                                     testing::attribute("direction", std::string("bidirectional"))})},
                     .inputs = {testing::tensor_value("x", {12, 1, 4})},
                     .outputs = {testing::tensor_value("y", {2, 1, 5})},
                     .initializers = {testing::zeros("w", {2, 15, 4}), testing::zeros("r", {2, 15, 5})}});
}

Network branches_behind_windows() {
  const auto branch = [](const char* type, const char* result) {
    return testing::onnx_graph(
        {.nodes = {node(type, {"b"}, {result})}, .outputs = {testing::tensor_value(result, {1, 2, 8, 8})}});
  };
  const testing::NodeAttributes fourth{testing::attribute("kernel_shape", Shape{4, 4}),
                                       testing::attribute("strides", Shape{4, 4})};
  return network_of({.nodes = {node("Relu", {"x"}, {"a"}), node("MaxPool", {"a"}, {"b"}, fourth),
                               node("If", {"c"}, {"d"},
                                    {testing::attribute("then_branch", branch("Neg", "e")),
                                     testing::attribute("else_branch", branch("Tanh", "f"))}),
                               node("Sigmoid", {"d"}, {"y"})},
                     .inputs = {testing::tensor_value("x", {1, 2, 32, 32}),
                                testing::tensor_value("c", {}, onnx::TensorProto::BOOL)},
                     .outputs = {testing::tensor_value("y", {1, 2, 8, 8})}});
}

/// These run when all rows of their inputs are there, and rows leave from what they write.
TEST(GeneratePlanned, RowsStandBesideOperatorsThatRunAsWholes) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  for (const auto& [name, network] :
       {std::pair("reshaped", reshaped()), std::pair("picked", picked()), std::pair("last", last_states()),
        std::pair("branches", branches_behind_windows())}) {
    SCOPED_TRACE(name);
    const PlannedPackage made = plan_package({network}, by_rows(), {.name = name});
    EXPECT_EQ(made.no_rows, "");
    EXPECT_TRUE(is_streamed(made.planned.plan));
    if (made.no_rows.empty()) packages.add(name, made.package);
  }
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// A dimension of one in front is no axis for rows.
TEST(GeneratePlanned, RowsGoOnBehindADimensionOfOne) {
  PlanOptions options = by_rows();
  options.alignment = 1;
  options.stream->axes = StreamAxes::natural;
  EXPECT_EQ(plan_package({reshaped()}, options, {.name = "net", .cases = 0}).planned.plan.summary.peak, 16);
}

TEST(GeneratePlanned, CmsisNnTakesLinesOfImages) {
  EXPECT_EQ(streaming_for(CKernels::portable).axes, StreamAxes::searched);
  EXPECT_EQ(streaming_for(CKernels::cmsis_nn_dsp).axes, StreamAxes::natural);
  EXPECT_EQ(streaming_for(CKernels::cmsis_nn_scalar).blocks, StreamBlocks::none);
}

TEST(GeneratePlanned, NamesOfModelsBecomeCNames) {
  EXPECT_EQ(c_name_of("My-Net.v2"), "my_net_v2");
  EXPECT_EQ(c_name_of("9lives"), "lives");
  EXPECT_EQ(c_name_of("--"), "model");
}

}  // namespace
}  // namespace stowage
