// The claim about all choices of memories, against all choices of small lists, and on branches.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "oracle/random_graph.h"
#include "problems.h"
#include "stowage/export.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using testing::whole;

/// The least peak in one memory: one of all orders of first fit reaches it.
Bytes least_peak(const std::vector<Buffer>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Bytes least = largest_value;
  do {
    std::vector<Bytes> offsets(buffers.size(), -1);
    Bytes peak = 0;
    for (const std::size_t b : order) {
      const auto is_free = [&](Bytes offset) {
        for (std::size_t a = 0; a < buffers.size(); ++a) {
          const Lifetime& one = buffers[a].pieces[0].life;
          const Lifetime& other = buffers[b].pieces[0].life;
          if (offsets[a] >= 0 && one.lower < other.upper && other.lower < one.upper &&
              offset < offsets[a] + buffers[a].size && offsets[a] < offset + buffers[b].size)
            return false;
        }
        return true;
      };
      Bytes offset = 0;
      while (!is_free(offset)) ++offset;
      offsets[b] = offset;
      peak = std::max(peak, offsets[b] + buffers[b].size);
    }
    least = std::min(least, peak);
  } while (std::ranges::next_permutation(order).found);
  return least;
}

/// The least sum of peaks of two memories, the first with a capacity.
Bytes least_sum(const std::vector<Buffer>& buffers, Bytes capacity) {
  Bytes least = largest_value;
  for (std::size_t choice = 0; choice < (std::size_t{1} << buffers.size()); ++choice) {
    std::vector<Buffer> fast;
    std::vector<Buffer> slow;
    for (std::size_t b = 0; b < buffers.size(); ++b)
      ((choice >> b) % 2 == 0 ? slow : fast).push_back(buffers[b]);
    const Bytes in_fast = fast.empty() ? 0 : least_peak(fast);
    if (in_fast <= capacity) least = std::min(least, in_fast + (slow.empty() ? 0 : least_peak(slow)));
  }
  return least;
}

const Claim& claim_of(const Plan& plan, ClaimScope scope) {
  return *std::ranges::find(plan.claims, scope, &Claim::scope);
}

PlanOptions in_two_memories(Bytes capacity) {
  PlanOptions options;
  options.memories = {{.name = "A", .capacity = capacity}, {.name = "B"}};
  return options;
}

TEST(CheckMemories, AClaimHoldsForEveryChoice) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    oracle::Choices choices(seed);
    std::vector<Buffer> buffers;
    for (int b = 0; b < 5; ++b) {
      const Position lower = choices.between(0, 3);
      buffers.push_back(
          whole(std::to_string(b), choices.between(1, 9), lower, lower + choices.between(1, 3)));
    }
    const Bytes capacity = choices.between(4, 12);
    const Input list{.content = testing::problem_of(buffers)};
    PlanResult result = make_plan(list, in_two_memories(capacity));
    ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
    Plan& plan = result.plan;
    const Claim claim = claim_of(plan, ClaimScope::memories);
    EXPECT_LE(claim.lower_bound, least_sum(buffers, capacity));
    EXPECT_EQ(claim.proven_optimal, claim.lower_bound == plan.summary.peak);
    for (Claim& it : plan.claims) {
      if (it.scope != ClaimScope::memories) continue;
      ++it.lower_bound;
      it.proven_optimal = it.lower_bound == plan.summary.peak;
    }
    EXPECT_FALSE(check_plan(plan).empty()) << "a bound that is not proven";
  }
}

TEST(CheckMemories, TheSummaryNamesTheChoice) {
  const Input list{.content =
                       testing::problem_of({whole("b0", 9, 3, 5), whole("b1", 4, 0, 3), whole("b2", 2, 1, 3),
                                            whole("b3", 1, 0, 1), whole("b4", 4, 1, 2)})};
  PlanOptions options = in_two_memories(9);
  options.memories[1].cost = 1;
  const Plan plan = make_plan(list, options).plan;
  ASSERT_EQ(plan.summary.peak, 11);
  std::ostringstream summary;
  write_summary(plan, summary);
  EXPECT_NE(summary.str().find("lower bound  11 bytes in the chosen memories, 10 bytes in any\n"),
            std::string::npos)
      << summary.str();
  EXPECT_NE(summary.str().find("0 %, proven optimal for these memories\n"), std::string::npos)
      << summary.str();
  std::ostringstream alone;
  write_summary(make_plan(list, PlanOptions()).plan, alone);
  EXPECT_NE(alone.str().find("lower bound  10 bytes\n"), std::string::npos) << alone.str();
  EXPECT_NE(alone.str().find("0 %, proven optimal\n"), std::string::npos) << alone.str();
}

TEST(CheckMemories, BranchesCountTogether) {
  const auto network = [](const std::string& name, Bytes bytes) {
    oracle::Sketch sketch;
    sketch.subgraph({"x"}, {"y"});
    sketch.add(0, "Mix", {"x"}, {"h"});
    sketch.add(0, "Mix", {"h"}, {"y"});
    for (const char* const tensor : {"x", "h", "y"}) {
      Tensor& it = sketch.tensor(tensor);
      it.bytes = bytes;
      it.shape = Shape{bytes};
      it.dtype = DType::int8;
    }
    return Input{.info = {.name = name}, .content = sketch.graph()};
  };
  const std::vector<Input> inputs{network("a", 8), network("b", 4)};
  PlanOptions options = in_two_memories(12);
  options.alignment = 1;
  options.alias = Alias::none;
  options.run = "a | b";
  PlanResult result = make_plan(inputs, options);
  ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
  const Claim& claim = claim_of(result.plan, ClaimScope::memories);
  EXPECT_GE(claim.lower_bound, 2 * 8 + 2 * 4);
  EXPECT_LE(claim.lower_bound, result.plan.summary.peak);
}

}  // namespace
}  // namespace stowage
