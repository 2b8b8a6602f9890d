// How the order of a plan is compared with the model's own: loads of both, and the fewest operators that
// moved.

#include "export/order_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include "lifetime/lives.h"
#include "oracle/random_graph.h"
#include "stowage/export.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

/// x -> a (100) -> a2 (1), x -> b (100) -> b2 (1), both joined; both large ones first.
Graph fork() {
  Graph graph;
  const auto tensor = [&](const std::string& name, TensorKind kind, Bytes bytes) {
    graph.tensors.push_back(
        {.name = name, .kind = kind, .dtype = DType::int8, .shape = Shape{bytes}, .bytes = bytes});
  };
  tensor("x", TensorKind::input, 10);
  tensor("a", TensorKind::temporary, 100);
  tensor("b", TensorKind::temporary, 100);
  tensor("a2", TensorKind::temporary, 1);
  tensor("b2", TensorKind::temporary, 1);
  tensor("y", TensorKind::output, 2);
  graph.subgraphs = {{.name = "main",
                      .inputs = {0},
                      .outputs = {5},
                      .operators = {{.name = "grow_a", .type = "Conv", .inputs = {0}, .outputs = {1}},
                                    {.name = "grow_b", .type = "Conv", .inputs = {0}, .outputs = {2}},
                                    {.name = "", .type = "Shrink", .inputs = {1}, .outputs = {3}},
                                    {.name = "shrink_b", .type = "Shrink", .inputs = {2}, .outputs = {4}},
                                    {.name = "join", .type = "Concat", .inputs = {3, 4}, .outputs = {5}}}}};
  return graph;
}

Input input_of(Graph graph) {
  return {{.name = "model", .source = "model.json", .format = ModelFormat::json}, std::move(graph)};
}

PlanOptions options_with(Alias alias, Bytes alignment) {
  PlanOptions options;
  options.solve.strategy = "greedy-by-size";
  options.alignment = alignment;
  options.alias = alias;
  return options;
}

TEST(OrderProfile, SaysWhatBothOrdersNeedAndWhatWasMoved) {
  const Input input = input_of(fork());
  const PlanOptions options = options_with(Alias::none, 1);
  const Plan plan = make_plan(input, options).plan;
  const auto profile = plan.order_profile;
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->own.loads, (std::vector<Bytes>{110, 210, 201, 102, 4}));
  EXPECT_EQ(*std::ranges::max_element(profile->planned.loads), 111);
  ASSERT_EQ(profile->moved.size(), 1U);
  EXPECT_EQ(profile->own.peak_operator, "grow_b");
  std::ostringstream text;
  exporting::write_order_profile(*profile, text);
  EXPECT_NE(text.str().find("210 bytes at position 1 (grow_b)"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("111 bytes at position"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("1 of 5 operators: " + profile->moved[0].name + " from "), std::string::npos)
      << text.str();
}

TEST(OrderProfile, IsDrawnBelowThePlan) {
  const Input input = input_of(fork());
  const PlanOptions options = options_with(Alias::none, 1);
  Plan plan = make_plan(input, options).plan;
  std::ostringstream with;
  write_svg(plan, with);
  plan.order_profile.reset();
  std::ostringstream without;
  write_svg(plan, without);
  EXPECT_EQ(without.str().find("the model's own order"), std::string::npos);
  for (const std::string part : {"the model's own order: 210 bytes at position 1 (grow_b)", "class=\"move\"",
                                 "1 of 5 operators were moved", "max load 111 bytes"})
    EXPECT_NE(with.str().find(part), std::string::npos) << part;
}

TEST(OrderProfile, OfAnOrderThatWasKeptThereIsNone) {
  const Input input = input_of(fork());
  PlanOptions options = options_with(Alias::none, 1);
  options.order = Order::keep;
  EXPECT_FALSE(make_plan(input, options).plan.order_profile);
}

/// By trying every end of every sequence.
std::size_t longest_increasing(const std::vector<std::size_t>& numbers) {
  std::vector<std::size_t> longest(numbers.size(), 1);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (numbers[j] < numbers[i]) longest[i] = std::max(longest[i], longest[j] + 1);
    }
  }
  return longest.empty() ? 0 : *std::ranges::max_element(longest);
}

TEST(OrderProfile, AgreesWithTheSearchAndMovesAsFewAsPossible) {
  std::size_t moved = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const Input input = input_of(oracle::random_graph(
        seed, {.depth = seed % 3, .operators = 8 + seed % 16, .copies = 30 + 10 * (seed % 6)}));
    const Alias alias = seed % 2 == 0 ? Alias::none : Alias::all;
    const PlanOptions options = options_with(alias, 16);
    const Plan plan = make_plan(input, options).plan;
    const auto profile = plan.order_profile;
    const Clock own = lifetime::keep_order(std::get<Graph>(input.content), 0);
    ASSERT_EQ(profile.has_value(), plan.clocks[0].steps != own.steps) << "seed " << seed;
    if (!profile) continue;
    ASSERT_EQ(*std::ranges::max_element(profile->own.loads), plan.order_searches[0].own_load)
        << "seed " << seed;
    ASSERT_EQ(*std::ranges::max_element(profile->planned.loads), plan.order_searches[0].load)
        << "seed " << seed;
    std::vector<std::size_t> from;
    for (const Step& step : plan.clocks[0].steps)
      from.push_back(static_cast<std::size_t>(std::ranges::find(own.steps, step) - own.steps.begin()));
    ASSERT_EQ(profile->moved.size(), from.size() - longest_increasing(from)) << "seed " << seed;
    std::vector<std::size_t> stays = from;
    for (const MovedOperator& it : profile->moved) {
      ASSERT_EQ(from.at(it.to), it.from) << "seed " << seed;
      std::erase(stays, it.from);
    }
    ASSERT_TRUE(std::ranges::is_sorted(stays)) << "seed " << seed;
    moved += profile->moved.size();
  }
  EXPECT_GT(moved, 50U);
}

}  // namespace
}  // namespace stowage
