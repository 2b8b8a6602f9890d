// `stowage report`, `plan --report` and `plan --budget` as their users meet them.

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

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
constexpr int wrong_usage = 2;
constexpr std::string_view list = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";  // peak 96

TEST(CliReport, WritesThePageBesideThePlan) {
  const TemporaryDirectory directory;
  directory.write("it's.csv", list);
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "it's.csv", "--report", "plan.html"}).status, done);
  const std::string page = directory.read("plan.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_NE(page.find(R"("command":"stowage plan 'it'\\''s.csv' --report plan.html")"), std::string::npos);
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
  EXPECT_EQ(status({"report", "a.json", "a.json", "--model", "list.csv", "-o", "x.html"}), wrong_usage);
  EXPECT_EQ(status({"report", "a.json", "--dim", "n=1", "-o", "x.html"}), wrong_usage);
  EXPECT_EQ(status({"report", "a.json", "--model", "list.csv", "-o", "model.html"}), done);
  EXPECT_FALSE(std::filesystem::exists(directory / "x.html"));
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
      run_stowage(directory.path(), {"plan", "list.csv", "--budget", "90", "--report", "over.html"});
  EXPECT_EQ(over.status, not_met);
  EXPECT_EQ(over.output, "over budget: list needs 96 bytes of 90, 6 bytes too many\n");
  EXPECT_TRUE(std::filesystem::exists(directory / "over.html"));
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "list.csv", "--budget", "much"}).status, wrong_usage);
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "list.csv", "--budget", "1", "--json"}).status,
            wrong_usage);
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

}  // namespace
}  // namespace stowage
