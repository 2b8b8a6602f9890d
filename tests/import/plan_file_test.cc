// Files of plans as other programs see them: nonsense is refused with its place, and a third party can read them.

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "export/plan_steps.h"
#include "process.h"
#include "step_loops.h"
#include "stowage/error.h"
#include "temporary.h"

namespace stowage {
namespace {

using nlohmann::json;
using testing::json_of;
using testing::plan_with;
using testing::Random;
using testing::steps_of_blocks;

/// A small plan with a repetition within another, row blocks, and a list of repeated differences.
json example() {
  Plan plan = plan_with(steps_of_blocks());
  plan.streaming.emplace();
  PlannedTensor tensor;
  tensor.tensor.name = "x";
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t r = 0; r < 8; ++r) {
      const Lifetime life{5 * r, 5 * r + 3};
      tensor.views.push_back({.buffer = plan.buffers.size(),
                              .life = {5 * r, 5 * r + 2},
                              .rows = RowRange{1, r, r + 1},
                              .block = RowRange{3, 4 * b, 4 * b + 4}});
      plan.buffers.push_back({.id = "x#" + std::to_string(b) + "[" + std::to_string(r) + "]",
                              .size = 16,
                              .alignment = 16,
                              .pieces = {{0, 16, life}}});
      plan.places.push_back({0, 16 * r});
    }
  }
  plan.tensors.push_back(std::move(tensor));
  return json::parse(json_of(plan));
}

json& first_with(json& list, const std::string& key) {
  for (json& entry : list) {
    if (entry.contains(key)) return entry;
  }
  throw std::runtime_error("no entry has " + key);
}

/// What a change makes of the example, and what the reader says of it.
struct Nonsense {
  std::function<void(json&)> change;
  std::string expected;
};

void expect_refused(const std::vector<Nonsense>& cases) {
  ASSERT_NO_THROW((void)parse_plan(example().dump()));
  for (const auto& [change, expected] : cases) {
    json document = example();
    change(document);
    try {
      (void)parse_plan(document.dump());
      ADD_FAILURE() << expected;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  }
}

json& outer_of(json& it) { return it["clocks"][0]["steps"][0]["repeat"]; }
json& inner_of(json& it) { return outer_of(it)["steps"][1]["repeat"]; }

TEST(PlanFile, NonsenseInRepetitionsIsRefusedWithItsPlace) {
  const std::string outer = "/clocks/0/steps/0/repeat";
  const std::string too_many = "lets the file stand for more than 1048576 steps, numbers and row blocks";
  expect_refused({
      {[](json& it) { outer_of(it)["advance"].push_back(1); },
       outer + "/advance: has 3 entries, expected one for each of 2"},
      {[](json& it) { outer_of(it)["advance"][1].erase(0); },
       outer + "/advance/1: has 1 entries, expected one for each of 2"},
      {[](json& it) { outer_of(it)["advance"][1] = 1; }, outer + "/advance/1: is '1', expected an array"},
      {[](json& it) {
         outer_of(it)["advance"][0] = {1, 2, 3};
       },
       outer + "/advance/0: is neither a number nor"},
      {[](json& it) {
         outer_of(it)["advance"][0] = {1, 2};
       },
       outer + "/advance/0: moves rows or a block that the step does not"},
      {[](json& it) { outer_of(it)["advance"][0] = -1000; },
       outer + "/advance/0: moves rows to where none are"},
      {[](json& it) { outer_of(it)["advance"][0] = std::int64_t{1} << 60; },
       outer + "/advance/0: moves rows to where none are"},
      {[](json& it) {
         inner_of(it)["advance"][1] = {0, -1};
       },
       outer + "/steps/1/repeat/advance/1: moves rows to where none are"},
      {[](json& it) { outer_of(it)["count"] = 1'000'000'000; }, outer + "/count: " + too_many},
      {[](json& it) { outer_of(it)["count"] = std::int64_t{1} << 60; }, outer + "/count: " + too_many},
      {[](json& it) {
         inner_of(it)["count"] = 300'000;
         outer_of(it)["count"] = 2;
       },
       outer + "/count: " + too_many},
      {[](json& it) { outer_of(it)["count"] = 0; }, outer + ": repeats nothing"},
      {[](json& it) {
         inner_of(it)["steps"] = json::array();
         inner_of(it)["advance"] = json::array();
       },
       outer + "/steps/1/repeat: repeats nothing"},
      {[](json& it) {
         for (int i = 0; i < 8; ++i) {
           const json inside = it["clocks"][0]["steps"][0];
           const json advance = inside["repeat"]["advance"];
           it["clocks"][0]["steps"][0] = {
               {"repeat",
                {{"count", 1}, {"steps", json::array({inside})}, {"advance", json::array({advance})}}}};
         }
       },
       "is within more than 7 repetitions"},
      {[](json& it) {  // as many steps as there may be, twice
         outer_of(it) = {
             {"count", 600'000}, {"steps", json::array({outer_of(it)["steps"][0]})}, {"advance", {0}}};
         it["clocks"][0]["steps"].push_back(it["clocks"][0]["steps"][0]);
       },
       too_many},
  });
}

TEST(PlanFile, NonsenseInRowBlocksIsRefusedWithItsPlace) {
  const auto blocks = [](json& it) -> json& { return first_with(it["buffers"], "blocks"); };
  const auto view = [](json& it) -> json& { return it["tensors"][0]["views"][0]; };
  const std::string too_many = "lets the file stand for more than 1048576 steps, numbers and row blocks";
  expect_refused({
      {[&](json& it) { blocks(it)["offsets"].push_back(0); }, "/offsets: has 9 numbers, expected 8"},
      {[&](json& it) {
         blocks(it)["offsets"] = {-1, {7, 1}};
       },
       "/offsets: has a number 0 that is not from 0"},
      {[&](json& it) {
         blocks(it)["offsets"] = {0, {7, std::int64_t{1} << 60}};
       },
       "/offsets: has a number 3 that is not from 0"},
      {[&](json& it) {
         blocks(it)["offsets"] = {0, {0, 7}};
       },
       "/offsets/1: repeats nothing"},
      {[&](json& it) {
         blocks(it)["offsets"] = {0, json::array({7})};
       },
       "/offsets/1: repeats nothing"},
      {[&](json& it) { blocks(it)["offsets"] = json::parse("[0,[1048577,0]]"); },
       "/offsets/1/0: " + too_many},
      {[&](json& it) { blocks(it)["offsets"] = json::parse("[0,[1000,[1000,[1000,0]]]]"); },
       "/offsets/1/0: " + too_many},
      {[&](json& it) { blocks(it)["offsets"] = json::parse("[[1,[1,[1,[1,[1,[1,[1,[1,[1,0]]]]]]]]]]"); },
       "is within more than 8 lists"},
      {[&](json& it) { blocks(it)["blocks"] = std::int64_t{1} << 60; }, "/blocks: " + too_many},
      {[&](json& it) { blocks(it)["first"] = 1000; }, "which does not exist"},
      {[&](json& it) { it["buffers"].push_back(blocks(it)); }, "which comes twice"},
      {[&](json& it) { view(it)["blocks"] = std::int64_t{1} << 60; }, "/views/0/blocks: " + too_many},
      {[&](json& it) { view(it)["buffer"] = json::array(); }, "/views/0/buffer: names no buffer"},
      {[&](json& it) { view(it).erase("block"); }, "/views/0: has no member 'block'"},
      {[&](json& it) { view(it)["lower"].push_back(1); }, "/views/0/lower: has 17 numbers, expected 16"},
      {[&](json& it) { view(it).erase("lower"); }, "/views/0: has no member 'lower'"},
      {[&](json& it) {
         view(it)["rows"] = {1, 0};
       },
       "/views/0/rows: does not begin a sequence of ranges"},
  });
}

/// What the lines of the document make of a plan: its steps, and the lists of a buffer.
constexpr const char* third_party = R"(
import copy, itertools, json, re, sys, textwrap
page = open(sys.argv[1]).read()
for block in re.findall(r"(?m)(?:^ {4,}.*\n|^\n)+", page):
    if block.strip().startswith("def"):
        exec(textwrap.dedent(block))
plan = json.load(open(sys.argv[2]))
rows = next(it for it in plan["buffers"] if "blocks" in it)
json.dump([list(expanded(plan["clocks"][0]["steps"]))] + [numbers(rows[key]) for key in ("offsets", "lower", "upper")],
          sys.stdout)
)";

TEST(PlanFile, TheLinesOfTheDocumentReadAPlan) {
  if (testing::run_process("/usr/bin/env", {"python3", "--version"}).status != 0)
    GTEST_SKIP() << "no python3";
  Random random(4);
  testing::TemporaryDirectory directory;
  for (int c = 0; c < 5; ++c) {
    json document = example();
    Plan plan = parse_plan(document.dump());
    for (const Step& step : testing::steps_of_loops(random)) plan.clocks[0].steps.push_back(step);
    std::ofstream(directory.path() / "plan.json") << json_of(plan);
    const auto read = testing::run_process(
        "/usr/bin/env", {"python3", "-c", third_party, STOWAGE_EXAMPLES "/../docs/plan-json.md",
                         (directory.path() / "plan.json").string()});
    ASSERT_EQ(read.status, 0) << read.errors;
    std::ostringstream steps;
    exporting::write_steps(plan.clocks[0], plan, false, steps);
    const json expected{json::parse(steps.str()),
                        {0, 16, 32, 48, 64, 80, 96, 112},
                        {0, 5, 10, 15, 20, 25, 30, 35},
                        {3, 8, 13, 18, 23, 28, 33, 38}};
    EXPECT_EQ(json::parse(read.output), expected);
  }
}

}  // namespace
}  // namespace stowage
