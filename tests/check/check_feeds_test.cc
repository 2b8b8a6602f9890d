// Outputs that are inputs of models that run later.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "check_cases.h"
#include "plan_sketch.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

using namespace cases;
using enum FaultKind;

/// p, whose py becomes qx of q, two positions later, for r runs between.
PlanSketch fed_later() {
  PlanSketch it;
  it.add_model("p", chain_of_two("px", "pa", "py"));
  it.add_model("r", chain("rx", "ry"));
  it.add_model("q", chain_of_two("qx", "qa", "qy"));
  it.run_all(0, 0);
  it.run_all(0, 1);
  it.run_all(0, 2);
  it.put("px", 0, 0, {0, 1});
  it.put("pa", 0, 16, {0, 2});
  it.put("py", 0, 32, {1, 4});
  it.put("rx", 0, 0, {2, 3});
  it.put("ry", 0, 16, {2, 3});
  it.add_view("qx", "py", {3, 4});
  it.put("qa", 0, 0, {3, 5});
  it.put("qy", 0, 16, {4, 5});
  it.feed("py", "qx");
  return it;
}

void stay_in(PlanSketch& it, const std::string& tensor, const std::string& buffer, const Lifetime& life) {
  it.plan.tensors[it.tensor(tensor)].views = {{it.buffer(buffer), 0, life, std::nullopt}};
}

TEST(CheckFeeds, AnOutputStaysUntilItsReadersHaveReadIt) {
  expect_wrong(fed_later, {{"not reserved until then",
                            [](PlanSketch& it) {
                              it.view("py").life = {1, 3};
                            },
                            accounting,
                            {"'py'"}},
                           {"reserved for somebody else as well",
                            [](PlanSketch& it) {
                              stay_in(it, "rx", "py", {2, 3});
                            },
                            overlap,
                            {"'rx'", "'py'"}},
                           {"written over while it is read",
                            [](PlanSketch& it) {
                              it.buffer_of("py").pieces[0].life = {1, 5};
                              stay_in(it, "qa", "py", {3, 5});
                            },
                            overlap,
                            {"'qa'"}},
                           {"written over in place by its reader",
                            [](PlanSketch& it) {
                              for (Operator& op : it.graph(2).subgraphs[0].operators) op.type = "Relu";
                              it.buffer_of("py").pieces[0].life = {1, 5};
                              stay_in(it, "qa", "py", {3, 5});
                              it.view("qx").life = {3, 3};
                            },
                            accounting,
                            {"'qx'"}}});
}

/// p, then q; nobody takes py before the end.
PlanSketch kept_output() {
  PlanSketch it;
  it.add_model("p", chain("px", "py"));
  it.add_model("q", chain("qx", "qy"));
  it.run_all(0, 0);
  it.run_all(0, 1);
  it.put("px", 0, 0, {0, 1});
  it.put("py", 0, 16, {0, 2});
  it.put("qx", 0, 0, {1, 2});
  it.put("qy", 0, 32, {1, 2});
  it.plan.released.clear();
  return it;
}

TEST(CheckOutputs, StayUntilThePlanEnds) {
  expect_wrong(kept_output, {{"not to the end",
                              [](PlanSketch& it) {
                                it.view("py").life = {0, 1};
                              },
                              accounting,
                              {"'py'"}},
                             {"written over",
                              [](PlanSketch& it) {
                                it.buffer_of("py").pieces[0].life = {0, 1};
                                it.view("py").life = {0, 1};
                                it.place_of("qy").offset = 16;
                              },
                              accounting,
                              {"'py'", "other models"}},
                             {"written over in its own buffer",
                              [](PlanSketch& it) {
                                it.view("qy") = it.view("py");
                                it.view("qy").life = {1, 2};
                              },
                              overlap,
                              {"'py'", "'qy'"}}});
  PlanSketch taken = kept_output();  // by the caller, before q writes over it
  taken.plan.released = {taken.tensor("py")};
  taken.buffer_of("py").pieces[0].life = {0, 1};
  taken.view("py").life = {0, 1};
  taken.place_of("qy").offset = 16;
  EXPECT_TRUE(taken.check().empty()) << text_of(taken.check());
}

TEST(CheckOutputs, AreReleasedOnce) {
  expect_wrong(kept_output, {{"unknown", [](PlanSketch& it) { it.plan.released = {9}; }, format, {"9"}},
                             {"twice",
                              [](PlanSketch& it) {
                                it.plan.released = {it.tensor("py"), it.tensor("py")};
                              },
                              format,
                              {"'py'", "twice"}},
                             {"no output",
                              [](PlanSketch& it) { it.plan.released = {it.tensor("qx")}; },
                              accounting,
                              {"'qx'", "no output"}}});
}

/// p and q at the same time, then r, if anything comes then.
PlanSketch kept_in_branches(bool has_end) {
  PlanSketch it;
  it.add_model("p", chain("px", "py"));
  it.add_model("q", chain("qx", "qy"));
  it.add_clock();
  it.add_clock();
  it.fork(0, {1, 2});
  it.run_all(1, 0);
  it.run_all(2, 1);
  it.put("px", 1, 0, {0, 1});
  it.put("py", 1, 16, {0, 1});
  it.put("qx", 2, 32, {0, 1});
  it.put("qy", 2, 48, {0, 1});
  it.plan.released.clear();
  if (!has_end) return it;
  it.add_model("r", chain("rx", "ry"));
  it.run_all(0, 2);
  it.put("rx", 0, 0, {1, 2});
  it.put("ry", 0, 32, {1, 2});
  return it;
}

TEST(CheckOutputs, OfBranchesStayWhenThatForkIsDone) {
  const PlanSketch at_the_end = kept_in_branches(false);
  EXPECT_TRUE(at_the_end.check().empty()) << text_of(at_the_end.check());
  const auto on_the_root = [] {
    PlanSketch it = kept_in_branches(true);
    for (const char* const name : {"py", "qy"}) {
      it.buffer_of(name).clock = 0;
      it.buffer_of(name).pieces[0].life = {0, 2};
      it.view(name).life = {0, 2};
    }
    return it;
  };
  expect_wrong(on_the_root, {{"on the branch's clock",
                              [](PlanSketch& it) {
                                it.buffer_of("py").clock = 1;
                                it.buffer_of("py").pieces[0].life = {0, 1};
                                it.view("py").life = {0, 1};
                              },
                              accounting,
                              {"'py'"}},
                             {"until the fork is done",
                              [](PlanSketch& it) {
                                it.view("qy").life = {0, 1};
                              },
                              accounting,
                              {"'qy'"}},
                             {"under what comes then",
                              [](PlanSketch& it) { it.place_of("ry").offset = 48; },
                              overlap,
                              {"'ry'", "'qy'"}}});
}

TEST(CheckOutputs, AreNotOverwrittenByModelsWithoutSteps) {
  // r hands on what it is given when the branches have ended, from where py is.
  PlanSketch it = kept_in_branches(false);
  oracle::Sketch hands_on;
  hands_on.subgraph({"rx"}, {"rx"});
  it.add_model("r", hands_on.graph());
  it.plan.released.clear();
  it.put("rx", 0, 64, {1, 2});
  EXPECT_TRUE(has(it.check(), accounting, {"'py'"})) << text_of(it.check());
}

TEST(CheckOutputs, ThatMoveStayInTheirModel) {
  PlanSketch it;
  it.add_memory("slow");
  it.add_model("p", chain("px", "py"));
  it.add_model("q", chain("qx", "qy"));
  it.run_all(0, 0);
  it.put("px", 0, 0, {0, 1});
  it.put("py", 0, 16, {0, 2});
  it.add_buffer("far", 0, 0, {1, 3}, 1);
  it.add_view("py", "far", {1, 3});
  it.copy(0, "py", "py", "far");
  it.run_all(0, 1);
  it.put("qx", 0, 0, {2, 3});
  it.put("qy", 0, 16, {2, 3});
  EXPECT_TRUE(it.check().empty()) << text_of(it.check());  // released
  it.plan.released = {it.tensor("qy")};
  EXPECT_TRUE(has(it.check(), format, {"'py'", "copied"})) << text_of(it.check());
}

TEST(CheckFeeds, BothAreInOnePlace) {
  expect_wrong(fed_later, {{"another buffer",
                            [](PlanSketch& it) {
                              it.add_buffer("apart", 0, 64, {3, 4});
                              stay_in(it, "qx", "apart", {3, 4});
                            },
                            accounting,
                            {"'qx'", "'py'", "one place"}},
                           {"another offset",
                            [](PlanSketch& it) {
                              it.buffer_of("py").size = 32;
                              it.buffer_of("py").pieces[0].size = 32;
                              it.view("qx").offset = 8;
                            },
                            accounting,
                            {"'qx'", "'py'", "one place"}},
                           {"the caller's",
                            [](PlanSketch& it) { it.plan.tensors[it.tensor("qx")].views.clear(); },
                            accounting,
                            {"'qx'", "'py'", "one place"}}});
  PlanSketch external = fed_later();  // both are the caller's
  for (const char* const name : {"py", "qx"}) external.plan.tensors[external.tensor(name)].views.clear();
  EXPECT_TRUE(external.check().empty()) << text_of(external.check());
}

TEST(CheckFeeds, TheReaderRunsAfterItsFeeder) {
  PlanSketch backwards = fed_later();
  std::swap(backwards.plan.feeds[0].output, backwards.plan.feeds[0].input);
  EXPECT_TRUE(has(backwards.check(), order, {"'px'"}) || has(backwards.check(), order, {"'py'", "'qx'"}));

  PlanSketch at_once = fed_later();
  at_once.add_clock();
  at_once.add_clock();
  auto& root = at_once.plan.clocks[0].steps;
  at_once.plan.clocks[1].steps = {root[0], root[1]};
  at_once.plan.clocks[2].steps = {root[3], root[4]};
  root = {root[2], Fork{{1, 2}}};
  EXPECT_TRUE(has(at_once.check(), order, {"'qx'", "'py'", "'q'", "'p'"})) << text_of(at_once.check());
}

TEST(CheckFeeds, JoinTensorsThatAreAlike) {
  expect_wrong(
      fed_later,
      {{"bytes",
        [](PlanSketch& it) {
          Tensor& tensor = it.plan.tensors[it.tensor("qx")].tensor;
          tensor.shape = Shape{8};
          tensor.bytes = 8;
        },
        format,
        {"'qx'", "'py'", "8 bytes"}},
       {"element type",
        [](PlanSketch& it) { it.plan.tensors[it.tensor("qx")].tensor.dtype = DType::int8; },
        format,
        {"'qx'", "'py'", "int8"}},
       {"same model", [](PlanSketch& it) { it.feed("px", "pa"); }, format, {"'px'", "'pa'", "same model"}},
       {"twice", [](PlanSketch& it) { it.feed("ry", "qx"); }, format, {"'qx'", "twice"}},
       {"in a circle", [](PlanSketch& it) { it.feed("qx", "py"); }, format, {"'py'", "circle"}},
       {"unknown",
        [](PlanSketch& it) {
          it.plan.feeds.push_back({0, 99});
        },
        format,
        {"99"}},
       {"no output", [](PlanSketch& it) { it.feed("pa", "rx"); }, accounting, {"'pa'", "no output"}},
       {"no input", [](PlanSketch& it) { it.feed("py", "ry"); }, accounting, {"'ry'", "no input"}}});
}

/// p and r, then q and s, at the same time; py feeds qx and sx.
PlanSketch fed_across_clocks() {
  PlanSketch it;
  for (const std::string name : {"p", "r", "q", "s"}) it.add_model(name, chain(name + "x", name + "y"));
  for (std::size_t m = 0; m < 4; ++m) it.run_all(it.add_clock(), m);
  it.fork(0, {1, 2});
  it.fork(0, {3, 4});
  it.put("px", 1, 0, {0, 1});
  it.put("rx", 2, 16, {0, 1});
  it.put("ry", 2, 32, {0, 1});
  it.put("py", 0, 48, {0, 2});
  it.add_view("qx", "py", {1, 2});
  it.add_view("sx", "py", {1, 2});
  it.put("qy", 3, 0, {0, 1});
  it.put("sy", 4, 16, {0, 1});
  it.feed("py", "qx");
  it.feed("py", "sx");
  return it;
}

TEST(CheckFeeds, MayLeadFromBranchToBranches) {
  expect_wrong(fed_across_clocks, {{"in a buffer of the feeder's clock",
                                    [](PlanSketch& it) { it.buffer_of("py").clock = 1; },
                                    accounting,
                                    {"'py'"}},
                                   {"until the first fork is done",
                                    [](PlanSketch& it) {
                                      it.view("py").life = {0, 1};
                                    },
                                    accounting,
                                    {"'py'"}},
                                   {"somebody of another branch while it is written",
                                    [](PlanSketch& it) {
                                      stay_in(it, "rx", "py", {0, 1});
                                    },
                                    overlap,
                                    {"'rx'", "'py'"}},
                                   {"somebody of a branch while it is read",
                                    [](PlanSketch& it) {
                                      stay_in(it, "sy", "py", {1, 2});
                                    },
                                    overlap,
                                    {"'sy'"}},
                                   {"a branch's buffer below it",
                                    [](PlanSketch& it) { it.place_of("sy").offset = 40; },
                                    overlap,
                                    {"'sy'", "'py'"}}});
}

/// py feeds hx of h, which has no steps and hands it on to qx.
PlanSketch handed_on() {
  oracle::Sketch hands_on;
  hands_on.subgraph({"hx"}, {"hx"});
  PlanSketch it;
  it.add_model("p", chain("px", "py"));
  it.add_model("h", hands_on.graph());
  it.add_model("q", chain("qx", "qy"));
  it.run_all(0, 0);
  it.run_all(0, 2);
  it.put("px", 0, 0, {0, 1});
  it.put("py", 0, 16, {0, 2});
  it.add_view("hx", "py", {1, 2});
  it.add_view("qx", "py", {1, 2});
  it.put("qy", 0, 0, {1, 2});
  it.feed("py", "hx");
  it.feed("hx", "qx");
  return it;
}

TEST(CheckFeeds, ReachThroughModelsWithoutSteps) {
  expect_wrong(handed_on,
               {{"order",
                 [](PlanSketch& it) { std::swap(it.plan.clocks[0].steps[0], it.plan.clocks[0].steps[1]); },
                 order,
                 {"'qx'", "'q'", "'p'"}},
                {"place",
                 [](PlanSketch& it) {
                   it.add_buffer("apart", 0, 64, {1, 2});
                   stay_in(it, "hx", "apart", {1, 2});
                 },
                 accounting,
                 {"'hx'", "'py'"}},
                {"life",
                 [](PlanSketch& it) {
                   it.view("py").life = {0, 1};
                 },
                 accounting,
                 {"'py'"}}});
}

TEST(CheckFeeds, WhatIsFedIsWhatTheOutputWasMadeOf) {
  const auto make = [] {  // y has its bytes from a and b, and z of q the upper ones of them
    oracle::Sketch p;
    p.subgraph({"px"}, {"py"});
    p.add(0, "Conv", {"px"}, {"a"});
    p.add(0, "Conv", {"px"}, {"b"});
    p.add(0, "Concat", {"a", "b"}, {"py"}).copies = {{0, 0, 0, 0, 16}, {1, 0, 0, 16, 16}};
    p.tensor("py").shape = Shape{32};
    p.tensor("py").bytes = 32;
    oracle::Sketch q;
    q.subgraph({"qx"}, {"qy"});
    q.add(0, "Slice", {"qx"}, {"z"}).copies = {{0, 0, 16, 0, 16}};
    q.add(0, "Conv", {"z"}, {"qy"});
    q.tensor("qx").shape = Shape{32};
    q.tensor("qx").bytes = 32;
    PlanSketch it;
    it.add_model("p", p.graph());
    it.add_model("q", q.graph());
    it.run_all(0, 0);
    it.run_all(0, 1);
    it.add_buffer("all", 0, 0, {0, 5}).size = 32;
    it.buffer_of("all").pieces[0].size = 32;
    it.add_view("a", "all", {0, 3});
    it.add_view("b", "all", {1, 3});
    it.view("b").offset = 16;
    it.add_view("py", "all", {2, 4});
    it.add_view("qx", "all", {3, 4});
    it.add_view("z", "all", {3, 5});
    it.view("z").offset = 16;
    it.put("px", 0, 32, {0, 2});
    it.put("qy", 0, 48, {4, 5});
    it.feed("py", "qx");
    it.plan.copies_removed = {3, 48};
    return it;
  };
  expect_wrong(make,
               {{"the other bytes", [](PlanSketch& it) { it.view("z").offset = 0; }, overlap, {"'z'"}}});
}

}  // namespace
}  // namespace stowage
