// Orders of operators in plans: what the search thinks a step needs is what it needs, plans are sound, and no
// plan is worse than that of the network's own order.

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <stop_token>
#include <string>

#include "alias/buffers.h"
#include "alias/sharing.h"
#include "lifetime/lives.h"
#include "long_tests.h"
#include "oracle/byte_machine.h"
#include "oracle/random_graph.h"
#include "plan/context.h"
#include "plan/order_model.h"
#include "plan/order_parts.h"
#include "plan/ordering.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using oracle::random_graph;
using oracle::Sketch;

Graph graph_of(std::uint64_t seed) {
  return random_graph(seed, {.depth = seed % 4,
                             .operators = 8 + seed % 16,
                             .copies = 30 + 10 * (seed % 6),
                             .results = seed % 3 == 1 ? std::size_t{80} : 0});
}

plan::SharingWorld world_of(const Graph& graph, bool shares) {
  plan::SharingWorld world{.may_overwrite = shares, .may_pass_on = {}};
  for (const Subgraph& subgraph : graph.subgraphs)
    world.may_pass_on.emplace_back(subgraph.operators.size(), shares);
  return world;
}

constexpr Bytes alignment = 16;

/// The clock of the best order.
Clock clock_of(const Graph& graph, const plan::Ordering& ordering) {
  return lifetime::clock_of(graph, 0, ordering.choices.front()->operators);
}

/// The most live bytes of the steps in a plan with all sharing that is permitted, or none.
Bytes load_of(const Graph& graph, const Clock& clock, Alias alias) {
  const lifetime::Uses uses = lifetime::uses_of(graph, clock);
  const auto residences = lifetime::residences_of(graph, uses, Io::arena);
  const alias::Sharing sharing = alias::share(graph, lifetime::operators_of(clock), uses, residences,
                                              {.alias = alias, .alignment = alignment, .apart = {}});
  return max_load(alias::buffers_of(graph, uses, sharing, residences, {.alignment = alignment}).buffers);
}

plan::Ordering ordering_of(const Graph& graph, Alias alias, const base::Deadline& deadline) {
  Input input{.info = {"net", "net.json", ModelFormat::json}};
  input.content = graph;
  PlanOptions options;
  options.alias = alias;
  options.alignment = alignment;
  return plan::ordering_of(plan::NetworkFacts(input, 0, options), deadline);
}

/// The storage's peak in the graph's own order.
Bytes modelled_load_of(const Graph& graph, bool shares) {
  const Clock own = lifetime::keep_order(graph, 0);
  const auto residences = lifetime::residences_of(graph, lifetime::uses_of(graph, own), Io::arena);
  const plan::Parts parts =
      plan::parts_of(graph, lifetime::operators_of(own), residences, world_of(graph, shares), alignment);
  plan::OrderModels models(graph, residences, parts, {.alignment = alignment, .may_overwrite = shares});
  std::vector<Bytes> peaks(graph.subgraphs.size(), 0);
  for (std::size_t s = graph.subgraphs.size();
       s-- > 0;) {  // random graphs have bodies behind their operators
    const plan::OrderModel model = models.model_of(s, peaks);
    peaks[s] = schedule::peak_of(model.storage, model.own);
  }
  return peaks[0];
}

TEST(Order, TheModelNeedsWhatAPlanWithoutSharingNeeds) {
  std::size_t with_bodies = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Graph graph = graph_of(seed);
    const Bytes load = load_of(graph, lifetime::keep_order(graph, 0), Alias::none);
    const bool has_bodies = graph.subgraphs.size() > 1;
    with_bodies += has_bodies ? 1 : 0;
    if (has_bodies) {
      ASSERT_LE(modelled_load_of(graph, false), load) << "seed " << seed;
    } else {
      ASSERT_EQ(modelled_load_of(graph, false), load) << "seed " << seed;
    }
  }
  EXPECT_GT(with_bodies, 100U);
}

TEST(Order, NoSharingNeedsLessThanTheModel) {
  std::size_t equal = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Graph graph = graph_of(seed);
    const Bytes load = load_of(graph, lifetime::keep_order(graph, 0), Alias::all);
    const Bytes modelled = modelled_load_of(graph, true);
    ASSERT_LE(modelled, load) << "seed " << seed;
    equal += modelled == load ? 1 : 0;
  }
  EXPECT_GT(equal, 500U);
}

bool has_state(const Graph& graph) {
  return std::any_of(graph.tensors.begin(), graph.tensors.end(),
                     [](const Tensor& tensor) { return tensor.kind == TensorKind::state; });
}

TEST(Order, NoOrderIsBelowTheBound) {
  std::size_t proven = 0;
  const std::uint64_t graphs = testing::is_in_a_hurry() ? 100 : 600;
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    const Graph graph = graph_of(seed);
    for (const Alias alias : {Alias::none, Alias::all}) {
      const plan::Ordering ordering = ordering_of(graph, alias, base::Deadline(std::chrono::seconds(10)));
      ASSERT_EQ(load_of(graph, clock_of(graph, ordering), alias), ordering.search.load);
      ASSERT_LE(ordering.search.load, ordering.search.own_load);
      proven += ordering.search.load == ordering.search.lower_bound ? 1 : 0;
      if (has_state(graph)) continue;  // random orders do not care about who touches it first
      for (std::uint64_t trial = 0; trial < 20; ++trial) {
        const Clock clock = oracle::random_clock(graph, 100 * seed + trial);
        ASSERT_GE(load_of(graph, clock, alias), ordering.search.lower_bound) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(proven, 4 * graphs / 3);
}

PlanResult plan_of(const Graph& graph, Order order, Alias alias) {
  PlanOptions options;
  options.solve.strategy = "greedy-by-size";
  options.alignment = alignment;
  options.order = order;
  options.alias = alias;
  return make_plan({{.name = "model", .source = "model.json", .format = ModelFormat::json}, graph}, options);
}

TEST(Order, PlansAreSoundAndNeverWorseThanTheOwnOrder) {
  std::size_t better = 0;
  const std::uint64_t graphs = testing::is_in_a_hurry() ? 150 : 600;
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    const Graph graph = random_graph(seed, {.depth = seed % 4,
                                            .has_ties = seed % 5 == 0,
                                            .operators = 8 + seed % 16,
                                            .copies = 30 + 10 * (seed % 6)});
    const Alias alias = seed % 3 == 0 ? Alias::none : seed % 3 == 1 ? Alias::automatic : Alias::all;
    try {
      const PlanResult own = plan_of(graph, Order::keep, alias);
      const PlanResult searched = plan_of(graph, Order::search, alias);
      ASSERT_TRUE(searched.faults.empty()) << "seed " << seed << ": " << searched.faults[0].what;
      ASSERT_LE(searched.plan.summary.peak, own.plan.summary.peak) << "seed " << seed;
      better += searched.plan.summary.peak < own.plan.summary.peak ? 1 : 0;
      const oracle::Trial trial = oracle::try_plan(graph, searched.plan);
      ASSERT_FALSE(trial.difference) << "seed " << seed << ": " << *trial.difference;
    } catch (const Error&) {
      ASSERT_FALSE(graph.ties.empty()) << "seed " << seed;  // a state that could not be kept
    }
  }
  EXPECT_GT(better, graphs / 6);
}

TEST(Order, OperatorsWithEffectsAndThoseOfOneStateKeepTheirOrder) {
  // The order b, a would need less; both write to the world, or to one state.
  for (const bool has_state : {false, true}) {
    Sketch sketch;
    sketch.subgraph({"x"}, {"y"});
    sketch.add(0, "Custom", {"x", "s"}, {"a"});
    sketch.add(0, "Custom", {"x", "s"}, {"b"});
    sketch.add(0, "Custom", {"b"}, {"c"});
    sketch.add(0, "Custom", {"a", "c"}, {"y"});
    for (const std::string name : {"a", "b"}) sketch.tensor(name).shape.reset();
    sketch.tensor("b").bytes = 1024;
    sketch.tensor("a").bytes = 512;
    Graph graph = sketch.graph();
    graph.tensors[sketch.id("s")].kind = has_state ? TensorKind::state : TensorKind::weight;
    const auto first_of = [&](const Graph& it) {
      return std::get<stowage::Run>(plan_of(it, Order::search, Alias::none).plan.clocks[0].steps[0])
          .path.back();
    };
    if (!has_state) {
      EXPECT_EQ(first_of(graph), 1U);
      graph.subgraphs[0].operators[0].stateful = graph.subgraphs[0].operators[1].stateful = true;
    }
    EXPECT_EQ(first_of(graph), 0U);
  }
}

TEST(Order, AnOldStateIsReadBeforeItIsReplaced) {
  Sketch sketch;
  sketch.subgraph({"x", "old"}, {"y", "new"});
  sketch.add(0, "Custom", {"x", "old"}, {"a"});
  sketch.add(0, "Custom", {"x"}, {"new"});
  sketch.add(0, "Custom", {"a"}, {"y"});
  sketch.tensor("a").shape.reset();
  sketch.tensor("a").bytes = 4096;
  sketch.tie("new", "old");
  const PlanResult result = plan_of(sketch.graph(), Order::search, Alias::automatic);
  EXPECT_TRUE(result.faults.empty()) << result.faults[0].what;
  EXPECT_EQ(std::get<stowage::Run>(result.plan.clocks[0].steps[0]).path.back(), 0U);
}

TEST(Order, TheModelsOwnOrderIsKeptWhereNoneIsBetter) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  for (const std::string name : {"a", "b"}) sketch.add(0, "Custom", {"x"}, {name});
  sketch.add(0, "Custom", {"a", "b"}, {"y"});
  const PlanResult result = plan_of(sketch.graph(), Order::search, Alias::automatic);
  EXPECT_EQ(result.plan.clocks, plan_of(sketch.graph(), Order::keep, Alias::automatic).plan.clocks);
  ASSERT_EQ(result.plan.order_searches.size(), 1U);
  const OrderSearch& search = result.plan.order_searches[0];
  EXPECT_EQ(search.own_load, 48);
  EXPECT_EQ(search.load, 48);
  EXPECT_EQ(search.lower_bound, 48);
}

TEST(Order, SameNetworkSameOrder) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto found = [&] {
      return ordering_of(graph_of(seed), Alias::all, base::Deadline(std::chrono::seconds(60)));
    };
    const plan::Ordering first = found();
    const plan::Ordering second = found();
    EXPECT_EQ(first.choices.front()->operators, second.choices.front()->operators);
    EXPECT_EQ(first.search.states, second.search.states);
  }
}

TEST(Order, WithoutTimeThereIsAnOrderAllTheSame) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = graph_of(seed);
    std::stop_source stop;
    stop.request_stop();
    const plan::Ordering ordering =
        ordering_of(graph, Alias::all, base::Deadline(std::chrono::seconds(60), stop.get_token()));
    EXPECT_LE(ordering.search.lower_bound, ordering.search.load);
    EXPECT_EQ(load_of(graph, clock_of(graph, ordering), Alias::all), ordering.search.load);
  }
}

TEST(Order, TheSummarySaysWhatWasFound) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  for (const std::string name : {"a", "b"}) sketch.add(0, "Custom", {"x"}, {name});
  sketch.add(0, "Custom", {"a", "b"}, {"y"});
  std::ostringstream out;
  write_summary(plan_of(sketch.graph(), Order::search, Alias::none).plan, out);
  EXPECT_NE(out.str().find("load 48 bytes, proven optimal; the model's own 48 bytes"), std::string::npos)
      << out.str();
  out.str("");
  write_summary(plan_of(sketch.graph(), Order::keep, Alias::none).plan, out);
  EXPECT_EQ(out.str().find("order  "), std::string::npos) << out.str();
}

TEST(Order, APlanThatContradictsItsSearchIsFaulty) {
  Plan plan = plan_of(graph_of(3), Order::search, Alias::automatic).plan;
  ASSERT_EQ(plan.order_searches.size(), 1U);
  EXPECT_TRUE(check_plan(plan).empty());
  const auto faults_with = [&](const auto& change) {
    Plan changed = plan;
    change(changed.order_searches);
    std::erase_if(changed.claims, [](const Claim& claim) { return claim.scope == ClaimScope::order; });
    return check_plan(changed).size();
  };
  using Searches = std::vector<OrderSearch>;
  EXPECT_EQ(faults_with([](Searches& it) { it[0].lower_bound = it[0].load + 1; }), 1U);
  EXPECT_EQ(faults_with([](Searches& it) { it[0].own_load = it[0].load - 1; }), 1U);
  EXPECT_EQ(faults_with([&](Searches& it) { it[0].own_load = it[0].load = plan.summary.peak + 1; }), 1U);
  EXPECT_EQ(faults_with([](Searches& it) { it[0].model = 1; }), 1U);
  EXPECT_EQ(faults_with([](Searches& it) { it.push_back(it[0]); }), 1U);
  EXPECT_EQ(faults_with([](Searches& it) { it.clear(); }), 0U);
  plan.order_searches.clear();
  EXPECT_EQ(check_plan(plan).size(), 1U);  // the claim is of no search
}

/// Some of the copies that a concat makes are removed: that has less load than all of them, and than none.
constexpr const char* less_load_with_some_sharing =
    R"({"format": "stowage-graph", "version": 1, "name": "net", "tensors": [
 {"name": "x0", "kind": "input", "dtype": "int4", "shape": [4, 4], "bytes": 8},
 {"name": "t1", "kind": "temporary", "dtype": "int4", "shape": [1, 4], "bytes": 2},
 {"name": "t2", "kind": "output", "dtype": "int4", "shape": [1, 4], "bytes": 2},
 {"name": "t3", "kind": "temporary", "dtype": "int4", "shape": [4, 4], "bytes": 8},
 {"name": "w4", "kind": "weight", "dtype": "int8", "shape": [3, 4], "bytes": 12},
 {"name": "t5", "kind": "output", "dtype": "int4", "shape": [3, 3], "bytes": 5},
 {"name": "t6", "kind": "temporary", "dtype": "float32", "shape": [1, 3], "bytes": 12},
 {"name": "t7", "kind": "temporary", "dtype": "int4", "shape": [4, 4], "bytes": 8},
 {"name": "t8", "kind": "temporary", "dtype": "float32", "shape": [3, 3], "bytes": 36},
 {"name": "t9", "kind": "temporary", "dtype": "int4", "shape": [4, 4], "bytes": 8},
 {"name": "t10", "kind": "temporary", "dtype": "float32", "shape": [3, 3], "bytes": 36},
 {"name": "t11", "kind": "temporary", "dtype": "float32", "shape": [3, 3], "bytes": 36},
 {"name": "t12", "kind": "output", "dtype": "float32", "shape": [3, 3], "bytes": 36},
 {"name": "w13", "kind": "weight", "dtype": "int4", "shape": [2, 1], "bytes": 1},
 {"name": "t14", "kind": "output", "dtype": "int8", "shape": [2, 3], "bytes": 6}
], "subgraphs": [{"name": "main", "inputs": ["x0"], "outputs": ["t2", "t5", "t12", "t14"], "operators": [
 {"name": "op0", "type": "MatMul", "inputs": ["x0", "x0", null], "outputs": ["t1"]},
 {"name": "op1", "type": "Sigmoid", "inputs": ["t1"], "outputs": ["t2"]},
 {"name": "op2", "type": "Relu", "inputs": ["x0"], "outputs": ["t3"]},
 {"name": "op3", "type": "Custom", "inputs": ["t1", "t3", "w4"], "outputs": ["t5"]},
 {"name": "op4", "type": "Conv", "inputs": ["t3", "t3"], "outputs": ["t6"]},
 {"name": "op5", "type": "Sum", "inputs": ["t3", "x0", "t3"], "outputs": ["t7"]},
 {"name": "op6", "type": "Concat", "inputs": ["t6", "t6", "t6"], "outputs": ["t8"], "copies": [{"input": 0, "output": 0, "from": 0, "to": 0, "size": 12}, {"input": 1, "output": 0, "from": 0, "to": 12, "size": 12}, {"input": 2, "output": 0, "from": 0, "to": 24, "size": 12}]},
 {"name": "op7", "type": "Add", "inputs": ["t7", "x0"], "outputs": ["t9"]},
 {"name": "op8", "type": "Div", "inputs": ["t8", "t8"], "outputs": ["t10"]},
 {"name": "op9", "type": "Sigmoid", "inputs": ["t10"], "outputs": ["t11"], "after": [5]},
 {"name": "op10", "type": "Add", "inputs": ["t11", "t6"], "outputs": ["t12"]},
 {"name": "op11", "type": "Conv", "inputs": ["t10", "t10", "w13"], "outputs": ["t14"]}
]}], "state": []})";

TEST(Order, LoadsAreThoseOfTheSharingThatThePlanHas) {
  const Input input = parse_input(less_load_with_some_sharing, "net.json");
  PlanOptions options;
  options.alignment = 8;
  options.solve.effort = 300;
  options.memories = {{.name = "fast", .capacity = 32}, {.name = "slow", .cost = 10}};
  const PlanResult result = make_plan(input, options);
  for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
  ASSERT_EQ(result.plan.order_searches.size(), 1U);
  EXPECT_LE(result.plan.order_searches[0].load, result.plan.summary.peak);
  EXPECT_EQ(result.plan.order_searches[0].load, 80);
}

}  // namespace
}  // namespace stowage
