// `stowage compare`, and options that only some strategies know.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "process.h"
#include "stowage/problem.h"
#include "temporary.h"

namespace stowage {
namespace {

using nlohmann::json;
using testing::ProcessResult;
using testing::run_stowage;
using testing::TemporaryDirectory;

constexpr const char* list = "id,lower,upper,size\na,0,2,64\nb,1,3,32\nc,2,4,64\n";

json compared(const TemporaryDirectory& directory, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "compare");
  arguments.emplace_back("--json");
  const ProcessResult result = run_stowage(directory.path(), arguments);
  EXPECT_EQ(result.errors, "");
  return json::parse(result.output);
}

TEST(CliCompare, EveryStrategyHasARow) {
  const TemporaryDirectory directory;
  directory.write("f.csv", list);
  const json document = compared(directory, {"f.csv"});
  EXPECT_EQ(document.at("format"), "stowage-comparison");
  const auto infos = strategies();
  ASSERT_EQ(document.at("strategies").size(), infos.size());
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const json& row = document.at("strategies").at(i);
    EXPECT_EQ(row.at("strategy"), infos[i].name);
    EXPECT_EQ(row.at("applies"), infos[i].name != "levels");
    if (row.at("applies") == false) continue;
    EXPECT_GE(row.at("peak"), 96);
    EXPECT_EQ(row.at("lower_bound"), 96);
    EXPECT_EQ(row.at("fits"), true);
  }
  EXPECT_EQ(document.at("strategies").at(0).at("peak"), 96);
  const ProcessResult table = run_stowage(directory.path(), {"compare", "f.csv"});
  EXPECT_EQ(table.status, 0);
  for (const StrategyInfo& info : infos)
    EXPECT_NE(table.output.find(info.name), std::string::npos) << info.name;
}

TEST(CliCompare, SaysWhichDoNotApply) {
  const TemporaryDirectory directory;
  directory.write("pinned.csv", "id,lower,upper,size,offset\na,0,2,64,0\nb,1,3,32,\n");
  const json pinned = compared(directory, {"pinned.csv"});
  for (const json& row : pinned.at("strategies")) {
    const bool is_two_stack = row.at("strategy").get<std::string>().starts_with("two-stack");
    EXPECT_EQ(row.at("applies"), !is_two_stack && row.at("strategy") != "levels") << row;
    if (is_two_stack) {
      EXPECT_NE(row.at("obstacle").get<std::string>().find("pinned"), std::string::npos) << row;
    }
  }
  directory.write("f.csv", list);
  const json two = compared(directory, {"f.csv", "--memory", "fast=64", "--memory", "slow"});
  for (const json& row : two.at("strategies")) {
    const bool applies =
        row.at("strategy") == "free-list" || row.at("strategy") == "auto" || row.at("strategy") == "levels";
    EXPECT_EQ(row.at("applies"), applies) << row;
    if (applies) {
      EXPECT_EQ(row.at("memories").size(), 2U);
    }
  }
}

TEST(CliCompare, FailsWhenNothingFits) {
  const TemporaryDirectory directory;
  directory.write("f.csv", list);
  EXPECT_EQ(run_stowage(directory.path(), {"compare", "f.csv", "--capacity", "95"}).status, 1);
  EXPECT_EQ(run_stowage(directory.path(), {"compare", "f.csv", "--capacity", "96"}).status, 0);
}

TEST(CliCompare, WritesNoFilesAndKnowsNoStrategyOption) {
  const TemporaryDirectory directory;
  directory.write("f.csv", list);
  for (const char* const flag : {"-o", "--csv", "--svg", "--strategy"})
    EXPECT_EQ(run_stowage(directory.path(), {"compare", "f.csv", flag, "auto"}).status, 2) << flag;
  for (const char* const one : {"auto", "rectangle"})
    EXPECT_EQ(run_stowage(directory.path(), {"compare", "f.csv", "--strategy", one}).status, 2) << one;
}

TEST(CliCompare, TunesAStrategy) {
  const TemporaryDirectory directory;
  directory.write("f.csv", list);
  const auto rows_with = [&](const std::string& tuning) {
    const ProcessResult result = run_stowage(
        directory.path(), {"compare", "f.csv", "--json", "--strategy", tuning, "--effort", "100"});
    EXPECT_EQ(result.status, 0) << result.errors;
    return json::parse(result.output).at("strategies").size();
  };
  EXPECT_EQ(rows_with("rectangle:rounds=0"), rows_with("free-list:reuse-threshold=1KiB"));
}

TEST(CliTwoMemories, AreReportedEach) {
  const TemporaryDirectory directory;
  directory.write("f.csv", list);
  const ProcessResult result = run_stowage(
      directory.path(), {"plan", "f.csv", "--memory", "fast=64", "--memory", "slow", "-o", "plan.json"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const json plan = json::parse(directory.read("plan.json"));
  EXPECT_EQ(plan.at("memories").at(0).at("peak"), 64);
  EXPECT_EQ(plan.at("memories").at(0).at("cost"), 1);
  EXPECT_EQ(plan.at("memories").at(1).at("peak"), 32);
  EXPECT_EQ(plan.at("memories").at(1).at("cost"), 10);
  EXPECT_EQ(plan.at("summary").at("peak"), 96);
  EXPECT_EQ(plan.at("summary").at("strategy"), "free-list");
  EXPECT_EQ(run_stowage(directory.path(), {"verify", "plan.json", "--model", "f.csv"}).status, 0);
}

TEST(CliTwoMemories, SayWhichIsTooSmall) {
  const TemporaryDirectory directory;
  directory.write("f.csv", list);
  const ProcessResult result =
      run_stowage(directory.path(), {"plan", "f.csv", "--memory", "fast=40", "--memory", "slow=63"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.errors.find("'slow'"), std::string::npos) << result.errors;
}

TEST(CliSvg, IsWrittenBesideTheOthers) {
  const TemporaryDirectory directory;
  directory.write("f.csv", list);
  ASSERT_EQ(run_stowage(directory.path(), {"plan", "f.csv", "-o", "f.svg", "-o", "p.json"}).status, 0);
  EXPECT_TRUE(directory.read("f.svg").starts_with("<svg "));
  for (const char* const same : {"f.csv", "./p.json"})
    EXPECT_EQ(run_stowage(directory.path(), {"plan", "f.csv", "-o", same, "-o", "p.json"}).status, 2) << same;
}

}  // namespace
}  // namespace stowage
