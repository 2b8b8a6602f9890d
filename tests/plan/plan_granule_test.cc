// Memories that are handed out in granules: sizes and offsets of buffers are multiples of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "check_cases.h"
#include "image_networks.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::pick;
using testing::Random;

bool has_buffer_beside(const Plan& plan, Bytes granule) {
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].size % granule != 0 || plan.places[b].offset % granule != 0) return true;
  }
  return false;
}

TEST(PlanGranule, SizesAndOffsetsAreMultiples) {
  Random random(41);
  for (int i = 0; i < 60; ++i) {
    const Network network = testing::random_images(random);
    PlanOptions options;
    options.solve.time_limit = std::chrono::milliseconds(50);
    options.alignment = 16;
    const Bytes granule = i % 2 == 0 ? 96 : 40;
    options.memories = {{.name = "SRAM", .granule = granule}};
    if (i % 4 == 1)
      options.memories = {{.name = "SRAM", .capacity = 600},
                          {.name = "DRAM", .cost = 10, .granule = granule}};
    if (i % 4 >= 2) options.stream.emplace();
    if (i % 4 == 3) options.io = Io::rows;
    const PlanResult result = make_plan(network.input, options);
    ASSERT_TRUE(result.faults.empty()) << i << ": " << result.faults[0].what;
    EXPECT_FALSE(has_buffer_beside(result.plan, granule)) << i;
    EXPECT_FALSE(has_buffer_beside(result.plan, 16)) << i;
    EXPECT_EQ(result.plan.summary.peak % granule, 0) << i;
    std::ostringstream out;
    write_json(result.plan, out);
    Plan again = parse_plan(out.str());
    EXPECT_EQ(again.memories.back().memory.granule, granule);
    EXPECT_TRUE(check_plan(again).empty());
    again.memories.back().memory.granule = 7 * granule;
    const bool is_beside = has_buffer_beside(again, 7 * granule);
    if (options.memories.size() == 1) {
      EXPECT_EQ(cases::text_of(check_plan(again)).find("the granule of memory") != std::string::npos,
                is_beside)
          << i;
    }
    if (i % 10 != 0) continue;
    const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
    EXPECT_FALSE(run.fault) << run.fault->what;
  }
}

/// A granule counts as an alignment does.
TEST(PlanGranule, CountsInPeaks) {
  Random random(42);
  const Network network = testing::random_images(random);
  PlanOptions aligned;
  aligned.alignment = 256;
  PlanOptions in_granules;
  in_granules.alignment = 1;
  in_granules.memories[0].granule = 256;
  EXPECT_EQ(make_plan(network.input, aligned).plan.summary.peak,
            make_plan(network.input, in_granules).plan.summary.peak);
}

TEST(PlanGranule, RefusesWhatCannotBe) {
  Random random(43);
  const Network network = testing::random_images(random);
  PlanOptions options;
  options.memories[0].granule = 0;
  EXPECT_THROW((void)make_plan(network.input, options), UsageError);
  options.memories = {{.name = "a", .granule = (Bytes{1} << 40) + 1},
                      {.name = "b", .granule = Bytes{1} << 40}};
  EXPECT_THROW((void)make_plan(network.input, options), UsageError);
  Plan plan = make_plan(network.input).plan;
  plan.memories[0].memory.granule = 0;
  EXPECT_NE(cases::text_of(check_plan(plan)).find("granules of 0 bytes"), std::string::npos);
}

}  // namespace
}  // namespace stowage
