// Lists whose buffers move into the plan: the plan is that of a list that stays, and the checker still sees
// what was changed.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "check/imprint.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

Input small_list() {
  return parse_input(
      "id,lower,upper,size,alignment,offset,gaps\n"
      "a,0,4,64,1,,1-2@0:16\nb,1,3,32,16,,\nc,2,5,48,1,128,\nd,4,6,80,1,,\n",
      "list.csv");
}

PlanResult without_seconds(PlanResult result) {
  result.plan.summary.seconds = 0;
  return result;
}

TEST(ListPlan, BuffersMayMoveIntoThePlan) {
  for (const Bytes alignment : {1, 8}) {
    PlanOptions options;
    options.alignment = alignment;
    options.solve.effort = 50;
    const Input kept = small_list();
    Input moved = small_list();
    const PlanResult first = without_seconds(make_plan(kept, options));
    const PlanResult second = without_seconds(make_plan(std::move(moved), options));
    EXPECT_EQ(first.plan, second.plan);
    EXPECT_TRUE(first.faults.empty());
    EXPECT_TRUE(second.faults.empty());
    EXPECT_EQ(std::get<Problem>(kept.content).buffers.size(), 4U);
    EXPECT_TRUE(std::get<Problem>(moved.content).buffers.empty());  // NOLINT: that is what is tested
  }
}

TEST(ListPlan, ALargerMemoryIsFoundForAListThatHasMoved) {
  PlanOptions options;
  options.solve.effort = 50;
  options.memories[0].capacity = 100;
  const PlanResult kept = make_plan(small_list(), options);
  const Input input = small_list();
  const PlanResult moved = make_plan(input, options);
  ASSERT_TRUE(kept.enough && moved.enough);
  EXPECT_EQ(kept.outcome, Outcome::exceeds_capacity);
  EXPECT_EQ(*kept.enough, *moved.enough);
  EXPECT_TRUE(kept.faults.empty());
}

TEST(ListPlan, TheImprintOfAListShowsAnyChange) {
  const std::vector<Buffer> list = std::get<Problem>(small_list().content).buffers;
  const std::vector<std::function<void(std::vector<Buffer>&)>> changes{
      [](auto& it) { it[0].id = "e"; },
      [](auto& it) { it[1].size = 33; },
      [](auto& it) { it[1].alignment = 8; },
      [](auto& it) { it[2].pinned.reset(); },
      [](auto& it) { it[2].pinned = 144; },
      [](auto& it) { it[3].memories = {0}; },
      [](auto& it) { it[0].pieces.pop_back(); },
      [](auto& it) { it[0].pieces[1].offset = 1; },
      [](auto& it) { it[3].pieces[0].size = 79; },
      [](auto& it) { it[3].pieces[0].life.lower = 3; },
      [](auto& it) { it[3].pieces[0].life.upper = 7; },
      [](auto& it) { std::swap(it[1], it[3]); },
      [](auto& it) { it.pop_back(); },
  };
  EXPECT_EQ(check::imprint_of(list), check::imprint_of(std::vector<Buffer>(list)));
  for (std::size_t c = 0; c < changes.size(); ++c) {
    std::vector<Buffer> changed = list;
    changes[c](changed);
    EXPECT_NE(check::imprint_of(list), check::imprint_of(changed)) << "change " << c;
  }
}

TEST(ListPlan, APlanOfOtherBuffersIsRejected) {
  Input input = small_list();
  const std::uint64_t imprint = check::imprint_of(std::get<Problem>(input.content).buffers);
  Plan plan = make_plan(std::move(input)).plan;
  EXPECT_TRUE(check::check_plan_of_list(plan, imprint).empty());
  plan.buffers[3].pieces[0].life.upper = 5;
  const Faults faults = check::check_plan_of_list(plan, imprint);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, FaultKind::accounting);
}

}  // namespace
}  // namespace stowage
