// Problems and solutions of stowage's own schema, read and written.

#include "stowage/problem_json.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <utility>

#include "stowage/error.h"

namespace stowage {
namespace {

using Json = nlohmann::json;

Json document() {
  return Json::parse(
      R"({"format": "stowage-problem", "version": 1, "name": "all", "objective": "peak_then_cost",
    "memories": [{"name": "vec", "capacity": 64, "cost": 2, "reserved": [[0, 4], [60, 64]]}, {"name": "far"}],
    "buffers": [{"id": "a", "size": 8, "alignment": 4, "lives": [[0, 2], [4, 6]], "memories": ["vec"], "offset": 8},
                {"id": "b", "size": 8, "lives": [[1, 3]], "traffic": 99},
                {"id": "c", "size": 4, "lives": [[5, 9]], "copy_gains": [3, 5]},
                {"id": "d", "size": 4, "lives": [[6, 7]]}, {"id": "e", "size": 0}],
    "together": [{"buffers": ["b", "d"], "distance": 4}, {"buffers": ["d", "e"]}],
    "apart": [["a", "c"]], "exclusive": [["c", "d"]], "reuse_costs": [{"buffers": ["a", "d"], "cost": 7}]})");
}

/// Two streams of two buffers each, of which the second of one waits for the first of the other.
Json streams() {
  return Json::parse(R"({"format": "stowage-problem", "version": 1, "memories": [{"name": "arena"}],
    "buffers": [{"id": "a", "size": 32, "events": [0, 1]}, {"id": "b", "size": 64, "events": [2, 3]},
                {"id": "c", "size": 16, "events": [4, 5]}],
    "events": {"count": 6, "before": [[0, 1], [2, 3], [1, 4], [3, 4], [4, 5]]}})");
}

std::string error_of(const Json& changed) {
  try {
    static_cast<void>(parse_problem(changed.dump()));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string written(const ProblemDocument& problem, const Solution& solution) {
  std::ostringstream out;
  write_solution(problem, solution, out);
  return out.str();
}

TEST(ProblemJson, ReadsAllOfAProblem) {
  const ProblemDocument it = parse_problem(document().dump());
  EXPECT_EQ(it.name, "all");
  EXPECT_EQ(it.objective, Objective::peak_then_cost);
  const Problem& problem = it.problem;
  ASSERT_EQ(problem.memories.size(), 2U);
  EXPECT_EQ(problem.memories[0].capacity, 64);
  EXPECT_EQ(problem.memories[0].cost, 2);
  EXPECT_EQ(problem.memories[0].reserved, (std::vector<ByteRange>{{0, 4}, {60, 64}}));
  EXPECT_EQ(problem.memories[1].capacity, std::nullopt);
  ASSERT_EQ(problem.buffers.size(), 5U);
  EXPECT_EQ(problem.buffers[0].pieces, (std::vector<Piece>{{0, 8, {0, 2}}, {0, 8, {4, 6}}}));
  EXPECT_EQ(problem.buffers[0].alignment, 4);
  EXPECT_EQ(problem.buffers[0].pinned, 8);
  EXPECT_EQ(problem.buffers[0].memories, std::vector<std::size_t>{0});
  EXPECT_EQ(problem.buffers[0].traffic, 8);
  EXPECT_EQ(problem.buffers[1].traffic, 99);
  EXPECT_EQ(problem.relations.copies, (std::vector<CopyGains>{{2, {3, 5}}}));
  EXPECT_EQ(problem.relations.together, (std::vector<Joint>{{1, 3, 4}, {3, 4, 0}}));
  EXPECT_EQ(problem.relations.apart, (std::vector<BufferPair>{{0, 2}}));
  EXPECT_EQ(problem.relations.exclusive, (std::vector<BufferPair>{{2, 3}}));
  EXPECT_EQ(problem.relations.reuse_costs, (std::vector<ReuseCost>{{{0, 3}, 7}}));
}

TEST(ProblemJson, LivesInAPartialOrderAreApartUnlessOneIsOverBefore) {
  const ProblemDocument it = parse_problem(streams().dump());
  EXPECT_EQ(it.problem.relations.apart, (std::vector<BufferPair>{{0, 1}}));
  const Solution solution = solve(it);
  EXPECT_EQ(solution.lower_bound, 96);
  EXPECT_TRUE(solution.is_least_peak);

  Json clocks = streams();
  clocks.erase("events");
  const std::pair<Json, Json> lives[] = {{{0, 0}, {1, 0}}, {{0, 0}, {0, 1}}, {{1, 1}, {2, 1}}};
  for (std::size_t b = 0; b < 3; ++b) {
    clocks["buffers"][b].erase("events");
    clocks["buffers"][b]["clocks"] = {lives[b].first, lives[b].second};
  }
  EXPECT_EQ(parse_problem(clocks.dump()), it);
}

TEST(ProblemJson, WhatIsWrittenIsReadAgain) {
  const ProblemDocument it = parse_problem(document().dump());
  std::ostringstream out;
  write_problem(it, out);
  EXPECT_EQ(parse_problem(out.str()), it);
}

TEST(ProblemJson, RefusesToWritePieces) {
  ProblemDocument it = parse_problem(document().dump());
  it.problem.buffers[1].pieces[0].size = 4;
  std::ostringstream out;
  EXPECT_THROW(write_problem(it, out), Error);
}

TEST(ProblemJson, SolutionsAreReadAgain) {
  Json some = document();
  some["memories"] = Json::parse(R"([{"name": "vec", "capacity": 20}])");
  some["buffers"][0]["offset"] = 0;
  const ProblemDocument it = parse_problem(some.dump());
  const Solution solution = solve(it);
  ASSERT_EQ(solution.outcome, Outcome::fits);
  const Solution again = parse_solution(it, written(it, solution));
  EXPECT_EQ(again.places, solution.places);
  EXPECT_EQ(again.copies, solution.copies);
  EXPECT_EQ(again.gain, solution.gain);
  EXPECT_EQ(again.reuse_cost, solution.reuse_cost);
  EXPECT_EQ(again.reuse_cost_bound, solution.reuse_cost_bound);
  EXPECT_EQ(faults_of(it.problem, again), std::vector<std::string>());
}

TEST(ProblemJson, SaysWhatCannotFit) {
  const ProblemDocument it = parse_problem(R"({"format": "stowage-problem", "version": 1,
    "memories": [{"name": "vec", "capacity": 8}], "buffers": [{"id": "a", "size": 9, "lives": [[0, 1]]}]})");
  EXPECT_TRUE(solve(it).cannot_fit);
}

/// Buffers that exclude each other share bytes though both are live.
TEST(ProblemJson, BoundsAreThoseOfTheRelations) {
  const ProblemDocument it = parse_problem(R"({"format": "stowage-problem", "version": 1,
    "memories": [{"name": "vec"}],
    "buffers": [{"id": "a", "size": 32, "lives": [[0, 2]]}, {"id": "b", "size": 32, "lives": [[0, 2]]},
                {"id": "c", "size": 8, "lives": [[1, 4]]}, {"id": "d", "size": 16, "lives": [[3, 4]]}],
    "exclusive": [["a", "b"]]})");
  const Solution solution = solve(it);
  EXPECT_EQ(peak_of(it.problem, solution, 0), 40);
  EXPECT_LE(solution.lower_bound, 40);
  EXPECT_GE(solution.lower_bound, 24);  // c and d
  EXPECT_TRUE(solution.is_least_peak);
  ProblemDocument with_copies = it;
  with_copies.problem.relations.copies = {{3, {0}}};
  EXPECT_LE(solve(with_copies).lower_bound, 40);
}

TEST(ProblemJson, ProofsAreReadAgain) {
  const ProblemDocument it = parse_problem(R"({"format": "stowage-problem", "version": 1, "objective": "cost",
    "memories": [{"name": "vec", "capacity": 24}],
    "buffers": [{"id": "a", "size": 16, "lives": [[0, 1]]}, {"id": "b", "size": 16, "lives": [[1, 2]]}],
    "reuse_costs": [{"buffers": ["a", "b"], "cost": 3}]})");
  const Solution solution = solve(it);
  ASSERT_EQ(solution.reuse_cost_bound, 3);
  const Solution again = parse_solution(it, written(it, solution));
  EXPECT_EQ(again.reuse_proof, solution.reuse_proof);
  EXPECT_EQ(proven_cost(it.problem, again.reuse_proof, 1000), 3);
}

TEST(ProblemJson, SolutionsOfOthersNeedPlacesAlone) {
  Json some = document();
  some["memories"] = Json::parse(R"([{"name": "vec"}])");
  some.erase("together");
  const ProblemDocument it = parse_problem(some.dump());
  Json solution{{"format", "stowage-solution"}, {"version", 1}, {"places", Json::array()}};
  for (const auto& [id, offset] :
       std::map<std::string, int>{{"a", 8}, {"b", 16}, {"c", 24}, {"d", 32}, {"e", 0}})
    solution["places"].push_back({{"buffer", id}, {"memory", "vec"}, {"offset", offset}});
  EXPECT_EQ(faults_of(it.problem, parse_solution(it, solution.dump())), std::vector<std::string>());
  solution["places"][1]["offset"] = 12;  // over a
  EXPECT_NE(faults_of(it.problem, parse_solution(it, solution.dump())), std::vector<std::string>());

  const auto error_with = [&](const std::string& pointer, const Json& value) {
    Json changed = solution;
    changed[Json::json_pointer(pointer)] = value;
    try {
      static_cast<void>(parse_solution(it, changed.dump()));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::map<std::string, std::pair<Json, std::string>> cases{
      {"/format", {"stowage-plan", "expected 'stowage-solution'"}},
      {"/places/0/buffer", {"b", "which is placed twice"}},
      {"/places/1/buffer", {"z", "'\"z\"' does not exist"}},
      {"/places/0/memory", {"far", "'\"far\"' does not exist"}},
      {"/places/0/offset", {-1, "expected at least 0"}},
      {"/place", {1, "unknown member"}},
      {"/places/0/copies", {2, "is 2, expected 1 to 1"}},
      {"/proof",
       {{{"unit", 1}, {"searched", {{{"buffers", {"y"}}, {"cost", 1}}}}}, "'\"y\"' does not exist"}}};
  for (const auto& [pointer, expected] : cases)
    EXPECT_NE(error_with(pointer, expected.first).find(expected.second), std::string::npos)
        << pointer << ": " << error_with(pointer, expected.first);
  solution["places"].erase(0);
  EXPECT_THROW(static_cast<void>(parse_solution(it, solution.dump())), Error);
}

TEST(ProblemJson, ErrorsNameThePlace) {
  const auto error_with = [](const Json& base, const std::string& pointer, const Json& value) {
    Json changed = base;
    changed[Json::json_pointer(pointer)] = value;
    return error_of(changed);
  };
  const std::map<std::string, std::pair<Json, std::string>> cases{
      {"/version", {2, "/version: is '2', expected 1"}},
      {"/objective", {"size", "/objective: is '\"size\"', which is none of the known names"}},
      {"/memories", {Json::array(), "/memories: is empty"}},
      {"/memories/1/name", {"vec", "/memories/1/name: '\"vec\"' comes twice"}},
      {"/memories/0/reserved/0", {{1, 2, 3}, "/memories/0/reserved/0: has 3 elements, expected 2"}},
      {"/memories/0/reserved/1", {{60, 65}, "reserves bytes 60 to 65"}},
      {"/buffers/1/id", {"a", "/buffers/1/id: '\"a\"' comes twice"}},
      {"/buffers/1/size", {-1, "/buffers/1/size: is '-1', expected"}},
      {"/buffers/1/alignment", {0, "alignment is 0"}},
      {"/buffers/1/lives/0", {{3, 1}, "lower 3 is above upper 1"}},
      {"/buffers/1/memories", {{"near"}, "/buffers/1/memories/0: '\"near\"' does not exist"}},
      {"/buffers/1/live", {{0, 1}, "/buffers/1: has the unknown member 'live'"}},
      {"/apart/0", {{"a", "z"}, "/apart/0/1: '\"z\"' does not exist"}},
      {"/reuse_costs/0/cost", {1.5, "/reuse_costs/0/cost: is '1.5', expected"}},
      {"/events", {{{"count", 1}}, "/events: is an order of events, but no buffer has events"}},
      {"/buffers/1/events", {{0, 1}, "/buffers/1: has several of lives, events and clocks"}}};
  for (const auto& [pointer, expected] : cases)
    EXPECT_NE(error_with(document(), pointer, expected.first).find(expected.second), std::string::npos)
        << pointer << ": " << error_with(document(), pointer, expected.first);

  Json some = streams();
  some["buffers"][2].erase("events");
  EXPECT_NE(error_of(some).find("/buffers: has some lives in a partial order"), std::string::npos);
  some = streams();
  some.erase("events");
  EXPECT_NE(error_of(some).find("has no member 'events'"), std::string::npos);
  EXPECT_NE(error_with(streams(), "/events/count", 1'000'000).find("expected at most 20000"),
            std::string::npos);
  EXPECT_NE(error_with(streams(), "/events/before/0", Json{0, 6}).find("there are 6"), std::string::npos);
  EXPECT_EQ(error_of(Json{{"format", "stowage-problem"}}), "document: has no member 'version'");
}

}  // namespace
}  // namespace stowage
