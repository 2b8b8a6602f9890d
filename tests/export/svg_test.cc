// The picture of an arena: well-formed, complete for few buffers, small for many.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/random_problem.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

Plan plan_of(const Problem& problem, PlanOptions options = {}) {
  options.solve.strategy = "first-fit-by-start";
  return make_plan({{"list", "list.csv", ModelFormat::csv}, problem}, options).plan;
}

Plan plan_of(const std::string& csv, const PlanOptions& options = {}) {
  return plan_of(std::get<Problem>(parse_input(csv, "list.csv").content), options);
}

std::string drawn(const Plan& plan) {
  std::ostringstream out;
  write_svg(plan, out);
  return out.str();
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// What is not well-formed about tags and entities, as far as this picture uses them; empty if all is.
std::string malformed(std::string_view svg) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < svg.size(); ++at) {
    if (svg[at] == '&') {
      const std::size_t end = svg.find(';', at);
      if (end == std::string_view::npos || end - at > 5) return "entity at " + std::to_string(at);
    }
    if (svg[at] != '<') continue;
    const std::size_t end = svg.find('>', at);
    if (end == std::string_view::npos) return "open tag at " + std::to_string(at);
    const std::string_view tag = svg.substr(at + 1, end - at - 1);
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return "quotes at " + std::to_string(at);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected " + std::string(tag);
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.emplace_back(tag.substr(0, tag.find(' ')));
    }
    at = end;
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

constexpr std::string_view three = "id,lower,upper,size\na,0,2,64\nbee,1,3,32\nc,2,4,64\n";

TEST(Svg, EveryBufferIsARectangleWithItsName) {
  const std::string svg = drawn(plan_of(std::string(three)));
  EXPECT_EQ(malformed(svg), "");
  for (const char* const name : {"a", "bee", "c"}) {
    EXPECT_EQ(count(svg, std::string("class=\"label\">") + name + "<"), 1U) << name;
    EXPECT_EQ(count(svg, std::string("<title>") + name + ": "), 1U) << name;
  }
  EXPECT_EQ(count(svg, "<title>bee: 32 bytes at 64, alive [1, 3)</title>"), 1U);
}

TEST(Svg, MarksPeakLoadAndCapacity) {
  PlanOptions options;
  options.memories[0].capacity = 128;
  const std::string svg = drawn(plan_of(std::string(three), options));
  EXPECT_EQ(count(svg, ">peak 96 bytes<"), 1U);
  EXPECT_EQ(count(svg, ">max load 96 bytes<"), 1U);
  EXPECT_EQ(count(svg, ">capacity 128 bytes<"), 1U);
  EXPECT_EQ(count(drawn(plan_of(std::string(three))), ">capacity"), 0U);
}

TEST(Svg, ColoursByRisk) {
  // `c` lies above the max load of 3; `b` and `d` are beside it, `e` is beside `d` only, `f` alone.
  const std::string svg =
      drawn(plan_of("id,lower,upper,size,offset\nb,0,2,1,0\nc,1,3,2,2\nd,2,5,1,0\ne,3,6,1,1\nf,7,8,1,0\n"));
  EXPECT_EQ(count(svg, "class=\"r4\" x"), 2U);  // c and the legend
  EXPECT_EQ(count(svg, "class=\"r3\" x"), 3U);  // b, d and the legend
  EXPECT_EQ(count(svg, "class=\"r1\" x"), 2U);  // e and the legend
  EXPECT_EQ(count(svg, "class=\"r0\" x"), 2U);  // f and the legend
}

TEST(Svg, EveryPieceIsDrawnWhereItIs) {
  const std::string svg = drawn(plan_of("id,lower,upper,size,gaps\na,0,10,64,2-4@0:16 6-8\n"));
  EXPECT_EQ(malformed(svg), "");
  EXPECT_GE(count(svg, "<title>a: "), 3U);
}

TEST(Svg, NamesAreEscaped) {
  Problem problem{{{.id = "<b>&\"\n\"</b>", .size = 4, .pieces = {{0, 4, {0, 1}}}}}, {{.name = "<&>"}}};
  PlanOptions options;
  options.memories = problem.memories;
  const std::string svg = drawn(plan_of(problem, options));
  EXPECT_EQ(malformed(svg), "");
  EXPECT_EQ(count(svg, "&lt;b&gt;&amp;&quot; &quot;&lt;/b&gt;"), 2U);
  EXPECT_EQ(count(svg, "<b>"), 0U);
}

TEST(Svg, ManyBuffersMakeNoLargePicture) {
  const Problem problem = oracle::random_problem(
      3, {.buffers = 30'000, .positions = 20'000, .longest_life = 60, .largest_size = 4096});
  const std::string svg = drawn(plan_of(problem));
  EXPECT_EQ(malformed(svg), "");
  EXPECT_LT(svg.size(), 4'000'000U);
  EXPECT_GT(count(svg, " plain\""), 100U);  // merged ones
}

TEST(Svg, NothingIsAPictureToo) {
  EXPECT_EQ(malformed(drawn(plan_of("id,lower,upper,size\n"))), "");
  EXPECT_EQ(malformed(drawn(plan_of("id,lower,upper,size\na,0,0,0\nb,3,3,5\n"))), "");
}

TEST(Svg, LongNamesAreCutWhereLettersBegin) {
  std::string name;
  for (int i = 0; i < 300; ++i) name += "ä";
  const Problem problem{{{.id = name, .size = 4, .pieces = {{0, 4, {0, 1}}}}}, {{.name = "arena"}}};
  const std::string svg = drawn(plan_of(problem));
  const std::size_t label = svg.find("class=\"label\">…");
  ASSERT_NE(label, std::string::npos);
  EXPECT_EQ(svg.substr(label + std::string_view("class=\"label\">…").size(), 2), "ä");
}

TEST(Svg, APanelPerMemory) {
  PlanOptions options;
  options.memories = {{.name = "fast", .capacity = 64}, {.name = "slow"}};
  PlanOptions with_strategy = options;
  with_strategy.solve.strategy = "free-list";
  const Input input = parse_input(three, "list.csv");
  const std::string svg = drawn(make_plan(input, with_strategy).plan);
  EXPECT_EQ(malformed(svg), "");
  EXPECT_EQ(count(svg, "class=\"title\">fast: peak"), 1U);
  EXPECT_EQ(count(svg, "class=\"title\">slow: peak"), 1U);
}

}  // namespace
}  // namespace stowage
