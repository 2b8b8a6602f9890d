// `stowage report`, `plan --report` and `plan --budget` as their users meet them.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "onnx_models.h"
#include "process.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "stowage/report.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::ProcessResult;
using testing::run_stowage;
using testing::TemporaryDirectory;

constexpr int done = 0;
constexpr int not_met = 1;
constexpr int rejected = 3;
constexpr int wrong_usage = 2;
constexpr std::string_view list = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";  // peak 96

TEST(CliReport, WritesThePageBesideThePlan) {
  const TemporaryDirectory directory;
  directory.write("it's.csv", list);
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "it's.csv", "-o", "plan.html"}).status, done);
  const std::string page = directory.read("plan.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_NE(page.find(R"("command":"stowage plan 'it'\\''s.csv' -o plan.html")"), std::string::npos);
}

TEST(CliReport, ComparesTwoPlans) {
  const TemporaryDirectory directory;
  directory.write("list.csv", list);
  ASSERT_EQ(run_stowage(directory.path(), {"plan", "list.csv", "-o", "a.json"}).status, done);
  EXPECT_EQ(run_stowage(directory.path(), {"report", "a.json", "-o", "one.html"}).status, done);
  EXPECT_EQ(run_stowage(directory.path(), {"report", "a.json", "a.json", "-o", "two.html"}).status, done);
  EXPECT_NE(directory.read("two.html").find(R"("title":"a.json")"), std::string::npos);
  const auto status = [&](std::vector<std::string> arguments) {
    return run_stowage(directory.path(), arguments).status;
  };
  EXPECT_EQ(status({"report", "a.json", "a.json", "a.json", "-o", "three.html"}), wrong_usage);
  EXPECT_EQ(status({"report", "a.json"}), wrong_usage);
  EXPECT_EQ(status({"report", "a.json", "-o", "a.json"}), wrong_usage);
  EXPECT_EQ(status({"report", "a.json", "--dim", "n=1", "-o", "x.html"}), wrong_usage);
  EXPECT_EQ(status({"report", "a.json", "--model", "list.csv", "-o", "model.html"}), done);
  EXPECT_FALSE(std::filesystem::exists(directory / "x.html"));
}

/// The models of two plans are given for both at once, or one after the other.
TEST(CliReport, NamesTheOperatorsOfTwoPlans) {
  const TemporaryDirectory directory;
  const auto write_model = [&](const std::string& file, const std::string& type, std::int64_t size) {
    directory.write(file, testing::onnx_model({.nodes = {testing::node(type, {"x"}, {"y"})},
                                               .inputs = {testing::tensor_value("x", {size})},
                                               .outputs = {testing::untyped_value("y")}})
                              .SerializeAsString());
  };
  write_model("relu.onnx", "Relu", 64);
  write_model("tanh.onnx", "Tanh", 32);
  const auto run = [&](const std::vector<std::string>& arguments) {
    return run_stowage(directory.path(), arguments);
  };
  ASSERT_EQ(run({"plan", "relu.onnx", "-o", "a.json"}).status, done);
  ASSERT_EQ(run({"plan", "tanh.onnx", "-o", "b.json"}).status, done);
  const auto names = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> command{"report", "-o", "page.html"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ProcessResult result = run(command);
    EXPECT_EQ(result.status, done) << result.errors;
    const std::string page = directory.read("page.html");
    return std::pair(page.find("\"Relu\"") != std::string::npos, page.find("\"Tanh\"") != std::string::npos);
  };
  EXPECT_EQ(names({"a.json", "b.json"}), std::pair(false, false));
  EXPECT_EQ(names({"a.json", "b.json", "--model", "relu.onnx", "--model", "tanh.onnx"}),
            std::pair(true, true));
  EXPECT_EQ(names({"a.json", "a.json", "--model", "relu.onnx"}), std::pair(true, false));
  EXPECT_EQ(run({"report", "a.json", "b.json", "--model", "relu.onnx", "-o", "x.html"}).status, not_met);
}

TEST(CliReport, RefusesAFaultyPlan) {
  const TemporaryDirectory directory;
  directory.write("list.csv", list);
  ASSERT_EQ(run_stowage(directory.path(), {"plan", "list.csv", "-o", "a.json"}).status, done);
  std::string plan = directory.read("a.json");
  const std::string right = R"("peak":96)";
  plan.replace(plan.find(right), right.size(), R"("peak":97)");
  directory.write("a.json", plan);
  const ProcessResult result = run_stowage(directory.path(), {"report", "a.json", "-o", "a.html"});
  EXPECT_EQ(result.status, not_met);
  EXPECT_TRUE(result.output.starts_with("fault: ")) << result.output;
  EXPECT_FALSE(std::filesystem::exists(directory / "a.html"));
}

TEST(CliReport, ABudgetPrintsOneLineAndDecidesTheStatus) {
  const TemporaryDirectory directory;
  directory.write("list.csv", list);
  const ProcessResult within = run_stowage(directory.path(), {"plan", "list.csv", "--budget", "96"});
  EXPECT_EQ(within.status, done);
  EXPECT_EQ(within.output, "within budget: list needs 96 bytes of 96, 0 bytes left\n");
  const ProcessResult over =
      run_stowage(directory.path(), {"plan", "list.csv", "--budget", "90", "-o", "over.html"});
  EXPECT_EQ(over.status, not_met);
  EXPECT_EQ(over.output, "over budget: list needs 96 bytes of 90, 6 bytes too many\n");
  EXPECT_TRUE(std::filesystem::exists(directory / "over.html"));
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "list.csv", "--budget", "much"}).status, wrong_usage);
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "list.csv", "--budget", "1", "--json"}).status,
            wrong_usage);
}

TEST(CliReport, APlanNearAnEarlierOne) {
  const TemporaryDirectory directory;
  directory.write("list.csv", list);
  ASSERT_EQ(run_stowage(directory.path(), {"plan", "list.csv", "-o", "old.json"}).status, done);
  const ProcessResult near = run_stowage(directory.path(), {"plan", "list.csv", "--near", "old.json"});
  EXPECT_EQ(near.status, done);
  EXPECT_NE(near.output.find("buffers of the earlier plan"), std::string::npos) << near.output;
  const ProcessResult missing = run_stowage(directory.path(), {"plan", "list.csv", "--near", "list.csv"});
  EXPECT_EQ(missing.status, rejected);
  EXPECT_NE(missing.errors.find("list.csv"), std::string::npos) << missing.errors;
}

/// The JSON of a page.
nlohmann::json plan_in(const std::string& page) {
  const std::string_view element = R"(<script type="application/json" id="stowage-data">)";
  const std::size_t begin = page.find(element) + element.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script", begin) - begin))["plans"][0];
}

/// The plan that a command makes, as JSON.
nlohmann::json plan_by(const TemporaryDirectory& directory, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"-o", "other.json"});
  EXPECT_EQ(run_stowage(directory.path(), arguments).status, done) << ::testing::PrintToString(arguments);
  return nlohmann::json::parse(directory.read("other.json"));
}

std::int64_t peak_in(const nlohmann::json& plan) { return plan["summary"]["peak"].get<std::int64_t>(); }

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// Runs the command of each remedy: its peak is lower by what the page says. Returns how many there are.
std::size_t apply_remedies(const TemporaryDirectory& directory, const nlohmann::json& plan) {
  std::size_t applied = 0;
  for (const nlohmann::json& remedy : plan["remedies"]) {
    if (remedy["verdict"] != "found" || remedy["command"] == "") continue;
    std::vector<std::string> command = words_of(remedy["command"]);
    EXPECT_EQ(command[0], "stowage");
    command.erase(command.begin());
    EXPECT_EQ(peak_in(plan) - peak_in(plan_by(directory, command)), remedy["bytes"]) << remedy["command"];
    ++applied;
  }
  return applied;
}

/// Plans with the option of each point of a curve: its figure is that of the page.
void apply_curve(const TemporaryDirectory& directory, const nlohmann::json& curve,
                 const std::vector<std::string>& arguments) {
  const std::string what = curve["what"];
  const bool of_rows = what == "Peak against rows of a step";
  const bool of_memory = what == "Traffic of slower memories against size of fast";
  ASSERT_TRUE(of_rows || of_memory || what == "Peak against dimension N") << what;
  const std::string name = of_rows ? "" : of_memory ? "fast=" : "N=";
  for (const nlohmann::json& point : curve["points"]) {
    const std::string value = point["value"];
    const std::int64_t unit = value.ends_with("KiB") ? 1024 : 1;
    std::vector<std::string> changed = arguments;
    const auto option = std::ranges::find(changed, of_rows ? "--granule" : of_memory ? "--memory" : "--dim");
    ASSERT_NE(option, changed.end());
    *std::next(option) = name + std::to_string(unit * std::stoll(value));
    const nlohmann::json made = plan_by(directory, changed);
    const std::int64_t figure =
        of_memory ? made["memories"].back().value("traffic", std::int64_t{0}) : peak_in(made);
    EXPECT_EQ(figure, point["bytes"]) << what << ", " << value;
  }
}

/// [N, 8] through two operators; both results are added.
std::string network_with_a_dimension() {
  return testing::onnx_model(
             {.nodes = {testing::node("Relu", {"x"}, {"h"}), testing::node("Exp", {"h"}, {"i"}),
                        testing::node("Add", {"h", "i"}, {"y"})},
              .inputs = {testing::tensor_value("x", {"N", 8})},
              .outputs = {testing::tensor_value("y", {"N", 8})}})
      .SerializeAsString();
}

TEST(CliReport, OtherPlansHaveTheFiguresThatAreShown) {
  struct Case {
    std::string model;
    std::string options;
    std::size_t remedies;
    std::size_t curves;
  };
  const std::vector<Case> cases{
      {"branches.json", "", 3, 0},
      {"windows.json", "--align 1 --io external --order keep --capacity 1MiB", 2, 0},
      {"windows.json", "--align 1 --io external --stream --granule 2", 2, 1},
      {"windows.json", "--align 1 --memory fast=256 --memory slow", 0, 1},
      {"network.onnx", "--align 1 --io external --dim N=8", 2, 1},
  };
  const TemporaryDirectory directory;
  directory.write("network.onnx", network_with_a_dimension());
  for (const auto& [model, options, remedies, curves] : cases) {
    SCOPED_TRACE(options);
    const auto example = std::filesystem::path(STOWAGE_EXAMPLES) / model;
    const auto overwrite = std::filesystem::copy_options::overwrite_existing;
    if (std::filesystem::exists(example)) std::filesystem::copy_file(example, directory / model, overwrite);
    std::vector<std::string> arguments{"plan", model, "--time-limit", "20"};
    std::ranges::copy(words_of(options), std::back_inserter(arguments));
    std::vector<std::string> reporting = arguments;
    reporting.insert(reporting.end(), {"-o", "r.html", "--what-if"});
    ASSERT_EQ(run_stowage(directory.path(), reporting).status, done);
    const nlohmann::json plan = plan_in(directory.read("r.html"));
    EXPECT_EQ(apply_remedies(directory, plan), remedies);
    EXPECT_EQ(plan["curves"].size(), curves);
    for (const nlohmann::json& curve : plan["curves"]) apply_curve(directory, curve, arguments);
  }
}

TEST(CliReport, OtherPlansSayWhatTheyAreWithout) {
  const TemporaryDirectory directory;
  const std::string model = STOWAGE_EXAMPLES "/classifier.onnx";
  ASSERT_EQ(
      run_stowage(directory.path(), {"plan", model, "--effort", "1", "-o", "r.html", "--what-if"}).status,
      done);
  const nlohmann::json plan = plan_in(directory.read("r.html"));
  const auto rows = std::ranges::find_if(
      plan["remedies"], [](const auto& it) { return it["what"] == "Rows instead of whole tensors"; });
  ASSERT_NE(rows, plan["remedies"].end());
  const auto why = (*rows)["why"].get<std::string>();
  EXPECT_NE(why.find("Its search was cut short."), std::string::npos) << why;
  EXPECT_NE(why.find("It is without other axes: the effort ended"), std::string::npos) << why;
  const auto budget = run_stowage(
      directory.path(), {"plan", model, "--stream", "--layout", "ring", "--effort", "1", "--budget", "1MiB"});
  EXPECT_NE(budget.output.find("left, cut short, without rows"), std::string::npos) << budget.output;
  const auto run =
      run_stowage(directory.path(), {"run", model, "--stream", "--layout", "ring", "--effort", "1"});
  EXPECT_NE(run.output.find("without rows: the effort ended"), std::string::npos) << run.output;
}

TEST(CliReport, RemediesOfRowsAreTrue) {
  const Input input = read_input(std::filesystem::path(STOWAGE_EXAMPLES) / "windows.json");
  const auto planned = [&](std::optional<StreamOptions> stream) {
    PlanOptions options{.alignment = 1, .io = Io::external, .stream = std::move(stream)};
    options.solve.time_limit = std::chrono::seconds(20);
    return make_plan(input, options).plan;
  };
  const Plan plan = planned(StreamOptions{.recompute = 2, .recompute_from = 1});
  std::size_t applied = 0;
  for (const Remedy& remedy : remedies_of(plan)) {
    if (remedy.what == "Rows instead of whole tensors") {
      EXPECT_EQ(planned(std::nullopt).summary.peak - plan.streaming->load, remedy.bytes);
      ++applied;
    }
  }
  EXPECT_EQ(applied, 1U);
  // A plan with one row computed once, and what it says of more multiplies.
  Plan once = planned(StreamOptions{});
  once.streaming->curve = plan.streaming->curve;
  for (const Remedy& remedy : remedies_of(once)) {
    if (remedy.verdict != Remedy::Verdict::found) continue;
    EXPECT_EQ(once.summary.peak - planned(StreamOptions{.recompute = 2, .recompute_from = 1}).summary.peak,
              remedy.bytes);
  }
}

TEST(CliReport, WhatIfNeedsAReportAndAModel) {
  const TemporaryDirectory directory;
  directory.write("list.csv", list);
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "list.csv", "--what-if"}).status, wrong_usage);
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "list.csv", "--what-if", "-o", "r.html"}).status,
            wrong_usage);
  EXPECT_FALSE(std::filesystem::exists(directory / "r.html"));
}

TEST(CliReport, IsSmallForRealModels) {
  const std::filesystem::path models = std::filesystem::path(STOWAGE_DATA_DIR) / "models";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "no models in " << models;
  constexpr std::size_t most = 1'000'000;
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(models)) {
    const std::filesystem::path& file = entry.path();
    if (file.extension() != ".tflite" && file.extension() != ".onnx") continue;
    const Input input = read_input(file);
    PlanOptions options{.order = Order::keep};
    options.solve.strategy = "greedy-by-size";
    std::ostringstream out;
    write_report(std::vector<ReportedPlan>{{.plan = make_plan(input, options).plan,
                                            .graphs = {std::get<Graph>(input.content)}}},
                 {}, out);
    EXPECT_LT(out.str().size(), most) << file;
    ++seen;
  }
  EXPECT_GT(seen, 0U);
}

TEST(CliReport, SaysWhatMayHelpWhereAPlanNeedsTooMuch) {
  const auto plan = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"plan", "classifier.onnx"});
    return run_stowage(STOWAGE_EXAMPLES, arguments);
  };
  const std::string rows = "bytes less: stowage plan classifier.onnx";
  const std::string whole =
      "may help: Rows instead of whole tensors, 61";  // and 4 digits that depend on the time
  const ProcessResult over = plan({"--budget", "64KiB"});
  EXPECT_EQ(over.status, not_met);
  EXPECT_NE(over.errors.find(rows + " --budget 64KiB --stream\n"), std::string::npos) << over.errors;
  EXPECT_NE(over.errors.find(whole), std::string::npos) << over.errors;
  EXPECT_EQ(std::ranges::count(over.errors, '\n'), 3) << over.errors;
  const ProcessResult by_rows = plan({"--budget", "80KiB"});  // more than a busy machine finds in a second
  EXPECT_NE(by_rows.errors.find("may help: Rows, also of inputs and outputs, 6"), std::string::npos)
      << by_rows.errors;
  EXPECT_NE(by_rows.errors.find("bytes less, so it fits: stowage plan classifier.onnx --budget 80KiB "
                                "--stream --io rows"),
            std::string::npos)
      << by_rows.errors;
  const ProcessResult missed = plan({"--capacity", "64KiB"});
  EXPECT_EQ(missed.status, not_met);
  EXPECT_NE(missed.errors.find(rows + " --capacity 64KiB --stream"), std::string::npos) << missed.errors;
  EXPECT_EQ(plan({"--capacity", "1MiB"}).errors.find("may help"), std::string::npos);
}

constexpr std::string_view grown = "id,lower,upper,size\nb,1,3,32\na,0,2,96\nc,2,4,32\n";  // peak 128

TEST(CliDiff, ShowsWhatChanged) {
  const TemporaryDirectory directory;
  directory.write("a.csv", list);
  directory.write("b.csv", grown);
  ASSERT_EQ(run_stowage(directory.path(), {"plan", "a.csv", "-o", "a.json"}).status, done);
  const auto diff = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "diff");
    return run_stowage(directory.path(), arguments);
  };
  const ProcessResult text = diff({"a.json", "b.csv"});
  EXPECT_EQ(text.status, done);
  EXPECT_NE(text.output.find("96 -> 128  +32, +33.33 %"), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("1 came, 0 went, 1 of another size"), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("a  64 bytes at 0 of arena -> 96 bytes at 0 of arena"), std::string::npos)
      << text.output;
  EXPECT_NE(diff({"a.json", "b.csv", "--markdown"}).output.find("| **peak** | 96 | 128 | +32, +33.33 % |"),
            std::string::npos);
  const auto json = nlohmann::json::parse(diff({"a.json", "b.csv", "--json"}).output);
  EXPECT_EQ(json["numbers"][0], (nlohmann::json{{"name", "peak"}, {"before", 96}, {"after", 128}}));
  EXPECT_EQ(json["buffers"].back()["before"], nullptr);
  EXPECT_EQ(json["buffers"].back()["id"], "c");
  EXPECT_EQ(diff({"a.json", "b.csv", "--max-growth", "34%"}).status, done);
  EXPECT_EQ(diff({"a.json", "b.csv", "--max-growth", "33%"}).status, not_met);
  EXPECT_EQ(diff({"b.csv", "a.json", "--max-growth", "0%"}).status, done);
  EXPECT_NE(diff({"a.json", "a.csv"}).output.find("0 came, 0 went, 0 of another size, 0 only moved"),
            std::string::npos);
  EXPECT_EQ(diff({"a.json", "b.csv", "--max-growth", "33"}).status, wrong_usage);
  EXPECT_EQ(diff({"a.json", "b.csv", "--json", "--markdown"}).status, wrong_usage);
  EXPECT_EQ(diff({"a.json", "c.csv"}).status, rejected);
}

TEST(CliDiff, SaysFromWhichStepOnTheOrderDiffers) {
  const TemporaryDirectory directory;
  directory.write("net.json", R"({"format": "stowage-graph", "version": 1, "name": "net", "tensors": [
    {"name": "x", "kind": "input", "bytes": 8}, {"name": "p", "bytes": 64}, {"name": "q", "bytes": 8},
    {"name": "r", "bytes": 64}, {"name": "s", "bytes": 8}, {"name": "o", "kind": "output", "bytes": 8}],
    "subgraphs": [{"name": "main", "inputs": ["x"], "outputs": ["o"], "operators": [
    {"name": "a", "type": "F", "inputs": ["x"], "outputs": ["p"]},
    {"name": "c", "type": "F", "inputs": ["x"], "outputs": ["r"]},
    {"name": "b", "type": "G", "inputs": ["p"], "outputs": ["q"]},
    {"name": "d", "type": "G", "inputs": ["r"], "outputs": ["s"]},
    {"name": "e", "type": "H", "inputs": ["q", "s"], "outputs": ["o"]}]}], "state": []})");
  ASSERT_EQ(run_stowage(directory.path(),
                        {"plan", "net.json", "--order", "keep", "--align", "1", "-o", "keep.json"})
                .status,
            done);
  const auto order_beside = [&](const std::string& order) {
    const std::string text =
        run_stowage(directory.path(), {"diff", "keep.json", "net.json", "--order", order, "--align", "1"})
            .output;
    return text.substr(text.rfind("order"));
  };
  EXPECT_NE(order_beside("keep").find("the same"), std::string::npos);
  EXPECT_NE(order_beside("search").find("differs from step 1 on"), std::string::npos);
}

}  // namespace
}  // namespace stowage
