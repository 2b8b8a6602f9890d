// Plans whose files name periods and row blocks once: they come back as they were.

#include "export/periodic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "image_networks.h"
#include "long_tests.h"
#include "step_loops.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using exporting::Repetition;
using nlohmann::json;
using testing::json_of;
using testing::pick;
using testing::plan_with;
using testing::Random;
using testing::run_of;
using testing::steps_of_blocks;

std::size_t written_in(const std::vector<Repetition>& all) {
  std::size_t count = 0;
  for (const Repetition& it : all) count += 1 + written_in(it.body);
  return count;
}

std::size_t depth_of(const std::vector<Repetition>& all) {
  std::size_t depth = 0;
  for (const Repetition& it : all) {
    if (it.count > 1) depth = std::max(depth, 1 + depth_of(it.body));
  }
  return depth;
}

TEST(Periodic, StepsOfNestedLoopsComeBackAsTheyWere) {
  Random random(1);
  std::size_t saved = 0;
  std::size_t nested = 0;
  for (int c = 0; c < 1000; ++c) {
    std::vector<Step> steps = testing::steps_of_loops(random);
    for (std::int64_t i = pick(random, 0, 2); i > 0 && steps.size() > 1; --i)  // loops have steps left out
      steps.erase(steps.begin() + pick(random, 0, static_cast<std::int64_t>(steps.size()) - 1));
    const auto repetitions = exporting::repetitions_of(exporting::items_of(steps));
    ASSERT_LE(written_in(repetitions), steps.size());
    saved += steps.size() - written_in(repetitions);
    nested += depth_of(repetitions) > 1 ? 1 : 0;
    const Plan plan = plan_with(std::move(steps));
    const std::string text = json_of(plan);
    ASSERT_EQ(parse_plan(text), plan) << text;
  }
  EXPECT_GT(saved, 10'000U);
  EXPECT_GT(nested, 50U);
}

TEST(Periodic, ThePeriodThatSavesMostIsTaken) {
  std::vector<Step> steps;
  for (std::int64_t i = 0; i < 5; ++i) {
    steps.emplace_back(run_of(0, 2 * i));
    steps.emplace_back(run_of(0, 2 * i + 1));
    steps.emplace_back(run_of(1, i));
  }
  const auto repetitions = exporting::repetitions_of(exporting::items_of(steps));
  ASSERT_EQ(repetitions.size(), 1U);
  EXPECT_EQ(repetitions[0].body.size(), 3U);
  EXPECT_EQ(repetitions[0].count, 5U);
  EXPECT_EQ(repetitions[0].advance, (std::vector<std::int64_t>{2, 2, 1}));
}

TEST(Periodic, ALoopWithinALoopIsWrittenAsOne) {
  const json document = json::parse(json_of(plan_with(steps_of_blocks())));
  const json& steps = document["clocks"][0]["steps"];
  ASSERT_EQ(steps.size(), 1U);
  const json& outer = steps[0]["repeat"];
  EXPECT_EQ(outer["count"], 4);
  EXPECT_EQ(outer["advance"], json::parse("[1,[1,2]]"));
  EXPECT_EQ(outer["steps"][1]["repeat"]["count"], 3);
  EXPECT_EQ(outer["steps"][1]["repeat"]["advance"], json::parse("[[0,4],[0,4]]"));
}

TEST(Periodic, AFileThatWouldStandForTooMuchIsWrittenStepByStep) {
  if (!testing::has_time()) GTEST_SKIP() << "takes seconds; STOWAGE_LONG=1 runs it";
  Plan plan = plan_with(std::vector<Step>((std::size_t{1} << 20) - 100, run_of(0, 3)));
  EXPECT_LT(json_of(plan).size(), 2000U);
  EXPECT_EQ(parse_plan(json_of(plan)), plan);
  plan.clocks.push_back({std::vector<Step>(200, run_of(1, 3))});
  const std::string text = json_of(plan);
  EXPECT_EQ(text.find("repeat"), std::string::npos);
  EXPECT_EQ(parse_plan(text), plan);
}

/// Row blocks and blocks of tensors in all forms, with lives that follow each other somehow.
class RowBlocks {
 public:
  explicit RowBlocks(Random& random) : random_(random) {}

  Plan plan() {
    plan_ = plan_with(testing::steps_of_loops(random_));
    plan_.streaming.emplace();
    if (pick(random_, 0, 1) != 0) plan_.streaming->affine.emplace();
    for (std::int64_t t = pick(random_, 1, 4); t > 0; --t) add_tensor(static_cast<std::size_t>(t));
    return std::move(plan_);
  }

 private:
  void add_tensor(std::size_t t) {
    PlannedTensor tensor;
    tensor.tensor.name = "t" + std::to_string(t);
    const std::int64_t blocks = pick(random_, 1, 4);
    const std::int64_t rows = pick(random_, 1, 8);
    const std::int64_t skipped = pick(random_, 0, 9);  // this row has another offset
    const bool is_ring = pick(random_, 0, 3) == 0;
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::optional<RowRange> block =
          blocks > 1 ? std::optional(RowRange{3, 5 * b, 5 * b + 5}) : std::nullopt;
      const std::string name = tensor.tensor.name + (block ? "#" + std::to_string(5 * b) : "");
      if (is_ring) {
        tensor.views.push_back({.buffer = add_buffer(name, rows), .ring = Ring{1, 1, rows}, .block = block});
        set_life(tensor.views.back());
      }
      for (std::int64_t r = 0; r < rows && !is_ring; ++r) {
        tensor.views.push_back({.buffer = add_buffer(name + "[" + std::to_string(r) + "]", 1),
                                .offset = r == skipped ? 8 : 0,
                                .rows = RowRange{1, r, r + 1},
                                .block = block});
        set_life(tensor.views.back());
      }
      if (plan_.streaming->affine)
        plan_.streaming->affine->operators.push_back({.op = t,
                                                      .count = 8,
                                                      .scale = 2,
                                                      .shift = pick(random_, -9, 9),
                                                      .position = pick(random_, 0, 9),
                                                      .block = block});
    }
    plan_.tensors.push_back(std::move(tensor));
  }

  std::size_t add_buffer(const std::string& id, std::int64_t pieces) {
    Buffer buffer{.id = id, .size = 16 * pieces, .alignment = 16};
    for (std::int64_t p = 0; p < pieces; ++p) {
      now_ += pick(random_, 0, 1) * 3;
      buffer.pieces.push_back({16 * p, 16, {now_, now_ + 7}});
    }
    plan_.buffers.push_back(std::move(buffer));
    plan_.places.push_back({0, 16 * pick(random_, 0, 20)});
    return plan_.buffers.size() - 1;
  }

  /// That of its buffer, or another one.
  void set_life(View& view) {
    const auto& pieces = plan_.buffers[view.buffer].pieces;
    view.life = {pieces.front().life.lower, pieces.back().life.upper};
    if (has_other_lives_) view.life.lower += 1;
    if (pick(random_, 0, 9) == 0) has_other_lives_ = !has_other_lives_;
  }

  Random& random_;
  Plan plan_{};
  Position now_ = 0;
  bool has_other_lives_ = false;
};

TEST(Periodic, RowBlocksAndBlocksComeBackAsTheyWere) {
  Random random(3);
  int several = 0;
  int without_lives = 0;
  for (int c = 0; c < 500; ++c) {
    const Plan plan = RowBlocks(random).plan();
    const std::string text = json_of(plan);
    ASSERT_EQ(parse_plan(text), plan) << text;
    const json document = json::parse(text);
    for (const json& tensor : document["tensors"]) {
      for (const json& view : tensor["views"]) {
        several += view["buffer"].is_array() ? 1 : 0;
        without_lives += view.contains("lower") ? 0 : 1;
      }
    }
  }
  EXPECT_GT(several, 200);
  EXPECT_GT(without_lives, 200);
}

PlanOptions rows_in(StreamLayout layout) {
  PlanOptions options;
  options.io = Io::rows;
  options.stream.emplace();
  options.stream->layout = layout;
  options.solve.time_limit = testing::time_of(std::chrono::milliseconds(50));
  return options;
}

TEST(Periodic, StreamedPlansComeBackAsTheyWere) {
  Random random(2);
  int repeated = 0;
  int blocks = 0;
  const std::uint64_t cases = testing::cases_of(200);
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Network network = testing::random_images(random);
    const Plan plan = make_plan(network.input, rows_in(static_cast<StreamLayout>(i % 3))).plan;
    const std::string text = json_of(plan);
    ASSERT_EQ(parse_plan(text), plan) << text;
    repeated += text.find("\"repeat\"") != std::string::npos ? 1 : 0;
    blocks += text.find("\"blocks\"") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(repeated, static_cast<int>(cases) / 10);
  EXPECT_GT(blocks, static_cast<int>(cases) / 40);
}

/// One entry for each step, buffer, piece and view, with its own numbers.
TEST(Periodic, AnExpandedPlanHasAnEntryForEach) {
  Random random(3);
  const std::uint64_t cases = testing::cases_of(100);
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Network network = testing::random_images(random);
    const Plan plan = make_plan(network.input, rows_in(static_cast<StreamLayout>(i % 3))).plan;
    std::ostringstream out;
    write_json(plan, out, PlanForm::expanded);
    ASSERT_EQ(parse_plan(out.str()), plan) << out.str();
    const json document = json::parse(out.str());
    ASSERT_EQ(document["clocks"][0]["steps"].size(), plan.clocks[0].steps.size());
    ASSERT_EQ(document["buffers"].size(), plan.buffers.size());
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
      const json& buffer = document["buffers"][b];
      EXPECT_EQ(buffer["offset"], plan.places[b].offset);
      ASSERT_EQ(buffer["pieces"].size(), plan.buffers[b].pieces.size());
    }
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
      ASSERT_EQ(document["tensors"][t]["views"].size(), plan.tensors[t].views.size());
      for (std::size_t v = 0; v < plan.tensors[t].views.size(); ++v)
        EXPECT_EQ(document["tensors"][t]["views"][v]["upper"], plan.tensors[t].views[v].life.upper);
    }
  }
}

TEST(Periodic, ALargePlanIsASmallFile) {
  const std::filesystem::path file =
      std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite" / "mobilenet_v2_int8_224.tflite";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  const Input input = read_network(file).input;
  for (const StreamLayout layout : {StreamLayout::ring, StreamLayout::granules}) {
    PlanOptions options = rows_in(layout);
    // With ten seconds there are blocks.
    options.solve.time_limit = std::chrono::seconds(testing::is_in_a_hurry() || testing::has_time() ? 10 : 1);
    const Plan plan = make_plan(std::span(&input, 1), options).plan;
    if (!plan.streaming) continue;
    const std::string text = json_of(plan);
    EXPECT_LE(text.size(), 200'000U);
    EXPECT_EQ(parse_plan(text), plan);
    std::set<std::size_t> seen;
    std::ptrdiff_t arrivals = 0;
    for (const StreamRegion& region : plan.streaming->regions) {
      arrivals += region.operators.empty() ? 1 : 0;
      for (const std::size_t op : region.operators) EXPECT_TRUE(seen.insert(op).second) << op;
    }
    EXPECT_LE(arrivals, 1);
  }
}

TEST(Periodic, TheSummaryShowsTheHighestRegionsInTheirOrder) {
  Plan plan = plan_with({});
  plan.streaming.emplace();
  plan.streaming->regions.push_back({{}, 700, 800});
  for (std::size_t op = 0; op < 12; ++op)
    plan.streaming->regions.push_back({{2 * op, 2 * op + op % 2}, static_cast<Bytes>(100 + op), 500});
  std::ostringstream out;
  write_summary(plan, out);
  const std::string text = out.str();
  const std::string shown =
      "\narrival of inputs                    700             800\n"
      "6 to 7                               103             500\n"
      "8                                    104             500\n";
  EXPECT_NE(text.find(shown), std::string::npos) << text;
  EXPECT_NE(text.find("\nand 3 others, at most                102\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace stowage
