// `stowage sweep`, and plans with moves as their users meet them.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "cli/options.h"
#include "process.h"
#include "stowage/error.h"
#include "temporary.h"

namespace stowage {
namespace {

using nlohmann::json;
using testing::ProcessResult;
using testing::run_stowage;
using testing::TemporaryDirectory;

/// x is read by three operators, y is large in between; bytes.
std::string graph_text() {
  const auto tensor = [](const std::string& name, const std::string& kind, int bytes) {
    return json{{"name", name}, {"kind", kind}, {"dtype", "int8"}, {"shape", {bytes}}, {"bytes", bytes}};
  };
  const auto op = [](const std::string& name, const std::vector<std::string>& inputs,
                     const std::string& output) {
    return json{{"name", name}, {"type", "Pool"}, {"inputs", inputs}, {"outputs", {output}}};
  };
  json graph{{"format", "stowage-graph"}, {"version", 1}, {"name", "net"}};
  graph["tensors"] = {tensor("x", "input", 128),     tensor("y", "temporary", 512),
                      tensor("z", "temporary", 512), tensor("s", "temporary", 64),
                      tensor("u", "temporary", 64),  tensor("v", "temporary", 64),
                      tensor("out", "output", 64)};
  graph["subgraphs"] = {{{"name", "main"},
                         {"inputs", {"x"}},
                         {"outputs", {"out"}},
                         {"operators",
                          {op("a", {"x"}, "y"), op("b", {"y"}, "z"), op("c", {"z"}, "s"),
                           op("d", {"s", "x"}, "u"), op("e", {"u", "x"}, "v"), op("f", {"v", "x"}, "out")}}}};
  return graph.dump();
}

TEST(CliSweep, PrintsATableADocumentAndAPlot) {
  const TemporaryDirectory directory;
  directory.write("net.json", graph_text());
  const ProcessResult table = run_stowage(
      directory.path(), {"sweep", "net.json", "--memory", "SRAM=256..1KiB", "--moves", "-o", "sweep.svg"});
  EXPECT_EQ(table.status, 0) << table.errors;
  for (const char* const word : {"unavoidable", "free-list", "auto, moves", " 384 ", "1024 "})
    EXPECT_NE(table.output.find(word), std::string::npos) << word << " in\n" << table.output;
  std::ifstream file(directory / "sweep.svg");
  const std::string svg{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(svg.find("class=\"moves\""), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  const ProcessResult document = run_stowage(
      directory.path(),
      {"sweep", "net.json", "--memory", "SRAM=256..1KiB", "--memory", "DRAM", "--moves", "--json"});
  EXPECT_EQ(document.status, 0) << document.errors;
  const json sweep = json::parse(document.output);
  EXPECT_EQ(sweep.at("format"), "stowage-sweep");
  EXPECT_EQ(sweep.at("memory"), "SRAM");
  ASSERT_EQ(sweep.at("sizes").size(), 5U);
  for (const json& row : sweep.at("sizes")) {
    const json& best = row.at("plans").front();
    const json& moving = row.at("plans").back();
    EXPECT_EQ(best.at("strategy"), "auto");
    EXPECT_EQ(moving.at("moves"), true);
    EXPECT_LE(moving.at("slow_traffic"), best.at("slow_traffic"));
    EXPECT_LE(row.at("unavoidable"), moving.at("slow_traffic"));
  }
  // Where a, b and c need all of it x cannot stay, and d, e, f read it again.
  EXPECT_EQ(sweep.at("sizes").back().at("unavoidable"), 0);
  EXPECT_LT(sweep.at("sizes").back().at("plans").back().at("slow_traffic"),
            sweep.at("sizes").back().at("plans").front().at("slow_traffic"));
}

TEST(CliSweep, PlansSeveralSizesAtOnce) {
  const TemporaryDirectory directory;
  directory.write("net.json", graph_text());
  const auto swept = [&](const std::string& jobs) {
    return run_stowage(directory.path(), {"sweep", "net.json", "--memory", "SRAM=256..1KiB", "--effort",
                                          "100", "--threads", "1", "--jobs", jobs});
  };
  const ProcessResult one = swept("1");
  EXPECT_EQ(one.status, 0) << one.errors;
  EXPECT_EQ(swept("3").output, one.output);
  EXPECT_EQ(swept("0").status, 2);
}

TEST(CliSweep, SaysWhatIsWrong) {
  const TemporaryDirectory directory;
  directory.write("net.json", graph_text());
  directory.write("list.csv", "id,lower,upper,size\na,0,2,64\n");
  const auto expect_wrong = [&](std::vector<std::string> arguments, const std::string& words) {
    arguments.insert(arguments.begin(), "sweep");
    const ProcessResult result = run_stowage(directory.path(), arguments);
    EXPECT_EQ(result.status, 2) << result.errors;
    EXPECT_NE(result.errors.find(words), std::string::npos) << result.errors;
  };
  expect_wrong({"net.json"}, "--memory gives no range of sizes");
  expect_wrong({"net.json", "--memory", "A=64"}, "--memory gives no range of sizes");
  expect_wrong({"net.json", "--memory", "A=1..2", "--memory", "B=1..2"}, "for one memory");
  expect_wrong({"net.json", "--memory", "A=64..x"}, "expected a size");
  expect_wrong({"net.json", "--memory", "A=64..8"}, "A at most B");
  expect_wrong({"net.json", "--memory", "A=0..8"}, "at least 1");
  expect_wrong({"net.json", "--memory", "DRAM=1KiB", "--memory", "A=1..8"}, "expected a slower one");
  expect_wrong({"list.csv", "--memory", "A=1..8"}, "is a buffer list");
  expect_wrong({"net.json", "--memory", "A=1..8", "-o", "net.json"}, "would overwrite the input");
}

TEST(CliMoves, MakePlansThatVerify) {
  const TemporaryDirectory directory;
  directory.write("net.json", graph_text());
  const ProcessResult plan = run_stowage(directory.path(), {"plan", "net.json", "--memory", "SRAM=1KiB",
                                                            "--memory", "DRAM", "--moves", "-o", "p.json"});
  EXPECT_EQ(plan.status, 0) << plan.errors;
  EXPECT_NE(plan.output.find("moves        1"), std::string::npos) << plan.output;
  EXPECT_EQ(run_stowage(directory.path(), {"verify", "p.json", "--model", "net.json"}).status, 0);
  EXPECT_EQ(plan.output.find("none that gain"), std::string::npos) << plan.output;
  const ProcessResult none = run_stowage(
      directory.path(), {"plan", "net.json", "--memory", "SRAM=1MiB", "--memory", "DRAM", "--moves"});
  EXPECT_NE(none.output.find("moves: 0, none that gain were found"), std::string::npos) << none.output;
  EXPECT_TRUE(std::regex_search(none.output,
                                std::regex("memory +SRAM: peak \\d.*, capacity .*, traffic [1-9]\\d* bytes")))
      << none.output;
  const ProcessResult one = run_stowage(directory.path(), {"plan", "net.json", "--moves"});
  EXPECT_EQ(one.status, 2);
  EXPECT_NE(one.errors.find("expected several"), std::string::npos) << one.errors;
}

}  // namespace
}  // namespace stowage
