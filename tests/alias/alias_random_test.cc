// Plans of random networks, with every policy of sharing bytes, are run with real bytes: whoever reads a
// tensor finds what was written there. The checker has nothing against them, and says of copies what the
// machine saw.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "long_tests.h"
#include "oracle/byte_machine.h"
#include "oracle/random_graph.h"
#include "stowage/error.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using oracle::random_graph;

Graph graph_of(std::uint64_t seed) {
  return random_graph(seed, {.depth = seed % 4,
                             .has_ties = seed % 5 == 0,
                             .operators = 10 + seed % 16,
                             .copies = 30 + 10 * (seed % 6),
                             .results = seed % 3 == 1 ? std::size_t{80} : 0});
}

/// None when a state could not be kept, which is the network's fault.
std::optional<PlanResult> plan_of(const Graph& graph, std::uint64_t seed, Alias alias) {
  PlanOptions options;
  options.solve.strategy = seed % 2 == 0 ? "greedy-by-size" : "first-fit-by-start";
  options.alignment = Bytes{1} << (2 * (seed % 4));
  options.io = seed % 7 == 0 ? Io::external : Io::arena;
  options.alias = alias;
  try {
    return make_plan({{.name = "model", .source = "model.json", .format = ModelFormat::json}, graph},
                     options);
  } catch (const Error&) {
    if (graph.ties.empty()) throw;
    return std::nullopt;
  }
}

/// What the operators that run pass on, each counted once.
CopiesRemoved all_copies(const Graph& graph, const Plan& plan) {
  std::set<const Operator*> operators;
  for (const Step& step : plan.clocks[0].steps) {
    const auto& path = std::get<Run>(step).path;
    operators.insert(&graph.subgraphs[path[path.size() - 2]].operators[path.back()]);
  }
  CopiesRemoved all;
  for (const Operator* const op : operators) {
    all.count += static_cast<std::int64_t>(op->copies.size());
    for (const ByteCopy& copy : op->copies) all.bytes += copy.size;
  }
  return all;
}

Bytes kept_bytes(const Plan& plan) {
  Bytes bytes = 0;
  for (const KeptCopy& kept : plan.copies_kept) bytes += kept.bytes;
  return bytes;
}

TEST(AliasRandom, PlansRunWithTheBytesOfAnUnplannedRun) {
  std::map<Alias, CopiesRemoved> removed;
  std::map<Alias, Bytes> peaks;
  std::size_t plans = 0;
  const std::uint64_t graphs = testing::cases_of(2000);
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    const Graph graph = graph_of(seed);
    std::map<Alias, PlanResult> results;
    for (const Alias alias : {Alias::none, Alias::automatic, Alias::all}) {
      const auto result = plan_of(graph, seed, alias);
      if (!result) continue;
      ++plans;
      const std::string where =
          "seed " + std::to_string(seed) + ", alias " + std::to_string(static_cast<int>(alias));
      ASSERT_TRUE(result->faults.empty()) << where << ": " << result->faults[0].what;
      const oracle::Trial trial = oracle::try_plan(graph, result->plan);
      ASSERT_FALSE(trial.difference) << where << ": " << *trial.difference;
      ASSERT_EQ(trial.removed, result->plan.copies_removed) << where;
      const CopiesRemoved passed_on = all_copies(graph, result->plan);
      ASSERT_EQ(trial.removed.bytes + kept_bytes(result->plan), passed_on.bytes) << where;
      ASSERT_LE(trial.removed.count, passed_on.count) << where;
      removed[alias].count += trial.removed.count;
      removed[alias].bytes += trial.removed.bytes;
      peaks[alias] += result->plan.summary.peak;
      results.emplace(alias, *result);
    }
    if (results.empty()) continue;
    ASSERT_LE(results.at(Alias::automatic).plan.summary.peak, results.at(Alias::none).plan.summary.peak)
        << "seed " << seed;
    ASSERT_GE(results.at(Alias::all).plan.copies_removed.count,
              results.at(Alias::automatic).plan.copies_removed.count)
        << "seed " << seed;
  }
  EXPECT_GT(plans, 5 * graphs / 2);
  EXPECT_GT(removed[Alias::automatic].count, static_cast<std::int64_t>(graphs / 2));
  EXPECT_GT(removed[Alias::all].bytes, removed[Alias::automatic].bytes);
  EXPECT_LT(peaks[Alias::automatic], peaks[Alias::none]);
}

}  // namespace
}  // namespace stowage
