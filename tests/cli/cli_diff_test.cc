// Differences of plans whose models differ: operators are known by the names of what they compute.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "process.h"
#include "temporary.h"

namespace stowage {
namespace {

using Names = std::vector<std::string>;

/// A chain of operators, each of which computes the tensor of that name from the one before.
std::string chain(const Names& tensors) {
  std::string all;
  std::string operators;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    all += fmt::format(R"({}{{"name":"{}","bytes":64}})", i == 0 ? "" : ",", tensors[i]);
    if (i > 0)
      operators += fmt::format(R"({}{{"type":"Relu","inputs":["{}"],"outputs":["{}"]}})", i == 1 ? "" : ",",
                               tensors[i - 1], tensors[i]);
  }
  return fmt::format(
      R"({{"format":"stowage-graph","version":1,"tensors":[{}],"subgraphs":[{{"inputs":["{}"],"outputs":["{}"],)"
      R"("operators":[{}]}}]}})",
      all, tensors.front(), tensors.back(), operators);
}

nlohmann::json difference_of_chains(const Names& before, const Names& after, std::string* text = nullptr) {
  const testing::TemporaryDirectory directory;
  directory.write("before.json", chain(before));
  directory.write("after.json", chain(after));
  const Names arguments{"diff", "before.json", "after.json", "--order", "keep", "--alias", "none"};
  Names as_json = arguments;
  as_json.emplace_back("--json");
  if (text != nullptr) *text = testing::run_stowage(directory.path(), arguments).output;
  const testing::ProcessResult result = testing::run_stowage(directory.path(), as_json);
  EXPECT_EQ(result.status, 0) << result.errors;
  return nlohmann::json::parse(result.output);
}

TEST(CliDiff, AnOperatorInFrontDoesNotChangeTheOrderOfTheOthers) {
  std::string text;
  const auto difference = difference_of_chains({"x", "a", "b", "c"}, {"x", "new", "a", "b", "c"}, &text);
  EXPECT_TRUE(difference.at("first_other_step").is_null()) << text;
  EXPECT_EQ(difference.at("operators_came"), (Names{"new"}));
  EXPECT_EQ(difference.at("operators_went"), Names{});
  EXPECT_NE(text.find("the same, 1 operator came\n"), std::string::npos) << text;
}

/// Two plans of which one does not fit its memory are what a budget is about.
TEST(CliDiff, PlansThatDoNotFitAreCompared) {
  const testing::TemporaryDirectory directory;
  directory.write("net.json", chain({"x", "a", "b"}));
  const auto plan = [&](const std::string& file, const std::string& capacity) {
    return testing::run_stowage(directory.path(), {"plan", "net.json", "--capacity", capacity, "-o", file})
        .status;
  };
  EXPECT_EQ(plan("small.json", "16"), 1);
  EXPECT_EQ(plan("large.json", "4096"), 0);
  const testing::ProcessResult result =
      testing::run_stowage(directory.path(), {"diff", "small.json", "large.json"});
  EXPECT_EQ(result.status, 0) << result.output << result.errors;
}

TEST(CliDiff, EachMemoryHasItsPeakAndTraffic) {
  const testing::TemporaryDirectory directory;
  directory.write("net.json", chain({"x", "a", "b", "c"}));
  for (const std::string size : {"64", "256"}) {
    const testing::ProcessResult plan = testing::run_stowage(
        directory.path(),
        {"plan", "net.json", "--memory", "fast=" + size, "--memory", "slow", "-o", size + ".json"});
    ASSERT_EQ(plan.status, 0) << plan.errors;
  }
  const testing::ProcessResult result =
      testing::run_stowage(directory.path(), {"diff", "64.json", "256.json", "--json"});
  ASSERT_EQ(result.status, 0) << result.errors;
  const auto difference = nlohmann::json::parse(result.output);
  std::map<std::string, nlohmann::json> numbers;
  for (const nlohmann::json& it : difference.at("numbers")) numbers[it.at("name")] = it;
  EXPECT_LE(numbers.at("peak of fast").at("before"), 64);
  EXPECT_EQ(numbers.at("peak of slow").at("after"), 0) << "all of it is in the fast memory";
  EXPECT_GT(numbers.at("traffic of slow").at("before"), 0);
  EXPECT_EQ(numbers.at("traffic of slow").at("after"), 0);
  EXPECT_TRUE(numbers.contains("traffic cost"));
}

/// A comment in a review says first of what it is, and how it ends.
TEST(CliDiff, MarkdownBeginsWithFilesAndVerdict) {
  const testing::TemporaryDirectory directory;
  directory.write("before.json", chain({"x", "a"}));
  directory.write("after.json", chain({"x", "a", "b", "c"}));
  const auto diff = [&](const Names& more) {
    Names arguments{"diff", "before.json", "after.json", "--markdown", "--alias", "none", "--align", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return testing::run_stowage(directory.path(), arguments).output;
  };
  const std::string same = "Memory of `before.json`, then `after.json`\n\n**The peak is the same, 128 bytes";
  EXPECT_TRUE(diff({}).starts_with(same + ".**\n\n| | before | after |")) << diff({});
  EXPECT_TRUE(diff({"--max-growth", "1%"}).starts_with(same + ", within --max-growth 1%.**\n"));
  directory.write("after.json", chain({"x"}));
  EXPECT_NE(diff({}).find("**The peak shrank by 64 bytes (50.00 %).**"), std::string::npos) << diff({});
  directory.write("before.json", chain({"x"}));
  directory.write("after.json", chain({"x", "a"}));
  EXPECT_NE(diff({"--max-growth", "1.5%"})
                .find("**The peak grew by 64 bytes (100.00 %), over --max-growth 1.5%.**"),
            std::string::npos);
}

TEST(CliDiff, ThePageIsThatOfReport) {
  const testing::TemporaryDirectory directory;
  directory.write("before.json", chain({"x", "a"}));
  directory.write("after.json", chain({"x", "a", "b"}));
  for (const std::string name : {"before", "after"})
    EXPECT_EQ(
        testing::run_stowage(directory.path(), {"plan", name + ".json", "-o", name + "-plan.json"}).status,
        0);
  const Names files{"before-plan.json", "after-plan.json"};
  const auto result = testing::run_stowage(directory.path(), {"diff", files[0], files[1], "-o", "diff.html"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_NE(result.output.find("peak"), std::string::npos) << result.output;
  EXPECT_EQ(
      testing::run_stowage(directory.path(), {"report", files[0], files[1], "-o", "report.html"}).status, 0);
  EXPECT_EQ(directory.read("diff.html"), directory.read("report.html"));
  const auto on_top =
      testing::run_stowage(directory.path(), {"diff", "before.json", "after.json", "-o", "after.json"});
  EXPECT_EQ(on_top.status, 2);
  EXPECT_NE(on_top.errors.find("-o would overwrite the input"), std::string::npos) << on_top.errors;
}

TEST(CliDiff, OperatorsThatWentAreNamed) {
  std::string text;
  const auto difference = difference_of_chains({"x", "a", "b", "c"}, {"x", "a", "d", "c"}, &text);
  EXPECT_EQ(difference.at("operators_went"), (Names{"b"}));
  EXPECT_NE(text.find("the same, 1 operator came, 1 went\n"), std::string::npos) << text;
}

TEST(CliDiff, AnotherOrderOfTheSameOperatorsIsOne) {
  const auto difference = difference_of_chains({"x", "a", "b", "c"}, {"x", "b", "a", "c"});
  EXPECT_EQ(difference.at("first_other_step"), 0);
  EXPECT_EQ(difference.at("operators_came"), Names{});
}

TEST(CliDiff, EachLineHasANameOfItsOwn) {
  std::string text;
  (void)difference_of_chains({"x", "a", "b"}, {"x", "a", "b", "c"}, &text);
  const auto count = [&](const std::string& name) {
    std::size_t found = 0;
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
      found += at == 0 || text[at - 1] == '\n' ? 1U : 0U;
    return found;
  };
  EXPECT_EQ(count("number of buffers "), 1U) << text;
  EXPECT_EQ(count("buffers "), 1U) << text;
}

/// A plan of whole operators and one by rows: row blocks of a tensor are one line, not hundreds.
TEST(CliDiff, RowBlocksOfATensorAreOneEntry) {
  const testing::TemporaryDirectory directory;
  const Names planning{"plan", STOWAGE_EXAMPLES "/windows.json", "--align", "16"};
  const auto plan = [&](Names more, const std::string& file) {
    more.insert(more.begin(), planning.begin(), planning.end());
    more.insert(more.end(), {"-o", file});
    ASSERT_EQ(testing::run_stowage(directory.path(), more).status, 0);
  };
  plan({}, "whole.json");
  plan({"--stream", "--io", "rows", "--layout", "granules"}, "rows.json");
  const auto difference = [&](const std::string& form) {
    return testing::run_stowage(directory.path(), {"diff", "whole.json", "rows.json", form}).output;
  };
  const std::string text = difference("--max-growth=1%");
  EXPECT_NE(text.find("x  128 bytes as a whole -> 8 row blocks, 128 bytes\n"), std::string::npos) << text;
  EXPECT_NE(text.find("4 tensors in other row blocks\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("x[0]"), std::string::npos) << text;
  const std::string markdown = difference("--markdown");
  EXPECT_NE(markdown.find("| `x` | 128 bytes as a whole -> 8 row blocks, 128 bytes |"), std::string::npos)
      << markdown;
  const auto document = nlohmann::json::parse(difference("--json"));
  EXPECT_EQ(document.at("in_rows").size(), 4U);
  EXPECT_GT(document.at("buffers").size(), 8U);
}

}  // namespace
}  // namespace stowage
