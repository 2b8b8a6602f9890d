// Whatever the strategy, its plans pass the checker: on random problems, on random networks whose tensors
// share all they may, and in several memories.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "long_tests.h"
#include "oracle/random_graph.h"
#include "oracle/random_problem.h"
#include "stowage/error.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

const std::uint64_t random_problems = testing::is_in_a_hurry() ? 200 : 5000;
const std::uint64_t random_graphs = testing::is_in_a_hurry() ? 80 : 800;

/// All that serve one memory but `auto`, which chooses among them.
std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const StrategyInfo& info : strategies()) {
    if (info.name != "auto" && info.name != "levels") names.emplace_back(info.name);
  }
  return names;
}

PlanOptions options_for(const std::string& strategy) {
  PlanOptions options;
  options.solve.strategy = strategy;
  options.solve.effort = 5;
  options.solve.rounds = 1;
  options.solve.threads = 1;
  return options;
}

/// The number of inputs that the strategy served, each with a plan that the checker has nothing against.
std::size_t expect_valid(const Input& input, const PlanOptions& options) {
  try {
    const PlanResult result = make_plan(input, options);
    for (const Fault& fault : result.faults) ADD_FAILURE() << options.solve.strategy << ": " << fault.what;
    EXPECT_LE(result.plan.summary.lower_bound, result.plan.summary.peak);
    return 1;
  } catch (const NotApplicable&) {
    return 0;
  }
}

TEST(Strategies, AreValidOnRandomProblems) {
  for (const std::string& name : names()) {
    std::size_t served = 0;
    for (std::uint64_t seed = 0; seed < random_problems && !::testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      served += expect_valid({{"list", "list.csv", ModelFormat::csv}, oracle::random_problem(seed)},
                             options_for(name));
    }
    EXPECT_GT(served, random_problems / 4) << name;
  }
}

TEST(Strategies, AreValidOnRandomGraphsThatShareAllTheyMay) {
  for (const std::string& name : names()) {
    std::size_t served = 0;
    for (std::uint64_t seed = 0; seed < random_graphs && !::testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      PlanOptions options = options_for(name);
      options.alias = Alias::all;
      options.alignment = Bytes{1} << (2 * (seed % 4));
      const Graph graph = oracle::random_graph(seed, {.depth = seed % 3, .copies = 30 + 10 * (seed % 5)});
      served += expect_valid({{"net", "net.json", ModelFormat::json}, graph}, options);
    }
    EXPECT_EQ(served, random_graphs) << name;
  }
}

TEST(Strategies, ThatServeSeveralMemoriesAreValidThere) {
  std::size_t served = 0;
  for (std::uint64_t seed = 0; seed < random_problems && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    PlanOptions options = options_for("auto");
    options.memories = {{.name = "fast", .capacity = static_cast<Bytes>(seed % 16)},
                        {.name = "slow", .cost = 10}};
    served += expect_valid({{"list", "list.csv", ModelFormat::csv}, oracle::random_problem(seed)}, options);
  }
  EXPECT_EQ(served, random_problems);
}

}  // namespace
}  // namespace stowage
