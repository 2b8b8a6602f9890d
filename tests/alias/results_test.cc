// Outputs of If and Loop lie where their bodies have them.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check_cases.h"
#include "oracle/byte_machine.h"
#include "oracle/random_graph.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using cases::Case;
using oracle::Sketch;

Case planned(const Graph& graph, Alias alias = Alias::all) {
  validate(graph);
  PlanOptions options;
  options.alias = alias;
  options.alignment = 16;
  return cases::case_of(graph, options);
}

const PlannedTensor& tensor(const Case& it, const std::string& name) {
  for (const PlannedTensor& tensor : it.plan.tensors) {
    if (tensor.tensor.name == name) return tensor;
  }
  throw std::invalid_argument(name);
}

/// The address of a tensor, which must be the same in all its views.
Bytes address(const Case& it, const std::string& name) {
  std::optional<Bytes> at;
  for (const View& view : tensor(it, name).views) {
    const Bytes address = it.plan.places[view.buffer].offset + view.offset;
    EXPECT_EQ(at.value_or(address), address) << name;
    at = address;
  }
  return at.value_or(-1);
}

void expect_sound(const Case& it) {
  EXPECT_EQ(cases::text_of(it.faults), "");
  const auto trial = oracle::try_plan(it.graph, it.plan);
  EXPECT_FALSE(trial.difference) << *trial.difference;
}

void add_if(Sketch& sketch, std::size_t subgraph, const Sketch::Names& outputs,
            const std::vector<std::size_t>& bodies) {
  sketch.add(subgraph, "If", {"c"}, outputs).bodies = bodies;
}

/// An If of two branches of two operators each; a reader of its result follows.
Sketch two_branches(const std::string& then_result = "to", const std::string& else_result = "eo") {
  Sketch sketch;
  sketch.subgraph({"x", "c"}, {"y"});
  sketch.subgraph({}, {then_result});
  sketch.subgraph({}, {else_result});
  sketch.add(1, "Relu", {"x"}, {"ta"});
  sketch.add(1, "Tanh", {"ta"}, {"to"});
  sketch.add(2, "Relu", {"x"}, {"ea"});
  sketch.add(2, "Neg", {"ea"}, {"eo"});
  add_if(sketch, 0, {"r"}, {1, 2});
  sketch.add(0, "Neg", {"r"}, {"y"});
  return sketch;
}

TEST(Results, OfBranchesTakeNoBytesBefore) {
  const Case it = planned(two_branches().graph());
  expect_sound(it);
  EXPECT_EQ(it.plan.summary.peak, 3 * 16);  // c, x, and a value of the branch
  EXPECT_EQ(address(it, "r"), address(it, "to"));
  EXPECT_EQ(address(it, "r"), address(it, "eo"));
  ASSERT_EQ(tensor(it, "r").views.size(), 2U);
  EXPECT_EQ(tensor(it, "r").views[0].life, (Lifetime{2, 3}));  // where the then-branch ends
  EXPECT_EQ(tensor(it, "r").views[1].life.lower, 4);
  const Case apart = planned(two_branches().graph(), Alias::none);
  expect_sound(apart);
  EXPECT_NE(address(apart, "r"), address(apart, "to"));
  EXPECT_EQ(tensor(apart, "r").views[0].life.lower, 0);
}

TEST(Results, MayBeOutputsOfTheNetwork) {
  Sketch sketch = two_branches();
  sketch.graph().subgraphs[0].operators.pop_back();
  sketch.graph().subgraphs[0].outputs = {sketch.id("r")};
  sketch.tensor("r").kind = TensorKind::output;
  const Case it = planned(sketch.graph());
  expect_sound(it);
  EXPECT_EQ(address(it, "r"), address(it, "eo"));
  EXPECT_EQ(it.plan.summary.peak, 3 * 16);
}

/// Kept to the end, from where the last branch ends.
TEST(Results, MayBeOutputsThatAreReadBefore) {
  Sketch sketch = two_branches();
  sketch.graph().subgraphs[0].outputs.push_back(sketch.id("r"));
  sketch.tensor("r").kind = TensorKind::output;
  const Case it = planned(sketch.graph());
  expect_sound(it);
  EXPECT_EQ(address(it, "r"), address(it, "to"));
  EXPECT_EQ(tensor(it, "r").views[0].life, (Lifetime{2, 3}));
  EXPECT_EQ(tensor(it, "r").views.back().life, (Lifetime{4, 6}));
}

TEST(Results, ThatBranchesOnlyPassOnAreCopied) {
  const auto expect_copied = [](Sketch sketch, const std::string& from) {
    const Case it = planned(sketch.graph());
    expect_sound(it);
    EXPECT_EQ(address(it, "r"), address(it, "to"));
    EXPECT_NE(address(it, "r"), address(it, from)) << from;
  };
  expect_copied(two_branches("to", "x"), "x");
  Sketch weight = two_branches("to", "w");
  weight.tensor("w").kind = TensorKind::weight;
  expect_copied(std::move(weight), "w");
  Sketch without_steps = two_branches("to", "x");
  without_steps.graph().subgraphs[2].operators.clear();
  expect_copied(std::move(without_steps), "x");
}

TEST(Results, AreInOnePlaceOfTwo) {
  Sketch sketch = two_branches();
  add_if(sketch, 0, {"p", "q"}, {3, 4});
  sketch.subgraph({}, {"b", "b"});
  sketch.subgraph({}, {"d", "e"});
  sketch.add(3, "Relu", {"x"}, {"b"});
  sketch.add(4, "Relu", {"x"}, {"d"});
  sketch.add(4, "Tanh", {"x"}, {"e"});
  sketch.add(0, "Sum", {"p", "q"}, {"z"});
  sketch.graph().subgraphs[0].outputs.push_back(sketch.id("z"));
  sketch.tensor("z").kind = TensorKind::output;
  const Case it = planned(sketch.graph());
  expect_sound(it);
  EXPECT_EQ(address(it, "p"), address(it, "b"));
  EXPECT_EQ(address(it, "p"), address(it, "d"));
  EXPECT_NE(address(it, "q"), address(it, "b"));
  EXPECT_EQ(address(it, "q"), address(it, "e"));
}

TEST(Results, OfInnerBranchesGoThroughOuterOnes) {
  Sketch sketch;
  sketch.subgraph({"x", "c"}, {"y"});
  sketch.subgraph({}, {"i"});
  sketch.subgraph({}, {"eo"});
  sketch.subgraph({}, {"it"});
  sketch.subgraph({}, {"ie"});
  add_if(sketch, 1, {"i"}, {3, 4});
  sketch.add(2, "Neg", {"x"}, {"eo"});
  sketch.add(3, "Relu", {"x"}, {"it"});
  sketch.add(4, "Tanh", {"x"}, {"ie"});
  add_if(sketch, 0, {"r"}, {1, 2});
  sketch.add(0, "Sum", {"r", "x"}, {"y"});
  const Case it = planned(sketch.graph());
  expect_sound(it);
  for (const char* const name : {"i", "it", "ie", "eo"})
    EXPECT_EQ(address(it, name), address(it, "r")) << name;
  EXPECT_EQ(it.plan.summary.peak, 3 * 16);
}

TEST(Results, OfLoopsAreTheValuesThatTheyCarry) {
  Sketch sketch;
  sketch.subgraph({"x", "m", "c"}, {"y"});
  sketch.subgraph({"round", "go", "s"}, {"goes_on", "s1"});
  sketch.add(1, "Add", {"s", "x"}, {"s1"});
  sketch.add(1, "Relu", {"go"}, {"goes_on"});
  sketch.add(0, "Conv", {"x"}, {"s0"});
  Operator& loop = sketch.add(0, "Loop", {"m", "c", "s0"}, {"r"});
  loop.bodies = {1};
  loop.body_use = BodyUse::repeated;
  sketch.add(0, "Sum", {"r", "x"}, {"y"});
  const Case it = planned(sketch.graph());
  expect_sound(it);
  EXPECT_EQ(address(it, "r"), address(it, "s"));
  EXPECT_NE(address(it, "r"), address(it, "s1"));
  EXPECT_LT(it.plan.summary.peak, planned(sketch.graph(), Alias::none).plan.summary.peak);
}

TEST(Results, AreCheckedFromTheirFirstByteOn) {
  const Case original = planned(two_branches().graph());
  const std::size_t shared = tensor(original, "r").views[0].buffer;
  for (std::size_t p = 0; p < original.plan.buffers[shared].pieces.size(); ++p) {
    Case late = original;
    ++late.plan.buffers[shared].pieces[p].life.lower;
    EXPECT_NE(cases::text_of(cases::check(late)), "") << "piece " << p;
  }
  for (std::size_t t = 0; t < original.plan.tensors.size(); ++t) {
    for (std::size_t v = 0; v < original.plan.tensors[t].views.size(); ++v) {
      Case elsewhere = original;
      View& view = elsewhere.plan.tensors[t].views[v];
      const std::string& name = original.plan.tensors[t].tensor.name;
      if (name != "r" && name != "to" && name != "eo") continue;
      const std::size_t other = tensor(original, "x").views[0].buffer;
      if (other == shared) continue;
      view.buffer = other;
      EXPECT_NE(cases::text_of(cases::check(elsewhere)), "") << name << ", view " << v;
    }
  }
  Case apart = original;  // branches hand over to two places
  apart.plan.buffers.push_back({.id = "apart", .size = 16, .alignment = 16, .pieces = {{0, 16, {0, 6}}}});
  apart.plan.places.push_back({0, apart.plan.memories[0].peak});
  for (PlannedTensor& it : apart.plan.tensors) {
    if (it.tensor.name == "r") it.views[0].buffer = apart.plan.buffers.size() - 1;
    if (it.tensor.name == "to") it.views[0].buffer = apart.plan.buffers.size() - 1;
  }
  EXPECT_NE(cases::text_of(cases::check(apart)).find("to another place"), std::string::npos)
      << cases::text_of(cases::check(apart));
}

}  // namespace
}  // namespace stowage
