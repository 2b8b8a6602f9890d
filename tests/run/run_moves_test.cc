// Runs of plans whose tensors move between memories.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "run_sketch.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::adding;
using testing::output_alone;
using testing::PlanSketch;

/// x -> t1 -> t2 -> y in a small memory m0; t1 is spilled to m1 and fetched again, for an operator that reads
/// it and t2 late:
///
///   position   0     1      2     3      4
///   step       x+x   spill  t1+t1 fetch  t2+t1
///   t1 in m0   |===========|
///   t1 in m1         |=============|
///   t1 in m0                      |======|
PlanSketch spilled() {
  Network network = adding("a", 3);
  Graph graph = network.graph();
  graph.subgraphs[0].operators[2].inputs[1] = 1;
  network.input.content = graph;
  PlanSketch sketch({network}, 2);
  sketch.put("a.x", {.offset = 16, .life = {0, 1}});
  sketch.put("a.t1", {.offset = 0, .life = {0, 3}});
  sketch.put("a.t1", {.memory = 1, .offset = 4, .life = {1, 4}});
  sketch.put("a.t2", {.offset = 16, .life = {2, 5}});
  sketch.put("a.y", {.offset = 32, .life = {4, 5}});
  sketch.buffer("a.t1").id = "first";
  sketch.put("a.t1", {.offset = 0, .life = {3, 5}});
  sketch.run(0, "a", 0);
  sketch.copy(0, "a.t1", "first", "a.t1@m1");
  sketch.run(0, "a", 1);
  sketch.copy(0, "a.t1", "a.t1@m1", "a.t1");
  sketch.run(0, "a", 2);
  return sketch;
}

TEST(RunMoves, SpillAndFetch) {
  PlanSketch sketch = spilled();
  for (const RunCheck check : {RunCheck::none, RunCheck::outputs, RunCheck::tensors}) {
    const RunResult result = sketch.result(7, check);
    ASSERT_FALSE(result.fault) << result.fault->what;
    EXPECT_EQ(result.outputs.at(0).array, output_alone(sketch.networks()[0], 7));
    ASSERT_EQ(result.steps.size(), 5U);
    EXPECT_EQ(result.steps[1].what, "copy of tensor 't1' from 'm0' to 'm1'");
    EXPECT_EQ(result.steps[1].position, 1);
    EXPECT_EQ(result.steps[1].highest, (std::vector<Bytes>{16, 20}));
    EXPECT_EQ(result.steps[3].what, "copy of tensor 't1' from 'm1' to 'm0'");
    EXPECT_EQ(result.touched, (std::vector<Bytes>{48, 20}));
  }
}

TEST(RunMoves, ReadTheFastestOfSeveralPlaces) {
  PlanSketch sketch = spilled();
  const RunResult result = sketch.result();
  ASSERT_FALSE(result.fault);
  EXPECT_EQ(result.steps[2].highest, (std::vector<Bytes>{32, 0}));  // not from m1, where t1 is, too
  // Without the fetch, the last operator reads the slow place, as long as no fast one is alive.
  sketch.plan().clocks[0].steps.erase(sketch.plan().clocks[0].steps.begin() + 3);
  sketch.plan().tensors[1].views.pop_back();
  sketch.buffer("a.t1").pieces.clear();
  sketch.tensor("a.t1").views[1].life.upper = 5;
  sketch.buffer("a.t1@m1").pieces[0].life.upper = 5;
  sketch.tensor("a.y").views[0].life = {3, 5};
  sketch.buffer("a.y").pieces[0].life = {3, 5};
  const RunResult slow = sketch.result();
  ASSERT_FALSE(slow.fault) << slow.fault->what;
  EXPECT_EQ(slow.outputs.at(0).array, result.outputs.at(0).array);
  EXPECT_EQ(slow.steps.at(3).highest, (std::vector<Bytes>{48, 20}));
}

TEST(RunMoves, DoNotReadWhereTheValueWasNotCopied) {
  PlanSketch sketch = spilled();
  auto& steps = sketch.plan().clocks[0].steps;
  std::swap(steps[3], steps[4]);
  sketch.tensor("a.y").views[0].life = {3, 5};
  sketch.buffer("a.y").pieces[0].life = {3, 5};
  for (const RunCheck check : {RunCheck::none, RunCheck::tensors}) {
    EXPECT_EQ(sketch.fault(0, check),
              "operator 'a2' (Add, 2 of subgraph 0) reads tensor 't1', but nothing was written to byte 0 of "
              "memory 'm0', held by buffer 'a.t1', where it should be");
  }
}

TEST(RunMoves, DoNotReadWhatCameBackWithoutACopy) {
  // The same bytes of the same buffer, which had the value once.
  PlanSketch sketch = spilled();
  sketch.buffer("first").pieces = {{0, 16, {0, 2}}, {0, 16, {3, 4}}};
  sketch.buffer("a.t1").pieces.clear();
  sketch.tensor("a.t1").views.pop_back();
  sketch.tensor("a.t1").views[0].life = {0, 2};
  sketch.view("a.t1", "first", {3, 4});
  sketch.buffer("a.y").pieces[0].life.lower = 3;
  sketch.tensor("a.y").views[0].life.lower = 3;
  auto& steps = sketch.plan().clocks[0].steps;
  steps.erase(steps.begin() + 3);
  EXPECT_EQ(sketch.fault(0, RunCheck::none),
            "operator 'a2' (Add, 2 of subgraph 0) reads tensor 't1', but nothing was written to byte 0 of "
            "memory 'm0', held by buffer 'first', where it should be");
}

TEST(RunMoves, DoNotCopyFromWhereNothingIsOrToWhereNoPlaceIs) {
  PlanSketch empty = spilled();
  std::get<stowage::Copy>(empty.plan().clocks[0].steps[1]) = {1, 2, 1};
  EXPECT_EQ(empty.fault(),
            "the copy of tensor 't1' from 'm1' to 'm0' reads tensor 't1', but nothing was written to byte 4 "
            "of memory 'm1', held by buffer 'a.t1@m1', where it should be");
  PlanSketch late = spilled();
  late.tensor("a.t1").views[1].life.lower = 2;
  EXPECT_EQ(late.fault(),
            "tensor 't1' has no place in buffer 'a.t1@m1' at position 1, which the copy of tensor 't1' from "
            "'m0' to "
            "'m1' needs");
  PlanSketch unheld = spilled();
  unheld.buffer("a.t1@m1").pieces[0].life.lower = 2;
  EXPECT_NE(
      unheld.fault().find("the copy of tensor 't1' from 'm0' to 'm1' needs byte 4 of memory 'm1', which "
                          "nobody holds"),
      std::string::npos)
      << unheld.fault();
}

TEST(RunMoves, DoNotCopyWhatWasWrittenOver) {
  PlanSketch sketch = spilled();
  // t2 is written where t1 is spilled to, in a buffer of its own, while that of t1 reserves nothing.
  auto& places = sketch.plan().places;
  places[sketch.tensor("a.t2").views[0].buffer] = places[sketch.tensor("a.t1").views[1].buffer];
  sketch.buffer("a.t1@m1").pieces = {{0, 16, {1, 2}}, {0, 16, {3, 4}}};
  sketch.buffer("a.t2").pieces = {{0, 16, {2, 3}}};
  EXPECT_EQ(sketch.fault(0, RunCheck::none),
            "the copy of tensor 't1' from 'm1' to 'm0' reads tensor 't1', but nothing was written to byte 4 "
            "of memory 'm1', held by buffer 'a.t1@m1', where it should be");
}

TEST(RunMoves, CopiesWriteOverOthers) {
  PlanSketch sketch = spilled();
  // t1 is fetched to where t2 lies, while the buffer of t2 reserves nothing.
  auto& places = sketch.plan().places;
  places[sketch.tensor("a.t1").views[2].buffer] = places[sketch.tensor("a.t2").views[0].buffer];
  sketch.buffer("a.t2").pieces = {{0, 16, {2, 3}}, {0, 16, {4, 5}}};
  sketch.buffer("a.t1").pieces = {{0, 16, {3, 4}}};
  EXPECT_EQ(sketch.fault(0, RunCheck::none),
            "operator 'a2' (Add, 2 of subgraph 0) reads tensor 't2', but nothing was written to byte 16 of "
            "memory 'm0', held by buffer 'a.t2', where it should be");
}

TEST(RunMoves, HappenOnTheClockOfTheirModel) {
  PlanSketch sketch = spilled();
  auto& steps = sketch.plan().clocks[0].steps;
  sketch.plan().clocks.push_back({{steps[3]}});
  sketch.plan().clocks[0].steps[3] = Fork{{1}};
  EXPECT_EQ(sketch.fault(), "step 4 of clock 0 is of model 0 ('a'), whose other steps are not next to it");
}

TEST(RunMoves, InputsMayBeFetchedBeforeTheFirstOperator) {
  PlanSketch sketch({adding("a", 1)}, 2);
  sketch.put("a.x", {.memory = 1, .life = {0, 1}});
  sketch.put("a.x", {.life = {0, 2}});
  sketch.put("a.y", {.offset = 16, .life = {1, 2}});
  sketch.copy(0, "a.x", "a.x@m1", "a.x");
  sketch.run(0, "a", 0);
  const RunResult result = sketch.result(1);
  ASSERT_FALSE(result.fault) << result.fault->what;
  EXPECT_EQ(result.outputs.at(0).array, output_alone(sketch.networks()[0], 1));
  EXPECT_EQ(result.steps.at(1).highest, (std::vector<Bytes>{32, 0}));
}

}  // namespace
}  // namespace stowage
