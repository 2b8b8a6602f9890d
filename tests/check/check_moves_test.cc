// Tensors that steps copy from one memory to another.

#include <gtest/gtest.h>

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
using oracle::Sketch;

/// x -> a -> y, with b made of x before y is of a and b: meanwhile a is in slow memory.
//
//   0 Conv x a    1 copy a out    2 Conv x b    3 copy a in    4 Add a b y
PlanSketch out_and_in() {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Conv", {"x"}, {"a"});
  sketch.add(0, "Conv", {"x"}, {"b"});
  sketch.add(0, "Concat", {"a", "b"}, {"y"});
  PlanSketch it;
  it.add_memory("slow");
  it.add_model("m", sketch.graph());
  it.put("x", 0, 0, {0, 3});
  it.put("b", 0, 16, {2, 5});
  it.put("y", 0, 48, {4, 5});
  it.add_buffer("a1", 0, 16, {0, 2});
  it.add_buffer("a2", 0, 0, {1, 4}, 1);
  it.add_buffer("a3", 0, 32, {3, 5});
  it.add_view("a", "a1", {0, 2});
  it.add_view("a", "a2", {1, 4});
  it.add_view("a", "a3", {3, 5});
  it.run(0, 0, 0);
  it.copy(0, "a", "a1", "a2");
  it.run(0, 0, 1);
  it.copy(0, "a", "a2", "a3");
  it.run(0, 0, 2);
  return it;
}

Copy& copy_at(PlanSketch& it, std::size_t at) { return std::get<Copy>(it.plan.clocks[0].steps[at]); }

void set_life(PlanSketch& it, std::size_t view, const Lifetime& life) {
  View& changed = it.view("a", view);
  changed.life = life;
  it.plan.buffers[changed.buffer].pieces[0].life = life;
}

TEST(CheckMoves, TheValueIsWhereItIsLookedFor) {
  expect_wrong(out_and_in, {{"copied from where it is not",
                             [](PlanSketch& it) { std::swap(copy_at(it, 1).from, copy_at(it, 1).to); },
                             accounting,
                             {"'a'", "'a2'", "from 1 to 2"}},
                            {"copied from where it is no more",
                             [](PlanSketch& it) {
                               set_life(it, 1, {1, 3});
                             },
                             accounting,
                             {"'a'", "'a2'"}},
                            {"copied to where there is no place yet",
                             [](PlanSketch& it) {
                               set_life(it, 1, {2, 4});
                             },
                             accounting,
                             {"'a'", "'a2'", "from 1 to 2"}},
                            {"copied from where it is only later",
                             [](PlanSketch& it) { copy_at(it, 1).from = it.buffer("a3"); },
                             accounting,
                             {"'a'", "'a3'"}},
                            {"read where nobody filled it",
                             [](PlanSketch& it) {
                               copy_at(it, 3) = {it.tensor("a"), it.buffer("a2"), it.buffer("a1")};
                             },
                             accounting,
                             {"'a'", "'a3'", "read by", "'Concat2'"}},
                            {"given up before it is copied",
                             [](PlanSketch& it) {
                               set_life(it, 0, {0, 1});
                             },
                             accounting,
                             {"'a'", "'a1'"}},
                            {"given up before it is read",
                             [](PlanSketch& it) {
                               set_life(it, 2, {3, 4});
                             },
                             accounting,
                             {"'a'"}},
                            {"written nowhere",
                             [](PlanSketch& it) {
                               set_life(it, 0, {1, 2});
                             },
                             accounting,
                             {"'a'", "its writer"}},
                            {"where somebody else is",
                             [](PlanSketch& it) { it.place_of("a3").offset = 20; },
                             overlap,
                             {"'a3'", "'b'"}}});
}

TEST(CheckMoves, TheFastestViewIsRead) {
  PlanSketch stays = out_and_in();  // read from slow memory, for there is no other
  stays.plan.clocks[0].steps.erase(stays.plan.clocks[0].steps.begin() + 3);
  stays.plan.tensors[stays.tensor("a")].views.pop_back();
  stays.view("b").life = stays.buffer_of("b").pieces[0].life = {2, 4};
  stays.view("y").life = stays.buffer_of("y").pieces[0].life = {3, 4};
  EXPECT_TRUE(stays.check().empty()) << text_of(stays.check());
  set_life(stays, 1, {1, 3});
  EXPECT_TRUE(has(stays.check(), accounting, {"'a'"}));
  set_life(stays, 1, {1, 4});
  stays.add_view("a", "a3", {3, 5});  // a faster one, empty
  EXPECT_TRUE(has(stays.check(), accounting, {"'a'", "'a3'", "'Concat2'"})) << text_of(stays.check());

  PlanSketch both = out_and_in();  // two views of one memory at one time
  set_life(both, 0, {0, 5});
  both.place_of("a1").offset = 64;
  EXPECT_TRUE(has(both.check(), format, {"'a'", "two views", "'arena'"})) << text_of(both.check());
}

TEST(CheckMoves, AreOfPlainTensorsAloneInTheirBuffers) {
  expect_wrong(
      out_and_in,
      {{"no tensor", [](PlanSketch& it) { copy_at(it, 1).tensor = 99; }, format, {"step 1", "99"}},
       {"no buffer", [](PlanSketch& it) { copy_at(it, 1).to = 99; }, format, {"step 1", "99", "'a'"}},
       {"no view there",
        [](PlanSketch& it) { copy_at(it, 1).to = it.buffer("y"); },
        format,
        {"step 1", "'a'", "'y'"}},
       {"to itself", [](PlanSketch& it) { copy_at(it, 1).to = it.buffer("a1"); }, format, {"step 1", "'a'"}},
       {"a weight",
        [](PlanSketch& it) { it.plan.tensors[it.tensor("a")].tensor.kind = TensorKind::weight; },
        format,
        {"step 1", "'a'", "weight"}},
       {"in company",
        [](PlanSketch& it) { it.view("b").buffer = it.buffer("a3"); },
        format,
        {"'a'", "'a3'", "'b'"}},
       {"fed",
        [](PlanSketch& it) {
          it.add_model("other", chain("ox", "oy"));
          it.feed("a", "ox");
        },
        format,
        {"'a'", "fed"}},
       {"state",
        [](PlanSketch& it) {
          it.graph(0).ties.push_back({it.tensor("a"), it.tensor("x")});
        },
        format,
        {"'a'", "state"}},
       {"of no operator",
        [](PlanSketch& it) { it.graph(0).subgraphs[0].operators[0].outputs.clear(); },
        format,
        {"'a'", "main subgraph"}}});
}

TEST(CheckMoves, MayComeAfterTheLastOperator) {
  const auto make = [] {  // 0 Conv x y   1 copy y out
    PlanSketch it;
    it.add_memory("slow");
    it.add_model("m", chain("x", "y"));
    it.put("x", 0, 0, {0, 1});
    it.add_buffer("y1", 0, 16, {0, 2});
    it.add_buffer("y2", 0, 0, {1, 2}, 1);
    it.add_view("y", "y1", {0, 2});
    it.add_view("y", "y2", {1, 2});
    it.run_all(0, 0);
    it.copy(0, "y", "y1", "y2");
    return it;
  };
  expect_wrong(make, {{"not kept for the caller",
                       [](PlanSketch& it) {
                         it.view("y").life = it.view("y", 1).life = {0, 1};
                       },
                       accounting,
                       {"'y'"}}});
}

TEST(CheckMoves, InputsAreGivenInTheFastestViewFromTheBeginning) {
  PlanSketch it;  // 0 copy x in   1 Conv x y
  it.add_memory("slow");
  it.add_model("m", chain("x", "y"));
  it.add_buffer("x1", 0, 0, {0, 1}, 1);
  it.add_buffer("x2", 0, 0, {0, 2});
  it.add_view("x", "x1", {0, 1});
  it.add_view("x", "x2", {0, 2});
  it.put("y", 0, 16, {1, 2});
  it.copy(0, "x", "x1", "x2");
  it.run_all(0, 0);
  EXPECT_TRUE(has(it.check(), accounting, {"'x'", "'x1'"})) << text_of(it.check());
  std::swap(std::get<Copy>(it.plan.clocks[0].steps[0]).from, std::get<Copy>(it.plan.clocks[0].steps[0]).to);
  EXPECT_TRUE(it.check().empty()) << text_of(it.check());
}

TEST(CheckMoves, HappenBetweenTheOperatorsOfTheNetworkItself) {
  const auto make = [] {  // 0 Conv x a   1 copy a out   2 Loop   3 Conv in the body, of a   4 Conv y z
    Sketch sketch;
    sketch.subgraph({"x"}, {"z"});
    sketch.subgraph({}, {"out"});
    sketch.add(0, "Conv", {"x"}, {"a"});
    Operator& loop = sketch.add(0, "Loop", {"x"}, {"y"});
    loop.bodies = {1};
    loop.body_use = BodyUse::repeated;
    sketch.add(0, "Conv", {"y"}, {"z"});
    sketch.add(1, "Conv", {"a"}, {"m"});
    sketch.add(1, "Conv", {"m"}, {"out"});
    PlanSketch it;
    it.add_memory("slow");
    it.add_model("m", sketch.graph());
    it.put("x", 0, 0, {0, 5});
    it.put("y", 0, 16, {2, 6});
    it.put("z", 0, 32, {5, 6});
    it.put("m", 0, 48, {3, 5});
    it.put("out", 0, 64, {4, 5});
    it.add_buffer("a1", 0, 80, {0, 2});
    it.add_buffer("a2", 0, 0, {1, 5}, 1);
    it.add_view("a", "a1", {0, 2});
    it.add_view("a", "a2", {1, 5});
    it.run(0, 0, 0);
    it.copy(0, "a", "a1", "a2");
    it.run(0, 0, 1);
    it.run_path(0, 0, {0, 1, 1, 0});
    it.run_path(0, 0, {0, 1, 1, 1});
    it.run(0, 0, 2);
    return it;
  };
  expect_wrong(make, {{"given up before the loop ends",
                       [](PlanSketch& it) {
                         set_life(it, 1, {1, 4});
                       },
                       accounting,
                       {"'a'", "'a2'"}},
                      {"in the loop",
                       [](PlanSketch& it) {
                         auto& steps = it.plan.clocks[0].steps;
                         std::swap(steps[1], steps[2]);
                       },
                       order,
                       {"'Conv0'"}},
                      {"in its body",
                       [](PlanSketch& it) {
                         auto& steps = it.plan.clocks[0].steps;
                         std::swap(steps[1], steps[2]);
                         std::swap(steps[2], steps[3]);
                       },
                       order,
                       {"'Conv1'"}}});
}

TEST(CheckMoves, MayBeInABranch) {
  expect_wrong(
      [] {
        PlanSketch it = out_and_in();
        it.add_clock();
        std::swap(it.plan.clocks[0], it.plan.clocks[1]);
        it.fork(0, {1});
        for (Buffer& buffer : it.plan.buffers) buffer.clock = 1;
        it.buffer_of("a2").clock = 0;
        set_life(it, 1, {0, 1});
        return it;
      },
      {{"not as long as the fork",
        [](PlanSketch& it) {
          set_life(it, 1, {1, 2});
        },
        accounting,
        {"'a'", "'a2'"}},
       {"copied from where it is not",
        [](PlanSketch& it) {
          auto& copy = std::get<Copy>(it.plan.clocks[1].steps[1]);
          std::swap(copy.from, copy.to);
        },
        accounting,
        {"'a'", "'a2'", "clock 1"}}});
}

}  // namespace
}  // namespace stowage
