// The loop nests of streamed plans, compiled: they make the calls of the plan's steps in their order.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "image_networks.h"
#include "long_tests.h"
#include "process.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::Random;

PlanOptions rings() {
  PlanOptions options;
  options.io = Io::rows;
  options.alignment = 1;
  options.stream.emplace();
  options.stream->layout = StreamLayout::ring;
  options.solve.time_limit = std::chrono::seconds(30);  // the examples take milliseconds
  return options;
}

bool has_loops(const Plan& plan) {
  return plan.streaming && plan.streaming->affine && plan.streaming->affine->is_followed;
}

/// By operator that runs in blocks: where they begin.
std::map<std::size_t, std::set<std::int64_t>> blocks_of(const Plan& plan) {
  std::map<std::size_t, std::set<std::int64_t>> blocks;
  for (const Step& step : plan.clocks[0].steps) {
    const auto* const run = std::get_if<Run>(&step);
    if (run != nullptr && run->block) blocks[run->path.back()].insert(run->block->begin);
  }
  return blocks;
}

/// One line for each step but those in which outputs leave: the operator and the number of its block, or "in" and
/// the tensor, and which row block of it.
std::string calls_of(const Plan& plan) {
  std::ostringstream calls;
  const auto blocks = blocks_of(plan);
  const auto block_of = [&](const std::optional<RowRange>& rows) {
    return rows ? rows->begin / plan.streaming->granule : 0;
  };
  for (const Step& step : plan.clocks[0].steps) {
    if (const auto* const run = std::get_if<Run>(&step)) {
      calls << run->path.back() << ' ';
      if (run->block) {
        const auto& begins = blocks.at(run->path.back());
        calls << std::distance(begins.begin(), begins.find(run->block->begin)) << ' ';
      }
      calls << block_of(run->rows) << '\n';
    } else if (const auto* const arrive = std::get_if<Arrive>(&step)) {
      calls << "in " << arrive->tensor << ' ' << block_of(arrive->rows) << '\n';
    }
  }
  return calls.str();
}

/// A function that runs a plan's loops with statements that print what they compute.
std::string function_of(const Plan& plan, std::size_t number) {
  std::ostringstream code;
  code << "static void loops" << number << "(void) {\n";
  const auto& operators = plan.streaming->affine->operators;
  std::set<std::size_t> in_blocks;  // blocks of an operator share a statement
  for (std::size_t s = 0; s < operators.size(); ++s) {
    const bool is_block = operators[s].block.has_value();
    if (is_block && !in_blocks.insert(*operators[s].op).second) continue;
    code << "#undef S" << s << "\n#define S" << s << (is_block ? "(b, i)" : "(i)") << " printf(\"";
    if (operators[s].op) code << *operators[s].op;
    if (operators[s].tensor) code << "in " << *operators[s].tensor;
    code << (is_block ? " %d %d\\n\", (int)(b), (int)(i))\n" : " %d\\n\", (int)(i))\n");
  }
  write_loops(plan, code);
  code << "}\n";
  return code.str();
}

/// What a C program prints.
std::string output_of(const std::string& program) {
  const testing::TemporaryDirectory folder;
  folder.write("loops.c", program);
  const auto compiled =
      testing::run_process("/usr/bin/cc", {"-std=c99", "-Wall", "-Werror", "loops.c", "-o", "loops"},
                           {.directory = folder.path()});
  EXPECT_EQ(compiled.status, 0) << compiled.errors;
  const auto result = testing::run_process((folder / "loops").string(), {});
  EXPECT_EQ(result.status, 0);
  return result.output;
}

/// Functions the generated code may call.
constexpr const char* preamble =
    "#include <stdio.h>\n"
    "#define min(a, b) ((a) < (b) ? (a) : (b))\n"
    "#define max(a, b) ((a) > (b) ? (a) : (b))\n"
    "#define floord(n, d) ((n) < 0 ? -((-(n) + (d)-1) / (d)) : (n) / (d))\n";

/// Functions of several plans, and what they are to print.
struct Nests {
  std::string functions{};
  std::string expected{};
  std::size_t count = 0;

  void add(const Plan& plan) {
    functions += function_of(plan, count++);
    expected += calls_of(plan);
  }

  [[nodiscard]] std::string printed() const {
    std::string program = preamble + functions + "int main(void) {\n";
    for (std::size_t i = 0; i < count; ++i) program += "  loops" + std::to_string(i) + "();\n";
    return output_of(program + "  return 0;\n}\n");
  }
};

TEST(Loops, MakeTheCallsOfThePlanInItsOrder) {
  Random random(21);
  const std::size_t wanted = testing::cases_of(testing::has_time() ? 300 : 200);
  Nests nests;
  for (int i = 0; nests.count < wanted && i < 3000; ++i) {
    const Network network = testing::random_images(random);
    PlanOptions options = rings();
    options.solve.time_limit = testing::time_of(std::chrono::milliseconds(200));
    options.stream->granule = testing::pick(random, 1, 3);
    const PlanResult result = make_plan(network.input, options);
    ASSERT_TRUE(result.faults.empty()) << i << ": " << result.faults[0].what;
    if (!has_loops(result.plan)) continue;
    nests.add(result.plan);
    if (i % 5 != 0) continue;
    const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
    ASSERT_FALSE(run.fault) << i << ": " << run.fault->what;
  }
  ASSERT_EQ(nests.count, wanted);
  EXPECT_EQ(nests.printed(), nests.expected);
}

TEST(Loops, OfRealNetworksMakeTheirCalls) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  Nests nests;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".tflite" && file.path().extension() != ".onnx") continue;
    if (testing::is_in_a_hurry() && file.file_size() > 1'000'000) continue;
    PlanOptions options = rings();
    options.solve.time_limit = std::chrono::milliseconds(testing::is_in_a_hurry() ? 1000 : 500);
    try {
      const Network network = read_network(file.path());
      const PlanResult result = make_plan(network.input, options);
      ASSERT_TRUE(result.faults.empty()) << file.path() << ": " << result.faults[0].what;
      if (has_loops(result.plan)) nests.add(result.plan);
    } catch (const UsageError&) {  // networks with state cannot be streamed
    }
  }
  EXPECT_GE(nests.count, testing::is_in_a_hurry() ? 5U : 10U);
  EXPECT_EQ(nests.printed(), nests.expected);
}

TEST(Loops, OfTheExampleAreThoseInTheDocuments) {
  PlanOptions options = rings();
  options.alignment = 16;
  const Input input = read_input(STOWAGE_EXAMPLES "/windows.json");
  const PlanResult result = make_plan(std::span(&input, 1), options);
  ASSERT_TRUE(has_loops(result.plan));
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  for (const TimedSteps& it : result.plan.streaming->affine->operators)
    times.emplace_back(it.scale, it.shift);
  EXPECT_EQ(times, (std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 0}, {1, 1}, {2, 3}, {2, 3}}));
  EXPECT_EQ(result.plan.streaming->affine->load, 160);
  std::ostringstream loops;
  write_loops(result.plan, loops);
  EXPECT_NE(
      loops.str().find("if (c0 >= 3 && (c0 + 1) % 2 == 0) {\n    S2((c0 - 3) / 2);\n    S3((c0 - 3) / 2);"),
      std::string::npos)
      << loops.str();
}

TEST(Loops, OfBlocksHaveTwoDimensions) {
  PlanOptions options = rings();
  options.alignment = 1;
  const Input input = read_input(STOWAGE_EXAMPLES "/heads.json");
  const PlanResult result = make_plan(std::span(&input, 1), options);
  ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
  ASSERT_TRUE(has_loops(result.plan));
  EXPECT_EQ(result.plan.streaming->affine->load, 292);
  std::ostringstream loops;
  write_loops(result.plan, loops);
  EXPECT_NE(loops.str().find("for (int c0 = 0; c0 <= 1; c0 += 1) {\n"
                             "  for (int c1 = 8; c1 <= 15; c1 += 1)\n    S1(c0, c1 - 8);\n"
                             "  for (int c1 = 16; c1 <= 23; c1 += 1)\n    S3(c0, c1 - 16);\n}"),
            std::string::npos)
      << loops.str();
  options.stream->blocks = StreamBlocks::none;
  EXPECT_EQ(make_plan(std::span(&input, 1), options).plan.streaming->affine->load, 320);
}

/// The size of a buffer is rounded up, the slot of a ring is not.
TEST(Loops, SayWhereRowsOfRingsLie) {
  PlanOptions options = rings();
  options.alignment = 64;
  const Input input = read_input(STOWAGE_EXAMPLES "/windows.json");
  const Plan plan = make_plan(std::span(&input, 1), options).plan;
  ASSERT_TRUE(has_loops(plan));
  std::ostringstream loops;
  write_loops(plan, loops);
  EXPECT_NE(loops.str().find("n = 3, g = 1, slot = 16 bytes"), std::string::npos) << loops.str();
  EXPECT_NE(loops.str().find("n = 1, g = 1, slot = 8 bytes"), std::string::npos) << loops.str();
}

TEST(Loops, ArePrintedOnlyOfAnAffineOrder) {
  PlanOptions options = rings();
  options.stream.reset();
  options.io = Io::arena;
  const Input input = read_input(STOWAGE_EXAMPLES "/windows.json");
  const PlanResult result = make_plan(std::span(&input, 1), options);
  std::ostringstream out;
  EXPECT_THROW(write_loops(result.plan, out), Error);
  EXPECT_EQ(out.str(), "");
}

TEST(Loops, TheCheckerComparesTheScheduleWithTheSteps) {
  const Input input = read_input(STOWAGE_EXAMPLES "/windows.json");
  Plan plan = make_plan(std::span(&input, 1), rings()).plan;
  ASSERT_TRUE(has_loops(plan));
  ASSERT_TRUE(check_plan(plan).empty());
  plan.streaming->affine->operators[2].shift += 1;
  const auto faults = check_plan(plan);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_NE(faults[0].what.find("affine schedule"), std::string::npos) << faults[0].what;
}

}  // namespace
}  // namespace stowage
