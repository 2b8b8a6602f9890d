// Real models as C: operator by operator, by rows, and with inputs that arrive row by row, they give what the
// interpreter gives, bit for bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "c_packages.h"
#include "long_tests.h"
#include "process.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "temporary.h"

namespace stowage {
namespace {

PlanOptions options_of(bool is_streamed, Io io, StreamLayout layout = StreamLayout::automatic,
                       StreamAxes axes = StreamAxes::natural) {
  PlanOptions options;
  options.io = io;
  options.solve.time_limit = std::chrono::seconds(60);
  options.solve.effort = 200;  // the same on a busy machine
  if (is_streamed)
    options.stream = StreamOptions{.layout = layout, .axes = axes, .blocks = StreamBlocks::none};
  return options;
}

/// At most 1.3 times the multiplies: person_detect takes that.
PlanOptions recomputing() {
  PlanOptions options = options_of(true, Io::rows);
  options.solve.effort = 1000;
  options.stream->recompute = 1.3;
  return options;
}

/// Rows along other axes, too: mcunet_vww has some that are channels.
PlanOptions searching() {
  PlanOptions options = options_of(true, Io::rows, StreamLayout::automatic, StreamAxes::searched);
  options.solve.effort = 1500;
  return options;
}

std::vector<PlanOptions> modes_of(const std::string& model) {
  std::vector<PlanOptions> modes{options_of(false, Io::arena), options_of(true, Io::arena),
                                 options_of(true, Io::rows), options_of(true, Io::arena, StreamLayout::ring)};
  if (testing::has_time() || model == "person_detect") modes.push_back(recomputing());
  if (testing::has_time() || model == "mcunet_vww") modes.push_back(searching());
  return modes;
}

/// A name in C: they may begin with no digit.
std::string name_of(const std::string& model, std::size_t mode) {
  return "m_" + model + "_" + std::to_string(mode);
}

bool has_state(const Network& network) {
  return std::ranges::any_of(network.graph().tensors,
                             [](const Tensor& tensor) { return tensor.kind == TensorKind::state; });
}

void add_model(testing::Packages& packages, const std::filesystem::path& file, std::size_t cases) {
  Network network = read_network(file);
  run_carriers_whole(network);
  add_scratch_of_kernels(network, CKernels::portable, true);
  std::vector<PlanOptions> modes = modes_of(file.stem().string());
  const bool streams = std::ranges::any_of(network.graph().subgraphs[0].operators,
                                           [](const Operator& op) { return !op.carries.empty(); });
  if (has_state(network) && !streams) modes.resize(1);
  for (std::size_t mode = 0; mode < modes.size(); ++mode) {
    std::string stem = file.stem().string();
    for (char& c : stem) c = static_cast<char>(std::tolower(c));
    const std::string name = name_of(stem, mode);
    const Plan plan = make_plan(network.input, modes[mode]).plan;
    const Package package = generate_package(network, plan, {.name = name, .cases = cases});
    packages.add(name, package);
    constexpr Bytes largest_state = 256;
    constexpr Bytes smallest_limit = 4096;
    if (!has_state(network)) {
      EXPECT_LE(package.state, largest_state) << name;
    }
    EXPECT_LE(package.control, std::max(smallest_limit, package.weights / 50)) << name;
    if (file.stem() == "person_detect" && modes[mode].stream && modes[mode].stream->recompute > 1) {
      EXPECT_NE(package.files[1].content.find("_again(memory"), std::string::npos) << name;
    }
    Bytes peaks = 0;
    for (const PlannedMemory& memory : plan.memories) peaks += memory.peak;
    EXPECT_EQ(package.arena, peaks);
  }
}

TEST(GenerateModels, GiveWhatTheInterpreterGives) {
  const std::filesystem::path models = std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "no models in " << models;
  std::vector<std::string> names{"hello_world_int8", "trained_lstm_int8"};
  if (!testing::is_in_a_hurry())
    for (const char* const name :
         {"kws_ref_model", "kws_ref_model_float32", "person_detect", "micro_speech_quantized", "mcunet_vww"})
      names.emplace_back(name);
  if (testing::has_time())
    for (const char* const name : {"pretrainedResnet_quant", "keyword_scrambled_8bit", "ad01_int8",
                                   "vww_96_int8", "vww_96_float", "mobilenet_v2_int8_224", "mcunetv2_large"})
      names.emplace_back(name);
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  for (const std::string& name : names)
    add_model(packages, models / (name + ".tflite"), testing::has_time() ? 20 : 2);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

TEST(GenerateModels, TheExampleReadsACameraLineByLine) {
  const std::filesystem::path model =
      std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite/person_detect.tflite";
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no " << model;
  const Network network = read_network(model);
  PlanOptions options = options_of(true, Io::rows);
  options.solve.time_limit = testing::time_of(std::chrono::seconds(1));
  const Plan plan = make_plan(network.input, options).plan;
  const testing::TemporaryDirectory folder;
  std::vector<std::string> arguments{"-std=c99",
                                     "-O1",
                                     "-Wall",
                                     "-Wextra",
                                     "-Werror",
                                     "-I.",
                                     std::string(STOWAGE_EXAMPLES) + "/person_detect_rows.c"};
  for (const GeneratedFile& file : generate_package(network, plan, {.name = "person_detect"}).files) {
    if (file.path.find('/') != std::string::npos) continue;
    folder.write(file.path, file.content);
    if (file.path.ends_with(".c") && !file.path.ends_with("_test.c")) arguments.push_back(file.path);
  }
  arguments.insert(arguments.end(), {"-lm", "-o", "example"});
  const auto compiled = testing::run_process("/usr/bin/gcc", arguments, {.directory = folder.path()});
  ASSERT_EQ(compiled.status, 0) << compiled.errors;
  const auto result = testing::run_process((folder / "example").string(), {});
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(result.output.starts_with("no person ")) << result.output;
}

/// A mean without C by rows runs as a whole; the moves of all others stay.
TEST(GenerateModels, KeepMovesWhereAnOperatorHasNoRowsInC) {
  const std::filesystem::path file =
      std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite/mcunet_vww.tflite";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  PlanOptions options;
  options.io = Io::rows;
  options.stream.emplace();
  options.solve.effort = 1000;
  options.memories = {{.name = "SRAM", .capacity = 24576},
                      {.name = "PSRAM", .cost = 10},
                      {.name = "FLASH", .cost = 10, .role = MemoryRole::weights}};
  options.moves = Moves::allowed;
  std::vector<std::string> ways;
  const PlannedPackage made =
      plan_package({read_network(file)}, options, {.name = "net"},
                   [&](std::string_view, std::string_view how) { ways.emplace_back(how); });
  EXPECT_EQ(ways, std::vector<std::string>{"with these operators as wholes"});
  EXPECT_TRUE(std::ranges::any_of(made.planned.plan.clocks[0].steps,
                                  [](const Step& step) { return std::holds_alternative<Copy>(step); }));
  EXPECT_FALSE(made.package.files.empty());
}

}  // namespace
}  // namespace stowage
