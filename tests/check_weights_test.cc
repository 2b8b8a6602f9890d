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
