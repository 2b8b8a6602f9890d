// The oracle for plans in files: TensorFlow Lite Micro itself, unmodified. What it computes with a plan is
// what it computes without, and its arena is never larger; just what the simulation says where no kernel asks
// for scratch. Needs the Python environment of scripts/oracles.sh; without it these tests skip.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "long_tests.h"
#include "process.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/tflm.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using nlohmann::json;
using testing::run_process;
using testing::TemporaryDirectory;

const std::filesystem::path python =
    std::filesystem::path(STOWAGE_ORACLE_DATA).parent_path() / "venv/bin/python";

std::vector<std::filesystem::path> models_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> models;
  if (!std::filesystem::is_directory(folder)) return models;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".tflite") models.push_back(entry.path());
  }
  std::sort(models.begin(), models.end());
  return models;
}

/// Models with plans, for the runtime.
class PlannerComparison {
 public:
  /// Plans a model, and notes what is expected of it.
  void add(const std::filesystem::path& model, const ImportOptions& options = {}) {
    const Input input = read_input(model, options);
    PlanOptions for_tflm;
    for_tflm.target = Target::tflm;
    const PlanResult result = make_plan(input, for_tflm);
    ASSERT_TRUE(result.faults.empty());
    const KernelScratch scratch = options.scratch.empty() ? KernelScratch::unknown : KernelScratch::in_graph;
    add(model, plan_for_tflm(std::get<Graph>(input.content), result.plan, 0, scratch));
  }

  void add(const std::filesystem::path& model, const TflmPlan& plan) {
    const std::string name = std::to_string(files_.size()) + ".tflite";
    directory_.write(name, with_offline_plan(base::InputFile(model).bytes(), plan.plan));
    files_.push_back(model.string());
    files_.push_back((directory_ / name).string());
    expected_.push_back(plan);
  }

  /// Runs all models with and without their plans. Returns how many of them the runtime can run.
  std::size_t expect_good(int runs, std::map<std::string, std::pair<Bytes, Bytes>>* heads = nullptr) const {
    std::vector<std::string> arguments{"-B", std::string(STOWAGE_ORACLE) + "/tflm_plans.py",
                                       std::to_string(runs)};
    arguments.insert(arguments.end(), files_.begin(), files_.end());
    const auto result = run_process(python.string(), arguments);
    EXPECT_EQ(result.status, 0) << result.errors;
    std::istringstream lines(result.output);
    std::string line;
    std::size_t good = 0;
    for (std::size_t i = 0; std::getline(lines, line); ++i) {
      const json it = json::parse(line);
      if (it.contains("error")) continue;
      SCOPED_TRACE(line);
      ++good;
      EXPECT_TRUE(it["equal"]);
      EXPECT_GT(it["outputs"], 0);
      EXPECT_LE(it["after"]["head"], it["before"]["head"]);
      EXPECT_LE(it["after"]["total"], it["before"]["total"]);
      if (expected_.at(i).may_ask == 0) {
        EXPECT_EQ(it["before"]["head"], expected_[i].own_head);
        EXPECT_EQ(it["after"]["head"], expected_[i].head);
      }
      if (heads != nullptr) (*heads)[it["model"]] = {it["before"]["head"], it["after"]["head"]};
    }
    return good;
  }

 private:
  TemporaryDirectory directory_;
  std::vector<std::string> files_;  // models and, after each, its planned file
  std::vector<TflmPlan> expected_;
};

TEST(TflmRuntimeData, RunsRealModelsInPlans) {
  const auto models = models_in(std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite");
  if (!std::filesystem::exists(python) || models.empty()) GTEST_SKIP() << "no " << python << " or no models";
  // Of these a run takes up to a second.
  const std::set<std::string> large{"mobilenet_v2_int8_224", "mcunetv2_large", "mcunet_vww"};
  PlannerComparison quick;
  PlannerComparison slow;
  for (const auto& model : models) {
    if (model.stem() == "person_detect_vela") continue;  // for an accelerator
    (large.contains(model.stem()) ? slow : quick).add(model);
  }
  std::map<std::string, std::pair<Bytes, Bytes>> heads;
  EXPECT_EQ(quick.expect_good(testing::has_time() ? 20 : 3, &heads),
            11U);  // one has weights that the runtime does not take
  EXPECT_EQ(slow.expect_good(testing::has_time() ? 20 : 1), 3U);
  EXPECT_EQ(heads["vww_96_int8"], (std::pair<Bytes, Bytes>{73728, 55296}));
  EXPECT_EQ(heads["vww_96_float"], (std::pair<Bytes, Bytes>{294912, 221184}));
}

TEST(TflmRuntimeData, KnowsScratchThatAListGives) {
  const std::filesystem::path model =
      std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite/keyword_scrambled_8bit.tflite";
  if (!std::filesystem::exists(python) || !std::filesystem::exists(model)) GTEST_SKIP() << "no " << python;
  // A state vector filter of the stock kernels wants 4 bytes for each filter and for each unit.
  const Graph graph = std::get<Graph>(read_input(model).content);
  ImportOptions options;
  for (std::size_t o = 0; o < graph.subgraphs[0].operators.size(); ++o) {
    const Operator& op = graph.subgraphs[0].operators[o];
    if (op.type != "SVDF") continue;
    const std::int64_t filters = graph.tensors[*op.inputs[1]].shape->front();
    const std::int64_t units = graph.tensors[*op.outputs[0]].shape->back();
    options.scratch.push_back({0, o, filters * 4});
    options.scratch.push_back({0, o, units * 4});
  }
  PlannerComparison comparison;
  comparison.add(model, options);
  EXPECT_EQ(options.scratch.size(), 14U);
  EXPECT_EQ(comparison.expect_good(2), 1U);
}

TEST(TflmRuntimeData, RunsSmallModelsInPlans) {
  const auto models = models_in(std::filesystem::path(STOWAGE_ORACLE_DATA) / "tflite");
  if (!std::filesystem::exists(python) || models.empty()) GTEST_SKIP() << "no " << python << " or no models";
  PlannerComparison comparison;
  for (std::size_t i = 0; i < models.size(); i += testing::is_in_a_hurry() ? 10 : 1)
    comparison.add(models[i]);
  EXPECT_GT(comparison.expect_good(1), models.size() / 12);
}

testing::TfliteTensor floats(std::int32_t count) { return {.shape = {count}}; }

/// Two bodies of one operator each; `condition` gives those of a WHILE a boolean.
testing::TfliteSpec with_bodies(const std::string& type) {
  const testing::TfliteTensor boolean{.shape = {1}, .dtype = DType::boolean};
  const testing::TfliteSubgraph body{.tensors = {floats(64), floats(64), floats(64)},
                                     .operators = {{.type = "ABS", .inputs = {0}, .outputs = {1}},
                                                   {.type = "NEG", .inputs = {1}, .outputs = {2}}},
                                     .inputs = {0},
                                     .outputs = {2}};
  if (type == "IF") {
    return {.subgraphs = {{.tensors = {boolean, floats(64), floats(64), floats(64)},
                           .operators = {{.type = "IF", .inputs = {0, 1}, .outputs = {2}, .bodies = {1, 2}},
                                         {.type = "NEG", .inputs = {2}, .outputs = {3}}},
                           .inputs = {0, 1},
                           .outputs = {3}},
                          body,
                          body}};
  }
  const float zero = 0;
  const std::string data(reinterpret_cast<const char*>(&zero), sizeof zero);
  // Never true of anything: nothing is below what it is.
  const testing::TfliteSubgraph condition{.tensors = {floats(1), boolean},
                                          .operators = {{.type = "LESS", .inputs = {0, 0}, .outputs = {1}}},
                                          .inputs = {0},
                                          .outputs = {1}};
  testing::TfliteSubgraph one = body;
  for (auto& tensor : one.tensors) tensor.shape = {1};
  return {.subgraphs = {{.tensors = {floats(1), floats(1), floats(1)},
                         .operators = {{.type = "WHILE", .inputs = {0}, .outputs = {1}, .bodies = {1, 2}},
                                       {.type = "NEG", .inputs = {1}, .outputs = {2}}},
                         .inputs = {0},
                         .outputs = {2}},
                        condition,
                        one}};
}

TEST(TflmRuntime, RunsBodiesInPlans) {
  if (!std::filesystem::exists(python)) GTEST_SKIP() << "no " << python;
  const TemporaryDirectory directory;
  PlannerComparison comparison;
  for (const char* const type : {"IF", "WHILE"}) {
    directory.write(std::string(type) + ".tflite", testing::tflite_model(with_bodies(type)));
    comparison.add(directory / (std::string(type) + ".tflite"));
  }
  EXPECT_EQ(comparison.expect_good(20), 2U);
}

TEST(TflmRuntime, RunsOperatorsInThePlansOrder) {
  if (!std::filesystem::exists(python)) GTEST_SKIP() << "no " << python;
  const TemporaryDirectory directory;
  directory.write("m.tflite",
                  testing::tflite_model(
                      {.subgraphs = {{.tensors = {floats(64), floats(64), floats(64), floats(64)},
                                      .operators = {{.type = "ABS", .inputs = {0}, .outputs = {1}},
                                                    {.type = "NEG", .inputs = {0}, .outputs = {2}},
                                                    {.type = "MAXIMUM", .inputs = {1, 2}, .outputs = {3}}},
                                      .inputs = {0},
                                      .outputs = {3}}}}));
  PlannerComparison comparison;
  comparison.add(directory / "m.tflite",
                 TflmPlan{.plan = {{0, 256, 512, 0}, {{1, 0, 2}}}, .head = 768, .own_head = 768});
  EXPECT_EQ(comparison.expect_good(20), 1U);
}

}  // namespace
}  // namespace stowage
