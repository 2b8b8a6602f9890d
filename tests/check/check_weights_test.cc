// Weights in a memory of theirs.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "check_cases.h"
#include "plan_sketch.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

using namespace cases;
using enum FaultKind;

Graph weighted(const std::string& prefix) {
  oracle::Sketch sketch;
  sketch.subgraph({prefix + "x"}, {prefix + "y"});
  sketch.add(0, "Conv", {prefix + "x", prefix + "w"}, {prefix + "y"});
  sketch.tensor(prefix + "w").kind = TensorKind::weight;
  return sketch.graph();
}

void set_data(PlanSketch& it, std::size_t model, std::byte last) {
  std::vector<std::byte> data(16, std::byte{7});
  data.back() = last;
  it.inputs[model].constants.set(2, std::move(data));
}

/// p and q, with equal weights in one place.
PlanSketch shared_weights() {
  PlanSketch it;
  it.add_memory("flash", MemoryRole::weights);
  it.add_model("p", weighted("p"));
  it.add_model("q", weighted("q"));
  it.run_all(0, 0);
  it.run_all(0, 1);
  it.put("px", 0, 0, {0, 1});
  it.put("py", 0, 16, {0, 1});
  it.put("qx", 0, 0, {1, 2});
  it.put("qy", 0, 16, {1, 2});
  it.put("pw", 0, 0, {0, 2}, 1);
  it.add_view("qw", "pw", {0, 2});
  set_data(it, 0, std::byte{1});
  set_data(it, 1, std::byte{1});
  return it;
}

TEST(CheckWeights, OfOnePlaceHaveEqualData) {
  expect_wrong(
      shared_weights,
      {{"one byte is different",
        [](PlanSketch& it) { set_data(it, 1, std::byte{2}); },
        overlap,
        {"'pw'", "'qw'"}},
       {"nobody knows", [](PlanSketch& it) { it.inputs[1].constants = {}; }, overlap, {"'pw'", "'qw'"}},
       {"shifted",
        [](PlanSketch& it) {
          it.buffer_of("pw").size = 24;
          it.buffer_of("pw").pieces[0].size = 24;
          it.view("qw").offset = 8;
        },
        overlap,
        {"'pw'", "'qw'"}}});
  const PlanSketch it = shared_weights();
  Plan plan = it.plan;
  correct_claims(plan);
  const std::vector<Graph> graphs{std::get<Graph>(it.inputs[0].content),
                                  std::get<Graph>(it.inputs[1].content)};
  EXPECT_TRUE(has(check_plan(plan, graphs), overlap, {"'pw'", "'qw'"}));
}

TEST(CheckWeights, AreInTheirMemoryAllTheTimeAndNobodyElseIs) {
  expect_wrong(
      shared_weights,
      {{"in working memory",
        [](PlanSketch& it) {
          it.place_of("pw") = {0, 32};
        },
        pin,
        {"'pw'", "'arena'"}},
       {"not a weight", [](PlanSketch& it) { it.place_of("px").memory = 1; }, pin, {"'px'", "'flash'"}},
       {"in a buffer that is not for weights",
        [](PlanSketch& it) { it.view("qw") = it.view("py"); },
        pin,
        {"'qw'", "'arena'"}},
       {"another tensor in a buffer for weights",
        [](PlanSketch& it) { it.view("qx") = it.view("pw"); },
        pin,
        {"'qx'", "'flash'"}},
       {"buffer of another kind",
        [](PlanSketch& it) { it.buffer_of("pw").kind = TensorKind::temporary; },
        pin,
        {"'pw'", "'flash'"}},
       {"nowhere",
        [](PlanSketch& it) { it.plan.tensors[it.tensor("qw")].views.clear(); },
        accounting,
        {"'qw'", "memory"}},
       {"not to the end",
        [](PlanSketch& it) {
          it.view("qw").life = {0, 1};
        },
        accounting,
        {"'qw'", "'pw'"}}});
}

/// p and q, where w is made of v by folding, and both w are in one place; v is nowhere.
PlanSketch folded_weights() {
  const auto folded = [](const std::string& prefix) {
    oracle::Sketch sketch;
    sketch.subgraph({prefix + "x"}, {prefix + "y"});
    sketch.add(0, "Transpose", {prefix + "v"}, {prefix + "w"}).folded = true;
    sketch.add(0, "Conv", {prefix + "x", prefix + "w"}, {prefix + "y"});
    for (const char* const name : {"v", "w"}) sketch.tensor(prefix + name).kind = TensorKind::weight;
    return sketch.graph();
  };
  PlanSketch it;
  it.add_memory("flash", MemoryRole::weights);
  it.add_model("p", folded("p"));
  it.add_model("q", folded("q"));
  it.run(0, 0, 1);
  it.run(0, 1, 1);
  it.put("px", 0, 0, {0, 1});
  it.put("py", 0, 16, {0, 1});
  it.put("qx", 0, 0, {1, 2});
  it.put("qy", 0, 16, {1, 2});
  it.put("pw", 0, 0, {0, 2}, 1);
  it.add_view("qw", "pw", {0, 2});
  for (std::size_t m = 0; m < 2; ++m) {
    const TensorId v = it.tensor(m == 0 ? "pv" : "qv") - (m == 0 ? 0 : it.graph(0).tensors.size());
    const TensorId w = it.tensor(m == 0 ? "pw" : "qw") - (m == 0 ? 0 : it.graph(0).tensors.size());
    it.inputs[m].constants.set(v, std::vector<std::byte>(16, std::byte{7}));
    it.inputs[m].constants.set_recipe(w, {"Transpose", {v}});
  }
  return it;
}

TEST(CheckWeights, ThatAreFoldedAreEqualWhereTheyAreMadeOfEqualOnes) {
  const auto tensor = [](const PlanSketch& it, const std::string& name) {
    return it.tensor(name) - std::get<Graph>(it.inputs[0].content).tensors.size();
  };
  expect_wrong(
      folded_weights,
      {{"of different ones",
        [&](PlanSketch& it) {
          it.inputs[1].constants.set(tensor(it, "qv"), std::vector<std::byte>(16, std::byte{8}));
        },
        overlap,
        {"'pw'", "'qw'"}},
       {"of unknown ones",
        [&](PlanSketch& it) { it.inputs[1].constants.set(tensor(it, "qv"), std::vector<std::byte>()); },
        overlap,
        {"'pw'", "'qw'"}},
       {"by another operation",
        [&](PlanSketch& it) {
          it.inputs[1].constants.set_recipe(tensor(it, "qw"), {"Neg", {tensor(it, "qv")}});
        },
        overlap,
        {"'pw'", "'qw'"}},
       {"of none",
        [&](PlanSketch& it) {
          it.inputs[1].constants.set_recipe(tensor(it, "qw"), {"Transpose", {{}}});
        },
        overlap,
        {"'pw'", "'qw'"}},
       {"of more",
        [&](PlanSketch& it) {
          it.inputs[1].constants.set_recipe(tensor(it, "qw"),
                                            {"Transpose", {tensor(it, "qv"), tensor(it, "qv")}});
        },
        overlap,
        {"'pw'", "'qw'"}},
       {"by nobody",
        [&](PlanSketch& it) {
          it.inputs[1].constants.set(tensor(it, "qw"), std::vector<std::byte>(16, std::byte{7}));
        },
        overlap,
        {"'pw'", "'qw'"}},
       {"read and nowhere",
        [](PlanSketch& it) { it.graph(0).subgraphs[0].operators[1].inputs.emplace_back(it.tensor("pv")); },
        accounting,
        {"'pv'", "memory"}}});
  PlanSketch filled = folded_weights();  // v is one byte again and again
  filled.inputs[1].constants.set_element(tensor(filled, "qv"), {std::byte{7}, std::byte{7}});
  EXPECT_TRUE(filled.check().empty()) << text_of(filled.check());
  filled.inputs[0].constants.set_element(filled.tensor("pv"), std::vector<std::byte>(4, std::byte{7}));
  EXPECT_TRUE(filled.check().empty()) << text_of(filled.check());
  filled.inputs[1].constants.set_element(tensor(filled, "qv"), {std::byte{7}, std::byte{8}});
  EXPECT_TRUE(has(filled.check(), overlap, {"'pw'", "'qw'"}));
}

TEST(CheckWeights, AreSaidToBeSeparateThatAreRead) {
  const auto with_savings = [] {
    PlanSketch it = folded_weights();
    it.plan.savings = Savings{{32, 16}, {}, {32, 32}};
    return it;
  };
  expect_wrong(with_savings, {{"all of them",
                               [](PlanSketch& it) { it.plan.savings->weights.separate = 64; },
                               claim,
                               {"weights", "64", "32"}},
                              {"one where nothing says so",
                               [](PlanSketch& it) {
                                 for (const char* const name : {"pw", "qw"})
                                   it.plan.tensors[it.tensor(name)].views.clear();
                                 it.plan.memories.pop_back();
                                 it.plan.buffers.pop_back();
                                 it.plan.places.pop_back();
                                 it.plan.savings->weights = {16, 16};
                               },
                               claim,
                               {"weights", "16", "32"}}});
}

TEST(CheckPlan, TakesInputs) {
  PlanSketch it = shared_weights();
  Plan plan = it.plan;
  correct_claims(plan);
  it.inputs[1].content = Problem();
  EXPECT_TRUE(has(check_plan(plan, it.inputs), format, {"'q'", "list"}));
  it.inputs.pop_back();
  EXPECT_TRUE(has(check_plan(plan, it.inputs), accounting, {"2 models", "1 are given"}));

  Problem list;
  list.memories = {{.name = "arena"}};
  list.buffers = {{.id = "b", .size = 8, .pieces = {{0, 8, {0, 1}}}}};
  std::vector<Input> inputs{{{.name = "list", .format = ModelFormat::csv}, list, {}}};
  const Plan planned = make_plan(inputs[0]).plan;
  EXPECT_TRUE(check_plan(planned, inputs).empty()) << text_of(check_plan(planned, inputs));
  std::get<Problem>(inputs[0].content).buffers[0].size = 9;
  EXPECT_TRUE(has(check_plan(planned, inputs), accounting, {"'b'"}));
}

}  // namespace
}  // namespace stowage
