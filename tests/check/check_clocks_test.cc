// Plans of several clocks and models: each rule with a plan that keeps it and one that breaks just it.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "check_cases.h"
#include "plan_sketch.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

using namespace cases;
using enum FaultKind;

/// At the same time p (px, pa, py) and q (qx, qa, qy), then r (rx, ry).
PlanSketch two_branches() {
  PlanSketch it;
  it.add_model("p", chain_of_two("px", "pa", "py"));
  it.add_model("q", chain_of_two("qx", "qa", "qy"));
  it.add_model("r", chain("rx", "ry"));
  it.add_clock();
  it.add_clock();
  it.fork(0, {1, 2});
  it.run_all(1, 0);
  it.run_all(2, 1);
  it.run_all(0, 2);
  it.put("px", 1, 0, {0, 1});
  it.put("pa", 1, 16, {0, 2});
  it.put("py", 1, 0, {1, 2});
  it.put("qx", 2, 32, {0, 1});
  it.put("qa", 2, 48, {0, 2});
  it.put("qy", 2, 32, {1, 2});
  it.put("rx", 0, 0, {1, 2});
  it.put("ry", 0, 16, {1, 2});
  return it;
}

TEST(CheckClocks, BranchesMeetNothingOfEachOther) {
  expect_wrong(two_branches,
               {{"first in one branch, last in the other",
                 [](PlanSketch& it) { it.place_of("qy").offset = 8; },
                 overlap,
                 {"'qy'", "position 0"}},
                {"at once", [](PlanSketch& it) { it.place_of("qa").offset = 16; }, overlap, {"'qa'", "'pa'"}},
                {"in one branch",
                 [](PlanSketch& it) { it.place_of("pa").offset = 0; },
                 overlap,
                 {"'px'", "'pa'", "clock 1"}},
                {"parent's under a branch",
                 [](PlanSketch& it) {
                   it.add_buffer("under", 0, 56, {0, 1});
                 },
                 overlap,
                 {"'under'", "'qa'"}},
                {"parent's longer than the fork",
                 [](PlanSketch& it) {
                   it.buffer_of("ry").pieces[0].life = {0, 2};
                 },
                 overlap,
                 {"'ry'", "'pa'"}}});
  PlanSketch beside = two_branches();
  beside.add_buffer("beside", 0, 64, {0, 1});
  EXPECT_TRUE(beside.check().empty()) << text_of(beside.check());
}

/// q and r at the same time, after p, and all of that at the same time as s.
PlanSketch nested() {
  PlanSketch it;
  it.add_model("p", chain("px", "py"));
  it.add_model("q", chain("qx", "qy"));
  it.add_model("r", chain("rx", "ry"));
  it.add_model("s", chain("sx", "sy"));
  for (int i = 0; i < 4; ++i) it.add_clock();
  it.fork(0, {4, 1});
  it.run_all(1, 0);
  it.fork(1, {2, 3});
  it.run_all(2, 1);
  it.run_all(3, 2);
  it.run_all(4, 3);
  it.put("px", 1, 0, {0, 1});
  it.put("py", 1, 16, {0, 1});
  it.put("qx", 2, 0, {0, 1});
  it.put("qy", 2, 16, {0, 1});
  it.put("rx", 3, 32, {0, 1});
  it.put("ry", 3, 48, {0, 1});
  it.put("sx", 4, 64, {0, 1});
  it.put("sy", 4, 80, {0, 1});
  return it;
}

TEST(CheckClocks, ForksMayBeInForks) {
  expect_wrong(nested, {{"siblings",
                         [](PlanSketch& it) { it.place_of("rx").offset = 0; },
                         overlap,
                         {"'rx'", "'qx'", "clock 1"}},
                        {"a branch and a sibling's branch",
                         [](PlanSketch& it) { it.place_of("sy").offset = 48; },
                         overlap,
                         {"'sy'", "'ry'"}},
                        {"below a nested branch",
                         [](PlanSketch& it) {
                           it.buffer_of("py").pieces[0].life = {0, 2};
                         },
                         overlap,
                         {"'py'", "'qy'"}},
                        {"root's below all",
                         [](PlanSketch& it) {
                           it.add_buffer("low", 0, 32, {0, 1});
                         },
                         overlap,
                         {"'low'", "'rx'"}}});
}

TEST(CheckClocks, PeaksAreOfAllClocksAndBoundsAddUpAtForks) {
  for (const auto& make : {two_branches, nested}) {
    Plan plan = make().plan;
    correct_claims(plan);
    const Bytes proven = plan.summary.peak;  // 64 of both branches; 32 + 32 of both, and 32 of s
    plan.memories[0].lower_bound = plan.summary.lower_bound = proven;
    EXPECT_TRUE(check_plan(plan).empty()) << text_of(check_plan(plan));
    ++plan.memories[0].lower_bound;
    EXPECT_TRUE(has(check_plan(plan), claim, {"'arena'", std::to_string(proven + 1)}));
    --plan.memories[0].lower_bound;
    --plan.memories[0].peak;
    EXPECT_TRUE(has(check_plan(plan), claim, {"'arena'", "peak"}));
  }
}

Fork& fork_at(PlanSketch& it, std::size_t clock, std::size_t at) {
  return std::get<Fork>(it.plan.clocks[clock].steps[at]);
}

TEST(CheckClocks, EveryClockIsForkedOnce) {
  expect_wrong(
      nested, {{"twice",
                [](PlanSketch& it) { fork_at(it, 1, 1).clocks.push_back(4); },
                format,
                {"clock 4", "before"}},
               {"never", [](PlanSketch& it) { it.add_clock(); }, format, {"clock 5"}},
               {"no branch", [](PlanSketch& it) { it.fork(2, {}); }, format, {"step 1 of clock 2"}},
               {"unknown", [](PlanSketch& it) { it.fork(2, {5}); }, format, {"clock 5", "step 1 of clock 2"}},
               {"root", [](PlanSketch& it) { it.fork(2, {0}); }, format, {"root", "step 1 of clock 2"}},
               {"itself",
                [](PlanSketch& it) {
                  it.add_clock();
                  it.fork(5, {5});
                },
                format,
                {"clock 5", "itself"}},
               {"in a circle",
                [](PlanSketch& it) {
                  fork_at(it, 1, 1).clocks = {3};
                  it.add_clock();
                  it.fork(5, {2});
                  it.fork(2, {5});
                },
                format,
                {"clock 2", "itself"}},
               {"buffer of no clock",
                [](PlanSketch& it) { it.buffer_of("sy").clock = 5; },
                format,
                {"'sy'", "clock 5"}},
               {"model of no step",
                [](PlanSketch& it) { it.run(2, 9, 0); },
                format,
                {"model 9", "step 1 of clock 2"}}});
}

TEST(CheckClocks, ForksAreOnlySoDeep) {
  PlanSketch it;
  for (std::size_t c = 0; c < 3000; ++c) it.fork(c, {it.add_clock()});
  EXPECT_TRUE(has(it.check(), format, {"deep"}));
}

TEST(CheckClocks, StepsOfAModelAreNextToEachOther) {
  expect_wrong(two_branches, {{"on two clocks",
                               [](PlanSketch& it) {
                                 it.plan.clocks[1].steps.pop_back();
                                 it.run(2, 0, 1);
                               },
                               format,
                               {"'p'", "step 2 of clock 2"}},
                              {"another model between",
                               [](PlanSketch& it) {
                                 auto& steps = it.plan.clocks[1].steps;
                                 steps.insert(steps.begin() + 1, it.plan.clocks[0].steps[1]);
                                 it.plan.clocks[0].steps.pop_back();
                               },
                               format,
                               {"'p'", "step 2 of clock 1"}},
                              {"a fork between",
                               [](PlanSketch& it) {
                                 auto& steps = it.plan.clocks[1].steps;
                                 steps.insert(steps.begin() + 1, Fork{{it.add_clock()}});
                               },
                               format,
                               {"'p'", "step 2 of clock 1"}}});
}

TEST(CheckClocks, ANeedIsMetOnTheModelsClockOrOneThatForksIt) {
  expect_wrong(
      [] {
        PlanSketch it = two_branches();  // pa in a buffer of the root, alive as long as the fork
        it.buffer_of("pa").clock = 0;
        it.buffer_of("pa").pieces[0].life = it.view("pa").life = {0, 1};
        return it;
      },
      {{"alive after the fork",
        [](PlanSketch& it) {
          it.buffer_of("pa").pieces[0].life = it.view("pa").life = {1, 2};
          it.place_of("pa").offset = 99;
        },
        accounting,
        {"'pa'"}},
       {"on the sibling's clock",
        [](PlanSketch& it) {
          it.buffer_of("pa").clock = 2;
          it.buffer_of("pa").pieces[0].life = it.view("pa").life = {0, 2};
        },
        accounting,
        {"'pa'", "clock 1"}},
       {"of a tensor of the sibling's, too",
        [](PlanSketch& it) {
          it.buffer_of("pa").pieces[0].life = {0, 1};
          it.view("qy") = {it.buffer("pa"), 0, {0, 1}, std::nullopt};
        },
        overlap,
        {"'pa'", "'qy'"}},
       {"of another tensor of the branch, at one time",
        [](PlanSketch& it) {
          it.view("px") = {it.buffer("pa"), 0, {0, 1}, std::nullopt};
        },
        overlap,
        {"'px'", "'pa'"}}});
  PlanSketch in_turn = two_branches();  // px, then py in a buffer of the root
  for (const char* const name : {"px", "py"}) {
    in_turn.buffer_of(name).clock = 0;
    in_turn.buffer_of(name).pieces[0].life = {0, 1};
    in_turn.view(name) = {in_turn.buffer("px"), 0, {0, 1}, std::nullopt};
  }
  in_turn.place_of("py").offset = 64;
  EXPECT_TRUE(in_turn.check().empty()) << text_of(in_turn.check());
}

/// p, then q, on one clock.
PlanSketch one_after_the_other() {
  PlanSketch it;
  it.add_model("p", chain_of_two("px", "pa", "py"));
  it.add_model("q", chain_of_two("qx", "qa", "qy"));
  it.run_all(0, 0);
  it.run_all(0, 1);
  it.put("px", 0, 0, {0, 1});
  it.put("pa", 0, 16, {0, 2});
  it.put("py", 0, 0, {1, 2});
  it.put("qx", 0, 0, {2, 3});
  it.put("qa", 0, 16, {2, 4});
  it.put("qy", 0, 0, {3, 4});
  return it;
}

TEST(CheckClocks, ModelsAfterEachOtherShareMemory) {
  expect_wrong(
      one_after_the_other,
      {{"output that ends before its model does",
        [](PlanSketch& it) {
          it.view("py").life = {1, 1};
        },
        accounting,
        {"'py'"}},
       {"input that begins after its model does",
        [](PlanSketch& it) {
          it.view("qx").life = {3, 3};
        },
        accounting,
        {"'qx'", "from 2 to 3"}},
       {"steps of the second model that are the wrong ones",
        [](PlanSketch& it) {
          std::get<stowage::Run>(it.plan.clocks[0].steps[3]).path = {0, 0};
        },
        order,
        {"'Conv1'"}},
       {"one buffer for tensors of both at one time",
        [](PlanSketch& it) {
          it.buffer_of("pa").pieces[0].life = {0, 4};
          it.plan.tensors[it.tensor("qa")].views = {{it.buffer("pa"), 0, {2, 4}, std::nullopt}};
          it.plan.tensors[it.tensor("qx")].views = {{it.buffer("pa"), 0, {2, 3}, std::nullopt}};
          it.buffer_of("qa").pieces[0].life = it.buffer_of("qx").pieces[0].life = {0, 0};
        },
        overlap,
        {"'qx'", "'qa'"}},
       {"a third model", [](PlanSketch& it) { it.plan.models.emplace_back(); }, accounting, {"3 models"}}});
}

/// State old, new of p, while q runs, and before r.
PlanSketch state_in_a_branch() {
  oracle::Sketch sketch;
  sketch.subgraph({"px", "old"}, {"new"});
  sketch.add(0, "Conv", {"px", "old"}, {"pa"});
  sketch.add(0, "Conv", {"pa"}, {"new"});
  sketch.tie("new", "old");
  PlanSketch it;
  it.add_model("p", sketch.graph());
  it.add_model("q", chain("qx", "qy"));
  it.add_model("r", chain("rx", "ry"));
  it.add_clock();
  it.add_clock();
  it.run_all(0, 2);
  it.fork(0, {1, 2});
  it.run_all(1, 0);
  it.run_all(2, 1);
  it.add_buffer("state", 0, 100, {0, 2}).kind = TensorKind::state;
  it.add_view("old", "state", {0, 2});
  it.add_view("new", "state", {0, 2});
  it.put("px", 1, 0, {0, 1});
  it.put("pa", 1, 16, {0, 2});
  it.put("qx", 2, 32, {0, 1});
  it.put("qy", 2, 48, {0, 1});
  it.put("rx", 0, 0, {0, 1});
  it.put("ry", 0, 16, {0, 1});
  return it;
}

TEST(CheckClocks, StateIsKeptFromTheBeginningToTheEnd) {
  expect_wrong(
      state_in_a_branch,
      {{"only since the fork",
        [](PlanSketch& it) {
          it.view("old").life = {1, 2};
        },
        accounting,
        {"'old'"}},
       {"on a branch", [](PlanSketch& it) { it.buffer_of("state").clock = 1; }, accounting, {"'old'"}},
       {"somebody else before the fork",
        [](PlanSketch& it) {
          it.plan.tensors[it.tensor("rx")].views = {{it.buffer("state"), 0, {0, 1}, std::nullopt}};
        },
        overlap,
        {"'rx'", "'old'"}},
       {"somebody else in another branch",
        [](PlanSketch& it) {
          it.plan.tensors[it.tensor("qx")].views = {{it.buffer("state"), 0, {1, 2}, std::nullopt}};
        },
        overlap,
        {"'qx'"}},
       {"the old one is read after the new one is written",
        [](PlanSketch& it) {
          auto& operators = it.graph(0).subgraphs[0].operators;
          operators[1].inputs.push_back(operators[0].inputs[1]);
          operators[1].type = "Concat";
        },
        overlap,
        {"'old'", "'new'"}}});
}

}  // namespace
}  // namespace stowage
