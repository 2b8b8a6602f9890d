// The machine that others are tested with sees what it is there to see.

#include "oracle/byte_machine.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "check_cases.h"
#include "oracle/random_graph.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

using namespace cases;
using oracle::Sketch;

std::string difference_in(const Case& it) {
  return oracle::try_plan(it.graph, it.plan).difference.value_or("none");
}

/// Puts the tensor where the other one is, so many bytes further up.
void move_onto(Case& it, const std::string& name, const std::string& other, Bytes shift = 0) {
  const View target = tensor_named(it.plan, other).views[0];
  it.plan.buffers[target.buffer].size += shift;
  it.plan.places[target.buffer].offset = 1024;
  for (View& view : tensor_named(it.plan, name).views) {
    view.buffer = target.buffer;
    view.offset = target.offset + shift;
  }
  it.plan.buffers[target.buffer].pieces = {{0, it.plan.buffers[target.buffer].size, {0, 100}}};
}

/// x -> a, a2 -> b (with scratch) -> y
Sketch small_sketch(const std::string& type = "Conv") {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Conv", {"x"}, {"a", "a2"});
  sketch.add(0, type, {"a"}, {"b"}).scratch = {sketch.id("s")};
  sketch.add(0, "Conv", {"b", "a2"}, {"y"});
  sketch.tensor("s").kind = TensorKind::scratch;
  return sketch;
}

TEST(ByteMachine, FindsNothingInASoundPlan) {
  EXPECT_EQ(difference_in(case_of(small_sketch().graph())), "none");
}

TEST(ByteMachine, SeesWhatIsNotReserved) {
  Case it = case_of(small_sketch().graph());
  it.plan.buffers[buffer_named(it.plan, "a2")].pieces[0].life.upper = 1;
  EXPECT_NE(difference_in(it).find("'a2' has another byte 0, for Conv2 at position 2"), std::string::npos)
      << difference_in(it);
}

TEST(ByteMachine, SeesWhatIsWrittenOver) {
  for (const auto& [moved, onto] :
       {std::pair("b", "a2"), std::pair("a", "a2"), std::pair("b", "a"), std::pair("s", "a"),
        std::pair("s", "b"), std::pair("s", "a2"), std::pair("y", "b")}) {
    for (const Bytes shift : {0, 5}) {
      Case it = case_of(small_sketch().graph());
      move_onto(it, moved, onto, shift);
      EXPECT_NE(difference_in(it), "none") << moved << " on " << onto;
    }
  }
}

TEST(ByteMachine, LetsElementsBeReplacedButNotMoved) {
  Case in_place = case_of(small_sketch("Relu").graph());
  move_onto(in_place, "b", "a");
  EXPECT_EQ(difference_in(in_place), "none");
  for (const Bytes shift : {1, 2, 8, 14}) {
    Case up = case_of(small_sketch("Relu").graph());
    move_onto(up, "b", "a", shift);
    EXPECT_NE(difference_in(up), "none") << shift;
    Case down = case_of(small_sketch("Relu").graph());
    move_onto(down, "a", "b", shift);
    EXPECT_NE(difference_in(down), "none") << shift;
  }
}

TEST(ByteMachine, MakesOnlyCopiesThatAreNotInPlace) {
  Sketch sketch = small_sketch("Reshape");
  sketch.graph().subgraphs[0].operators[1].copies = {{0, 0, 0, 0, 16}};
  Case apart = case_of(sketch.graph());
  EXPECT_EQ(difference_in(apart), "none");
  EXPECT_EQ(oracle::try_plan(apart.graph, apart.plan).removed, CopiesRemoved{});
  Case together = case_of(sketch.graph());
  move_onto(together, "b", "a");
  EXPECT_EQ(difference_in(together), "none");
  EXPECT_EQ(oracle::try_plan(together.graph, together.plan).removed, (CopiesRemoved{1, 16}));
  Case moved = case_of(sketch.graph());
  move_onto(moved, "b", "a", 8);
  EXPECT_NE(difference_in(moved), "none");
}

TEST(ByteMachine, SeesWhatTheSecondRoundOfALoopMisses) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.subgraph({}, {"out"});
  sketch.add(0, "Conv", {"x"}, {"a"});
  Operator& loop = sketch.add(0, "Loop", {"x"}, {"y"});
  loop.bodies = {1};
  loop.body_use = BodyUse::repeated;
  sketch.add(1, "Conv", {"a"}, {"m"});
  sketch.add(1, "Conv", {"m"}, {"out"});
  Case it = case_of(sketch.graph());
  EXPECT_EQ(difference_in(it), "none");
  move_onto(it, "out", "a");  // `a` is read before, but again in the next round
  EXPECT_NE(difference_in(it).find("'a'"), std::string::npos) << difference_in(it);
}

}  // namespace
}  // namespace stowage
