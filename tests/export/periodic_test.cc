// Plans whose files name periods and row blocks once: they come back as they were, and nonsense is refused.

#include "export/periodic.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "image_networks.h"
#include "long_tests.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using exporting::Repetition;
using nlohmann::json;
using testing::pick;
using testing::Random;

Run run_of(std::size_t op, std::optional<std::int64_t> row) {
  Run run{.model = 0, .path = {0, op}};
  if (row) run.rows = RowRange{1, *row, *row + 1};
  return run;
}

/// The steps that repetitions stand for.
std::vector<Step> expanded(std::span<const Step> steps, const std::vector<Repetition>& repetitions) {
  std::vector<Step> all;
  for (const Repetition& it : repetitions) {
    for (std::size_t time = 0; time < it.count; ++time) {
      for (std::size_t i = 0; i < it.period; ++i) {
        Step step = steps[it.first + i];
        const std::int64_t shift = static_cast<std::int64_t>(time) * it.advance[i];
        if (auto* const run = std::get_if<Run>(&step); run != nullptr && run->rows)
          run->rows = RowRange{run->rows->axis, run->rows->begin + shift, run->rows->end + shift};
        all.push_back(std::move(step));
      }
    }
  }
  return all;
}

TEST(Periodic, RepetitionsStandForAllSteps) {
  Random random(1);
  std::size_t saved = 0;
  for (int c = 0; c < 500; ++c) {
    std::vector<Step> steps;
    std::vector<std::int64_t> next(4, 0);
    for (std::int64_t part = pick(random, 1, 4); part > 0; --part) {
      const std::int64_t period = pick(random, 1, 4);
      const std::int64_t count = pick(random, 1, 6);
      for (std::int64_t i = 0; i < count * period; ++i) {
        const auto op = static_cast<std::size_t>(i % period);
        const bool has_rows = pick(random, 0, 20) != 0;
        steps.emplace_back(run_of(op, has_rows ? std::optional(next[op]++) : std::nullopt));
      }
    }
    const auto repetitions = exporting::repetitions_of(steps);
    EXPECT_EQ(expanded(steps, repetitions), steps) << c;
    std::size_t entries = 0;
    for (const Repetition& it : repetitions) entries += it.period;
    ASSERT_LE(entries, steps.size());
    saved += steps.size() - entries;
  }
  EXPECT_GT(saved, 1000U);
}

TEST(Periodic, ThePeriodThatSavesMostIsTaken) {
  std::vector<Step> steps;
  for (std::int64_t i = 0; i < 5; ++i) {
    steps.emplace_back(run_of(0, 2 * i));
    steps.emplace_back(run_of(0, 2 * i + 1));
    steps.emplace_back(run_of(1, i));
  }
  const auto repetitions = exporting::repetitions_of(steps);
  ASSERT_EQ(repetitions.size(), 1U);
  EXPECT_EQ(repetitions[0].period, 3U);
  EXPECT_EQ(repetitions[0].count, 5U);
  EXPECT_EQ(repetitions[0].advance, (std::vector<std::int64_t>{2, 2, 1}));
}

std::string json_of(const Plan& plan) {
  std::ostringstream out;
  write_json(plan, out);
  return out.str();
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
  EXPECT_GT(repeated, static_cast<int>(cases) / 4);
  EXPECT_GT(blocks, static_cast<int>(cases) / 10);
}

/// A small plan with a repetition and with row blocks.
json example() {
  const Input input = read_input(STOWAGE_EXAMPLES "/windows.json");
  PlanOptions options = rows_in(StreamLayout::granules);
  options.solve.time_limit = std::chrono::seconds(2);
  const Plan plan = make_plan(std::span(&input, 1), options).plan;
  return json::parse(json_of(plan));
}

json& first_with(json& list, const std::string& key) {
  for (json& entry : list) {
    if (entry.contains(key)) return entry;
  }
  throw std::runtime_error("no entry has " + key);
}

TEST(Periodic, NonsenseIsRefusedWithItsPlace) {
  const std::vector<std::pair<std::function<void(json&)>, std::string>> cases{
      {[](json& it) { first_with(it["clocks"][0]["steps"], "repeat")["repeat"]["advance"].push_back(1); },
       "/repeat/advance: does not have one number for each step"},
      {[](json& it) { first_with(it["clocks"][0]["steps"], "repeat")["repeat"]["advance"][0] = -1000; },
       "/repeat/advance/0: moves rows to where none are"},
      {[](json& it) { first_with(it["clocks"][0]["steps"], "repeat")["repeat"]["count"] = 1'000'000'000; },
       "/repeat/count: repeats more than 1048576 steps"},
      {[](json& it) { first_with(it["buffers"], "blocks")["offsets"].push_back(0); }, "/offsets: has"},
      {[](json& it) { first_with(it["buffers"], "blocks")["first"] = 1000; }, "which does not exist"},
      {[](json& it) { it["buffers"].push_back(first_with(it["buffers"], "blocks")); }, "which comes twice"},
  };
  ASSERT_NO_THROW((void)parse_plan(example().dump()));
  for (const auto& [change, expected] : cases) {
    json document = example();
    change(document);
    try {
      (void)parse_plan(document.dump());
      FAIL() << expected;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
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
    options.solve.time_limit = std::chrono::seconds(testing::is_in_a_hurry() ? 10 : 1);
    const Plan plan = make_plan(std::span(&input, 1), options).plan;
    if (!plan.streaming) continue;
    const std::string text = json_of(plan);
    EXPECT_LE(text.size(), 200'000U);
    EXPECT_EQ(parse_plan(text), plan);
  }
}

}  // namespace
}  // namespace stowage
