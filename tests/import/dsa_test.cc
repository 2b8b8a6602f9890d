// Problems of dsa-solver's schema, read and written.

#include "stowage/dsa.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "long_tests.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using nlohmann::json;

/// Two memories, of which the first has its first 4 bytes reserved; five buffers.
json document() {
  const auto buffer = [](int id, int size, int alignment, int lower, int upper, std::vector<int> pools) {
    return json{{"id", id},
                {"name", "b" + std::to_string(id)},
                {"size", size},
                {"alignment", alignment},
                {"live_intervals", {{{"lower", lower}, {"upper", upper}}}},
                {"allowed_pools", pools}};
  };
  const auto pair = [](int first, int second) { return json{{"first", first}, {"second", second}}; };
  return {
      {"schema_version", 1},
      {"profile", "pypto_research_v1"},
      {"instance", "five"},
      {"metadata",
       {{"target", "none"},
        {"lifetime_ordering", "pypto_read_before_write"},
        {"solver_input", "pre_memory_reuse"}}},
      {"problem",
       {{"pools",
         {{{"id", 7}, {"name", "vec"}, {"capacity", 32}, {"reserved_ranges", {{{"begin", 0}, {"end", 4}}}}},
          {{"id", 2}, {"name", "mat"}, {"capacity", nullptr}, {"reserved_ranges", json::array()}}}},
        {"buffers",
         {buffer(10, 8, 4, -3, 1, {7}), buffer(11, 8, 4, 1, 2, {7}), buffer(12, 12, 4, 1, 3, {7}),
          buffer(13, 16, 1, 0, 1, {7, 2}), buffer(14, 4, 4, 2, 5, {7})}},
        {"constraints",
         {{"colocations", {pair(11, 14)}},
          {"separations", {pair(10, 12)}},
          {"temporal_exclusions", {pair(12, 14)}},
          {"pinned_allocations",
           {{{"buffer", 10}, {"pool", 7}, {"offset", 4}, {"exclusive_for_all_time", false}}}}}},
        {"cost_model",
         {{"reuse_penalties", {{{"first", 10}, {"second", 11}, {"cost", 3}, {"reason", "cross_pipe"}}}}}},
        {"objective",
         {{"aggregation", "lexicographic"}, {"terms", {"capacity_overflow", "reuse_cost", "total_peak"}}}}}}};
}

std::string error_of(const json& changed) {
  try {
    static_cast<void>(parse_dsa_problem(changed.dump()));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Dsa, ReadsAllOfAProblem) {
  const DsaProblem it = parse_dsa_problem(document().dump());
  EXPECT_EQ(it.instance, "five");
  EXPECT_EQ(it.pools, (std::vector<std::uint32_t>{7, 2}));
  EXPECT_EQ(it.buffers, (std::vector<std::uint32_t>{10, 11, 12, 13, 14}));
  EXPECT_EQ(it.not_minimised, std::vector<std::string>());
  EXPECT_EQ(it.objective, Objective::cost_then_peak);
  const Problem& problem = it.problem;
  EXPECT_EQ(problem.memories[0].reserved, (std::vector<ByteRange>{{0, 4}}));
  EXPECT_EQ(problem.memories[1].capacity, std::nullopt);
  EXPECT_EQ(problem.buffers[0].pieces[0].life, (Lifetime{0, 4}));  // positions begin at 0
  EXPECT_EQ(problem.buffers[0].pinned, 4);
  EXPECT_EQ(problem.buffers[3].memories, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(problem.relations.together, (std::vector<Joint>{{1, 4, 0}}));
  EXPECT_EQ(problem.relations.apart, (std::vector<BufferPair>{{0, 2}}));
  EXPECT_EQ(problem.relations.exclusive, (std::vector<BufferPair>{{2, 4}}));
  EXPECT_EQ(problem.relations.reuse_costs, (std::vector<ReuseCost>{{{0, 1}, 3}}));
}

TEST(Dsa, TheObjectiveSaysWhatCountsFirst) {
  const auto with = [](const json& terms) {
    json changed = document();
    changed["problem"]["objective"]["terms"] = terms;
    return parse_dsa_problem(changed.dump());
  };
  EXPECT_EQ(with({"capacity_overflow", "reuse_cost"}).objective, Objective::cost);
  EXPECT_EQ(with({"capacity_overflow", "total_peak", "reuse_cost"}).objective, Objective::peak_then_cost);
  EXPECT_EQ(with({"reuse_cost", "bank_conflicts"}).not_minimised, std::vector<std::string>{"bank_conflicts"});
}

TEST(Dsa, PinsForAllTimeKeepOthersApart) {
  json changed = document();
  changed["problem"]["constraints"]["pinned_allocations"][0]["exclusive_for_all_time"] = true;
  const DsaProblem it = parse_dsa_problem(changed.dump());
  EXPECT_EQ(it.problem.relations.apart.size(), 5U);
}

TEST(Dsa, ErrorsNameThePlace) {
  const auto error_with = [](const std::string& pointer, const json& value) {
    json changed = document();
    changed[json::json_pointer(pointer)] = value;
    return error_of(changed);
  };
  const std::map<std::string, std::pair<json, std::string>> cases{
      {"/schema_version", {2, "expected 1"}},
      {"/problem/pools/1/id", {7, "repeats pool 7"}},
      {"/problem/buffers/1/id", {10, "repeats buffer 10"}},
      {"/problem/buffers/1/size", {0, "expected at least 1"}},
      {"/problem/buffers/2/alignment", {0, "expected at least 1"}},
      {"/problem/buffers/0/live_intervals", {json::array(), "at least one interval"}},
      {"/problem/buffers/0/live_intervals/0/upper", {-3, "expected a later end"}},
      {"/problem/buffers/0/allowed_pools", {json::array(), "at least one pool"}},
      {"/problem/buffers/0/allowed_pools/0", {3, "no pool"}},
      {"/problem/constraints/colocations/0/first", {99, "no buffer"}},
      {"/problem/constraints/separations/0/second", {10, "with itself"}},
      {"/problem/constraints/pinned_allocations/0/pool", {2, "not allowed in"}},
      {"/problem/constraints/pinned_allocations/0/offset", {6, "not a multiple"}},
      {"/problem/pools/0/reserved_ranges/0/end", {33, "expected a range in the pool"}},
      {"/problem/cost_model/reuse_penalties/0/cost", {-1, "-1"}},
  };
  for (const auto& [pointer, it] : cases)
    EXPECT_NE(error_with(pointer, it.first).find(it.second), std::string::npos)
        << pointer << ": " << error_with(pointer, it.first);
}

TEST(Dsa, WritesTheSolution) {
  const DsaProblem problem = parse_dsa_problem(document().dump());
  const Solution solution = solve(problem.problem);
  EXPECT_EQ(faults_of(problem.problem, solution), std::vector<std::string>());
  EXPECT_EQ(solution.reuse_cost, 0);
  std::ostringstream text;
  write_dsa_solution(problem, solution, text);
  const json written = json::parse(text.str());
  EXPECT_EQ(written["instance"], "five");
  EXPECT_EQ(written["placements"].size(), 5U);
  EXPECT_EQ(written["placements"][0], (json{{"buffer", 10}, {"pool", 7}, {"offset", 4}}));
  // As dsa-solver a8d1257 computes it.
  EXPECT_EQ(written["problem_fingerprint"], "205043a1fea7b519");
}

TEST(Dsa, KnownProblemsCostNoMoreThanTheBestKnown) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "dsa-rp";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "there is no " << folder;
  std::map<std::string, std::int64_t> best;
  std::ifstream list(folder / "best-known.csv");
  for (std::string line; std::getline(list, line);) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    if (cells.size() > 9 && !cells[9].empty() && cells[9] != "best_known_cost")
      best[cells[4]] = std::stoll(cells[9]);
  }
  const int step = testing::is_in_a_hurry() ? 4 : 1;
  int files = 0;
  int compared = 0;
  int checked = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder / "soft")) {
    if (files++ % step > 0) continue;
    std::ifstream in(file.path());
    std::stringstream text;
    text << in.rdbuf();
    const DsaProblem it = parse_dsa_problem(text.str());
    std::string key;
    const json metadata = json::parse(text.str())["metadata"];
    for (const auto& [name, value] : metadata.items()) {
      if (best.contains(value.get<std::string>())) key = value;
    }
    const Solution solution = solve(it.problem, {.effort = 300});
    EXPECT_EQ(faults_of(it.problem, solution), std::vector<std::string>()) << file.path();
    if (solution.cannot_fit) continue;
    ASSERT_FALSE(key.empty()) << file.path();
    EXPECT_EQ(solution.outcome, Outcome::fits) << file.path();
    EXPECT_LE(solution.reuse_cost, best[key]) << file.path();
    std::ostringstream written;
    write_dsa_solution(it, solution, written);
    const Solution again = parse_dsa_solution(it, written.str());
    EXPECT_EQ(again.places, solution.places) << file.path();
    EXPECT_EQ(again.reuse_proof.searched, solution.reuse_proof.searched) << file.path();
    EXPECT_EQ(again.reuse_proof.cliques, solution.reuse_proof.cliques) << file.path();
    checked += proven_cost(it.problem, again.reuse_proof, 500'000) == solution.reuse_cost_bound ? 1 : 0;
    ++compared;
  }
  EXPECT_GE(compared, step == 1 ? 152 : 38);
  EXPECT_GE(checked, step == 1 ? 10 : 0);  // which of the files these are is not known
}

}  // namespace
}  // namespace stowage
