// The oracle for plans in files: TensorFlow Lite Micro itself, unmodified. What it computes with a plan is
// what it computes without, also in the smallest arena that it starts in. Its arena is what the simulation
// says, byte for byte, and never larger with a plan. Needs the Python environment of scripts/oracles.sh;
// without it these tests skip.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
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
  /// Plans a model for the Python package, and notes what is expected of it. Of every other one the file is
  /// stripped.
  void add(const std::filesystem::path& model) {
    const base::InputFile file(model);
    const KernelRequests requests = kernel_requests(file.bytes(), tflm_python);
    ASSERT_TRUE(requests.unknown.empty()) << model;
    ImportOptions options;
    options.scratch = requests.scratch;
    const Input input = read_input(model, options);
    PlanOptions for_tflm;
    for_tflm.target = Target::tflm;
    for_tflm.solve.time_limit = std::chrono::duration<double>(0.3);
    const PlanResult result = make_plan(input, for_tflm);
    ASSERT_TRUE(result.faults.empty());
    const Graph& graph = std::get<Graph>(input.content);
    add(model, no_larger(file.bytes(), graph, plan_for_tflm(graph, result.plan, 0, requests), tflm_python));
  }

  void add(const std::filesystem::path& model, const TflmPlan& plan) {
    const std::string name = std::to_string(files_.size()) + ".tflite";
    const base::InputFile file(model);
    std::string planned = with_offline_plan(file.bytes(), plan.plan);
    if (files_.size() % 2 == 1) planned = without_unread_parts(planned);
    directory_.write(name, planned);
    files_.push_back(model.string() + "=" + (directory_ / name).string());
    const auto arena = [&](std::string_view content, Bytes head) {
      return tflm_arena({{content, head, kernel_requests(content, tflm_python).scratch.size()}}, tflm_python);
    };
    expected_.push_back(
        {arena(file.bytes(), plan.own_head), arena(planned, plan.head), !plan.plan.orders.empty()});
  }

  /// What the runtime measured.
  struct Found {
    std::size_t good = 0;  ///< Models that the runtime can run.
    std::size_t reordered = 0;
    std::size_t smaller = 0;              ///< Of these, models whose arena is smaller with a plan.
    std::vector<std::string> constant{};  ///< Models whose outputs do not depend on their inputs.
    std::map<std::string, std::pair<Bytes, Bytes>> heads{};
  };

  /// Runs all models with and without their plans, some at a time.
  [[nodiscard]] Found expect_good(int runs) const {
    constexpr std::size_t at_once = 50;
    Found found;
    for (std::size_t begin = 0; begin < files_.size(); begin += at_once)
      expect_good(runs, begin, std::min(files_.size(), begin + at_once), found);
    return found;
  }

 private:
  void expect_good(int runs, std::size_t begin, std::size_t end, Found& found) const {
    std::vector<std::string> arguments{"-B", std::string(STOWAGE_ORACLE) + "/tflm_arena.py",
                                       std::to_string(runs)};
    for (std::size_t i = begin; i < end; ++i) arguments.push_back(files_[i]);
    const auto result = run_process(python.string(), arguments);
    EXPECT_EQ(result.status, 0) << result.errors;
    std::istringstream lines(result.output);
    std::string line;
    for (std::size_t i = begin; std::getline(lines, line); ++i) {
      const json it = json::parse(line);
      if (it.contains("error")) continue;
      SCOPED_TRACE(line);
      const auto& [before, after, is_reordered] = expected_.at(i);
      ++found.good;
      found.reordered += is_reordered ? 1 : 0;
      found.smaller += it["after"]["smallest"] < it["before"]["smallest"] ? 1 : 0;
      if (!it["varies"]) found.constant.push_back(it["model"]);
      EXPECT_TRUE(it["equal"]);
      EXPECT_LE(it["after"]["total"], it["before"]["total"]);
      expect_measured(it["before"], before);
      expect_measured(it["after"], after);
      found.heads[it["model"]] = {it["before"]["head"], it["after"]["head"]};
    }
  }

  struct Expected {
    TflmArena before{};
    TflmArena after{};
    bool is_reordered = false;
  };

  static void expect_measured(const json& measured, const TflmArena& expected) {
    EXPECT_EQ(measured["head"], expected.head);
    EXPECT_EQ(measured["tail"], expected.tail);
    EXPECT_EQ(measured["total"], expected.head + expected.tail);
    // An arena of this size is enough. The runtime starts in less if pieces of the tail may overwrite
    // descriptions that a kernel still looks at: it does not notice.
    EXPECT_LE(measured["smallest"], expected.size);
    EXPECT_GE(measured["smallest"], expected.size - 64);
  }

  TemporaryDirectory directory_;
  std::vector<std::string> files_;  // pairs of a model and its planned file
  std::vector<Expected> expected_;
};

const std::vector<std::string> none{};

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
  const auto found = quick.expect_good(20);
  EXPECT_EQ(found.good, 11U);  // one has weights that the runtime does not take
  // Of scrambled weights. What of it varies is tested below.
  EXPECT_EQ(found.constant, (std::vector<std::string>{"keyword_scrambled_8bit"}));
  EXPECT_EQ(found.heads.at("vww_96_int8"), (std::pair<Bytes, Bytes>{73728, 55296}));
  EXPECT_EQ(found.heads.at("vww_96_float"), (std::pair<Bytes, Bytes>{294912, 221184}));
  const auto slow_found = slow.expect_good(testing::has_time() ? 20 : 3);
  EXPECT_EQ(slow_found.good, 3U);
  EXPECT_EQ(slow_found.constant, (std::vector<std::string>{"mcunetv2_large"}));
}

TEST(TflmRuntimeData, RunsWhatVariesOfModelsWithOneAnswer) {
  const auto folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite";
  if (!std::filesystem::exists(python) || !std::filesystem::exists(folder)) GTEST_SKIP() << "no " << python;
  const TemporaryDirectory directory;
  PlannerComparison comparison;
  for (const char* const name : {"keyword_scrambled_8bit.tflite", "mcunetv2_large.tflite"}) {
    const auto made =
        run_process(python.string(), {"-B", std::string(STOWAGE_ORACLE) + "/tflm_cut.py",
                                      (folder / name).string(), (directory.path() / name).string()});
    ASSERT_EQ(made.status, 0) << made.errors;
    comparison.add(directory.path() / name);
  }
  const auto found = comparison.expect_good(3);
  EXPECT_EQ(found.good, 2U);
  EXPECT_EQ(found.constant, none);
}

TEST(TflmRuntimeData, RunsSmallModelsInPlans) {
  const auto models = models_in(std::filesystem::path(STOWAGE_ORACLE_DATA) / "tflite");
  if (!std::filesystem::exists(python) || models.empty()) GTEST_SKIP() << "no " << python << " or no models";
  // Nothing at all is equal to noise, and what is far beyond a limit stays there: these show nothing.
  const std::set<std::string> of_one_answer{"small_equal_1",     "small_equal_3", "small_not_equal_1",
                                            "small_not_equal_3", "small_relu_3",  "small_logistic_3",
                                            "small_zeros_like_1"};
  PlannerComparison comparison;
  const std::size_t step = testing::is_in_a_hurry() ? 40 : testing::has_time() ? 1 : 7;
  for (std::size_t i = 0; i < models.size(); i += step) {
    if (!of_one_answer.contains(models[i].stem().string())) comparison.add(models[i]);
  }
  const auto found = comparison.expect_good(3);
  EXPECT_GT(found.good, models.size() / step * 8 / 10);
  EXPECT_EQ(found.constant, none);
}

TEST(TflmRuntime, RunsRandomGraphsInPlans) {
  if (!std::filesystem::exists(python)) GTEST_SKIP() << "no " << python;
  const TemporaryDirectory directory;
  const std::size_t count = testing::is_in_a_hurry() ? 10 : testing::has_time() ? 500 : 30;
  const std::size_t drawn = count + count / 50;  // a few give one answer to everything, and do not count
  const auto made = run_process(python.string(), {"-B", std::string(STOWAGE_ORACLE) + "/tflm_graphs.py",
                                                  directory.path().string(), std::to_string(drawn)});
  ASSERT_EQ(made.status, 0) << made.errors;
  PlannerComparison comparison;
  for (const auto& model : models_in(directory.path())) comparison.add(model);
  const auto found = comparison.expect_good(8);
  EXPECT_EQ(found.good, drawn);
  EXPECT_GE(found.good - found.constant.size(), count);
  EXPECT_GT(found.reordered, 0U);
  EXPECT_GT(found.smaller, 0U);
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
  EXPECT_EQ(comparison.expect_good(20).good, 2U);
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
  EXPECT_EQ(comparison.expect_good(20).good, 1U);
}

}  // namespace
}  // namespace stowage
