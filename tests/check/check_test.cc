// One case of every kind of fault, by hand, and what is allowed.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "check_cases.h"
#include "oracle/random_graph.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using namespace cases;
using oracle::Sketch;

struct Wrong {
  std::string title;
  std::function<void(Case&)> spoil;
  Expected expected;
};

std::vector<Wrong> wrong_plans() {
  using enum FaultKind;
  return {
      {"no clock", [](Case& it) { it.plan.clocks.clear(); }, {{format}, {"0 clocks"}}},
      {"clock that no step forks", [](Case& it) { it.plan.clocks.emplace_back(); }, {{format}, {"clock 1"}}},
      {"copy", [](Case& it) { it.plan.clocks[0].steps[1] = Copy{}; }, {{format}, {"step 1"}}},
      {"fork", [](Case& it) { it.plan.clocks[0].steps[2] = Fork{{0}}; }, {{format}, {"step 2"}}},
      {"rows",
       [](Case& it) {
         std::get<Run>(it.plan.clocks[0].steps[0]).rows = RowRange{0, 0, 1};
       },
       {{format}, {"step 0"}}},
      {"step of another model",
       [](Case& it) { std::get<Run>(it.plan.clocks[0].steps[2]).model = 7; },
       {{format}, {"model 7"}}},
      {"sizes that overflow",
       [](Case& it) {
         for (Buffer& buffer : it.plan.buffers) buffer.size = largest_value;
       },
       {{format}, {"overflow"}}},
      {"size beyond everything",
       [](Case& it) { it.plan.buffers[0].size = largest_value + 1; },
       {{format}, {std::to_string(largest_value + 1)}}},
      {"offset beyond everything",
       [](Case& it) { it.plan.places[buffer_named(it.plan, "a")].offset = largest_value + 8; },
       {{format}, {"'a'"}}},
      {"piece that ends before it begins",
       [](Case& it) {
         it.plan.buffers[buffer_named(it.plan, "a")].pieces[0].life = {2, 0};
       },
       {{format}, {"'a'"}}},
      {"piece before time",
       [](Case& it) { it.plan.buffers[buffer_named(it.plan, "a")].pieces[0].life.lower = -1; },
       {{format}, {"'a'"}}},
      {"bytes that are not those of the shape",
       [](Case& it) { tensor_named(it.plan, "a").tensor.shape = Shape{17}; },
       {{format}, {"'a'"}}},
      {"impossible shape",
       [](Case& it) { tensor_named(it.plan, "a").tensor.shape = Shape{-1}; },
       {{format}, {"'a'"}}},
      {"negative bytes",
       [](Case& it) {
         tensor_named(it.plan, "a").tensor.shape.reset();
         tensor_named(it.plan, "a").tensor.bytes = -1;
       },
       {{format}, {"'a'"}}},
      {"two buffers in one place",
       [](Case& it) {
         it.plan.places[buffer_named(it.plan, "a")] = it.plan.places[buffer_named(it.plan, "b")];
       },
       {{overlap}, {"'a'"}}},
      {"two buffers that share one byte-wide strip",
       [](Case& it) {
         it.plan.buffers[buffer_named(it.plan, "a")].alignment = 1;
         it.plan.places[buffer_named(it.plan, "a")].offset = 15;
       },
       {{overlap}, {"'a'"}}},
      {"two pieces of one buffer",
       [](Case& it) {
         Buffer& buffer = it.plan.buffers[buffer_named(it.plan, "a")];
         buffer.pieces.push_back(buffer.pieces[0]);
       },
       {{overlap}, {"'a'"}}},
      {"two tensors in one buffer",
       [](Case& it) { tensor_named(it.plan, "b").views[0].buffer = buffer_named(it.plan, "a"); },
       {{overlap}, {"'b'"}}},
      {"odd offset",
       [](Case& it) { it.plan.places[buffer_named(it.plan, "a")].offset = 1004; },
       {{alignment}, {"'a'"}}},
      {"pinned elsewhere",
       [](Case& it) { it.plan.buffers[buffer_named(it.plan, "a")].pinned = 800; },
       {{pin}, {"'a'"}}},
      {"forbidden memory",
       [](Case& it) { it.plan.buffers[buffer_named(it.plan, "a")].memories = {5}; },
       {{pin}, {"'a'"}}},
      {"small memory", [](Case& it) { it.plan.memories[0].memory.capacity = 31; }, {{capacity}, {"31"}}},
      {"negative memory",
       [](Case& it) { it.plan.memories[0].memory.capacity = -1; },
       {{capacity}, {"'arena'"}}},
      {"wrong peak", [](Case& it) { it.plan.memories[0].peak = 31; }, {{claim}, {"31"}}},
      {"wrong bound", [](Case& it) { it.plan.memories[0].lower_bound = 33; }, {{claim}, {"33"}}},
      {"wrong summary", [](Case& it) { it.plan.summary.peak = 0; }, {{claim}, {"summary"}}},
      {"wrong claim", [](Case& it) { it.plan.claims[0].lower_bound = 31; }, {{claim}, {"31"}}},
      {"claim of another scope",
       [](Case& it) {
         it.plan.claims.push_back({ClaimScope::order, 0, false});
       },
       {{claim}, {"order"}}},
      {"missing tensor",
       [](Case& it) { it.plan.tensors.erase(it.plan.tensors.begin()); },
       {{accounting}, {"'x'"}}},
      {"unknown tensor",
       [](Case& it) { tensor_named(it.plan, "a").tensor.name = "c"; },
       {{accounting}, {"'c'"}}},
      {"wrong kind",
       [](Case& it) { tensor_named(it.plan, "a").tensor.kind = TensorKind::scratch; },
       {{accounting}, {"'a'"}}},
      {"view in dead bytes",
       [](Case& it) { tensor_named(it.plan, "a").views[0].life.upper = 3; },
       {{accounting}, {"'a'"}}},
      {"view that ends early",
       [](Case& it) { tensor_named(it.plan, "a").views[0].life.upper = 1; },
       {{accounting}, {"'a'"}}},
      {"view that begins late",
       [](Case& it) { tensor_named(it.plan, "a").views[0].life.lower = 1; },
       {{accounting}, {"'a'"}}},
      {"too many models", [](Case& it) { it.plan.models.emplace_back(); }, {{accounting}, {"2 models"}}},
      {"missing step", [](Case& it) { it.plan.clocks[0].steps.pop_back(); }, {{order}, {"'Relu2'"}}},
      {"no steps", [](Case& it) { it.plan.clocks[0].steps.clear(); }, {{order}, {"'Relu0'"}}},
      {"steps backwards",
       [](Case& it) { std::reverse(it.plan.clocks[0].steps.begin(), it.plan.clocks[0].steps.end()); },
       {{order}, {"'a'"}}},
  };
}

TEST(Check, FindsEveryKindOfFault) {
  ASSERT_TRUE(check(small_case()).empty()) << text_of(check(small_case()));
  std::set<FaultKind> seen;
  for (const Wrong& wrong : wrong_plans()) {
    Case it = small_case();
    wrong.spoil(it);
    const Faults faults = check(it);
    EXPECT_TRUE(has_fault(faults, wrong.expected)) << wrong.title << "\n" << text_of(faults);
    seen.insert(wrong.expected.kinds.begin(), wrong.expected.kinds.end());
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(FaultKind::order) + 1);
}

TEST(Check, AllowsWhatIsAllowed) {
  Case far_up = small_case();
  far_up.plan.places[buffer_named(far_up.plan, "a")].offset = 4096;
  correct_claims(far_up.plan);
  EXPECT_TRUE(check(far_up).empty()) << text_of(check(far_up));

  Case pinned = small_case();
  for (std::size_t b = 0; b < pinned.plan.buffers.size(); ++b) {
    pinned.plan.buffers[b].pinned = pinned.plan.places[b].offset;
    pinned.plan.buffers[b].memories = {0};
  }
  pinned.plan.memories[0].memory.capacity = pinned.plan.memories[0].peak;
  EXPECT_TRUE(check(pinned).empty()) << text_of(check(pinned));

  Case in_pieces = small_case();  // the upper half of `a` may have a piece of its own
  Buffer& buffer = in_pieces.plan.buffers[buffer_named(in_pieces.plan, "a")];
  const Lifetime life = buffer.pieces[0].life;
  buffer.pieces = {{8, 8, life}, {0, 8, {life.lower, life.lower + 1}}, {0, 8, {life.lower + 1, life.upper}}};
  EXPECT_TRUE(check(in_pieces).empty()) << text_of(check(in_pieces));

  Case longer = small_case();  // longer than needed, where nobody else is
  longer.plan.memories.push_back({{.name = "other"}, 0, 0});
  const std::size_t b = buffer_named(longer.plan, "b");
  longer.plan.places[b] = {1, 0};
  longer.plan.buffers[b].pieces[0].life = {0, 99};
  tensor_named(longer.plan, "b").views[0].life = {0, 99};
  correct_claims(longer.plan);
  EXPECT_TRUE(check(longer).empty()) << text_of(check(longer));
}

TEST(Check, AllowsTwoTensorsInOneBufferSideBySide) {
  Case it = small_case();
  const std::size_t shared = buffer_named(it.plan, "a");
  it.plan.buffers[shared].size = 32;
  it.plan.buffers[shared].pieces = {{0, 32, {0, 3}}};
  it.plan.places[shared].offset = 1024;
  View& view = tensor_named(it.plan, "b").views[0];
  view.buffer = shared;
  view.offset = 16;
  correct_claims(it.plan);
  EXPECT_TRUE(check(it).empty()) << text_of(check(it));
  view.offset = 15;
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::overlap}, {"'b'"}}));
  view.offset = 17;
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::format}, {"'b'"}}));
}

TEST(Check, LeavesWeightsOutOfTheSummary) {
  Case it = small_case();
  it.plan.memories.push_back({{.name = "flash", .role = MemoryRole::weights}, 0, 0});
  it.plan.buffers.push_back(
      {.id = "kernel", .size = 40, .pieces = {{0, 40, {0, 3}}}, .kind = TensorKind::weight});
  it.plan.places.push_back({1, 0});
  it.plan.memories[1].peak = it.plan.memories[1].lower_bound = 40;
  EXPECT_TRUE(check(it).empty()) << text_of(check(it));
  it.plan.summary.peak += 40;
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::claim}, {"summary"}}));
}

TEST(Check, KnowsBoundsOfPinnedBuffers) {
  Problem problem;
  problem.memories = {{.name = "arena"}};
  problem.buffers = {{.id = "high", .size = 8, .pieces = {{0, 8, {0, 1}}}, .pinned = 100}};
  const PlanResult result = make_plan({{.name = "list", .format = ModelFormat::csv}, problem});
  EXPECT_TRUE(result.faults.empty()) << text_of(result.faults);
  EXPECT_EQ(result.plan.summary.peak, 108);
  Plan plan = result.plan;
  plan.memories[0].lower_bound = plan.summary.lower_bound = 108;
  plan.claims = {{ClaimScope::offsets, 108, true}};
  EXPECT_TRUE(check_plan(plan).empty()) << text_of(check_plan(plan));
  plan.memories[0].lower_bound = 109;
  EXPECT_FALSE(check_plan(plan).empty());
}

TEST(Check, LeavesMissedCapacityToTheCaller) {
  const Input input{{.name = "model", .format = ModelFormat::json}, small_case().graph};
  const PlanResult result = make_plan(input, {.memories = {{.name = "small", .capacity = 16}}});
  EXPECT_EQ(result.outcome, Outcome::exceeds_capacity);
  EXPECT_TRUE(result.faults.empty());
  EXPECT_TRUE(has_fault(check_plan(result.plan), {{FaultKind::capacity}, {"'small'"}}));
}

TEST(Check, ComparesPlansOfListsWithTheirList) {
  Problem list;
  list.memories = {{.name = "arena"}};
  list.buffers = {{.id = "a", .size = 32, .alignment = 8, .pieces = {{0, 32, {0, 2}}}},
                  {.id = "b", .size = 64, .pieces = {{0, 16, {1, 3}}, {16, 48, {2, 3}}}, .pinned = 96},
                  {.id = "c", .size = 8, .pieces = {{0, 8, {0, 9}}}}};
  const Plan plan = make_plan({{.name = "list", .format = ModelFormat::csv}, list}).plan;
  EXPECT_TRUE(check_plan(plan, list).empty()) << text_of(check_plan(plan, list));
  using ChangeList = std::function<void(Problem&)>;
  const std::vector<std::pair<std::string, ChangeList>> changes{
      {"'a'", [](Problem& it) { it.buffers[0].size = 40; }},
      {"'a'", [](Problem& it) { it.buffers[0].alignment = 16; }},
      {"'b'", [](Problem& it) { it.buffers[1].pieces[1].life.upper = 4; }},
      {"'b'", [](Problem& it) { it.buffers[1].pieces.pop_back(); }},
      {"'b'", [](Problem& it) { it.buffers[1].pinned = 128; }},
      {"'c'", [](Problem& it) { it.buffers.pop_back(); }},
      {"'d'",
       [](Problem& it) {
         it.buffers.push_back({.id = "d", .size = 4, .pieces = {{0, 4, {0, 1}}}});
       }},
      {"'d'", [](Problem& it) { it.buffers[2].id = "d"; }},
  };
  for (const auto& [name, change] : changes) {
    Problem other = list;
    change(other);
    EXPECT_TRUE(has_fault(check_plan(plan, other), {{FaultKind::accounting}, {name}})) << name;
  }
}

TEST(Check, MatchesTensorsOfOneNameInTheirOrder) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "Relu", {"a"}, {"y"});
  for (const char* const name : {"x", "a", "y"}) sketch.tensor(name).name = "same";
  Case it = case_of(sketch.graph());
  EXPECT_TRUE(it.faults.empty()) << text_of(it.faults);
  it.plan.tensors.pop_back();
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {"'same'"}}));
}

TEST(Check, OldStateMayBeWrittenOverAtOnce) {
  for (const bool reads_it : {true, false}) {
    Sketch sketch;
    sketch.subgraph({"x", "old"}, {"new"});
    sketch.tie("new", "old");
    sketch.add(0, "Relu", {reads_it ? "old" : "x"}, {"new"});
    const Case it = case_of(sketch.graph());
    EXPECT_TRUE(it.faults.empty()) << text_of(it.faults);
  }
}

TEST(Check, OldStateIsWrittenOverOnlyByAnOperatorThatMay) {
  Sketch sketch;
  sketch.subgraph({"x", "old"}, {"new"});
  sketch.tie("new", "old");
  sketch.add(0, "Relu", {"old"}, {"new"});
  Case it = case_of(sketch.graph());
  it.graph.subgraphs[0].operators[0].type = "Conv";
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {"'old'"}})) << text_of(check(it));
}

TEST(Check, OldStateMustBeReadBeforeTheNewOneIsWritten) {
  Sketch sketch;
  sketch.subgraph({"x", "old"}, {"y", "new"});
  sketch.tie("new", "old");
  sketch.add(0, "Conv", {"old"}, {"y"});
  sketch.add(0, "Conv", {"x"}, {"new"});
  Case it = case_of(sketch.graph());
  ASSERT_TRUE(it.faults.empty()) << text_of(it.faults);
  std::swap(it.plan.clocks[0].steps[0], it.plan.clocks[0].steps[1]);
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {"'old'"}})) << text_of(check(it));
}

TEST(Check, ReadsOfLoopsLastToTheirEnd) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.subgraph({"in"}, {"out"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  Operator& loop = sketch.add(0, "Loop", {"x"}, {"y"});
  loop.bodies = {1};
  loop.body_use = BodyUse::repeated;
  sketch.add(1, "Add", {"in", "a"}, {"m"});
  sketch.add(1, "Relu", {"m"}, {"out"});
  for (const char* const name : {"a", "in"}) {
    Case it = case_of(sketch.graph());
    ASSERT_TRUE(it.faults.empty()) << text_of(it.faults);
    tensor_named(it.plan, name).views[0].life.upper = 3;  // after its only reader
    EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {in_quotes(name)}}))
        << name << text_of(check(it));
  }
}

TEST(Check, ReadsOfTheFirstLoopLastToItsEnd) {
  Sketch sketch;
  sketch.subgraph({"x", "captured"}, {"y"});
  sketch.subgraph({}, {"out"});
  Operator& loop = sketch.add(0, "Loop", {"x"}, {"y"});
  loop.bodies = {1};
  loop.body_use = BodyUse::repeated;
  sketch.add(1, "Relu", {"captured"}, {"m"});
  sketch.add(1, "Relu", {"m"}, {"out"});
  Case it = case_of(sketch.graph());
  ASSERT_TRUE(it.faults.empty()) << text_of(it.faults);
  tensor_named(it.plan, "captured").views[0].life.upper = 2;
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {"'captured'"}})) << text_of(check(it));
}

}  // namespace
}  // namespace stowage
