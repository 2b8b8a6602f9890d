// Which steps there are, and from when to when tensors live: rule by rule, and on random graphs
// against a machine that runs them.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "alias/buffers.h"
#include "lifetime/lives.h"
#include "oracle/naive_interpreter.h"
#include "oracle/random_graph.h"
#include "stowage/error.h"
#include "stowage/graph.h"

namespace stowage {

namespace {

using lifetime::keep_order;
using oracle::Choices;
using oracle::Execution;
using oracle::Positions;
using oracle::random_graph;
using oracle::Sketch;

/// A Lifetime that failures print.
struct Life {
  Position lower = 0;
  Position upper = 0;

  bool operator==(const Life&) const = default;
};

void PrintTo(const Life& life, std::ostream* out) { *out << "[" << life.lower << "," << life.upper << ")"; }

using Lives = std::vector<Life>;
using Paths = std::vector<std::vector<std::size_t>>;

struct Options {
  Io io = Io::arena;
  Bytes alignment = 1;
  bool keeps_state = true;
  std::size_t model = 0;
};

struct Buffers {
  std::vector<Buffer> buffers;
  std::vector<PlannedTensor> tensors;
};

/// Buffers of tensors that share nothing.
Buffers buffers_of(const Graph& graph, const Clock& clock, const Options& options = {}) {
  const lifetime::Uses uses = lifetime::uses_of(graph, clock);
  const auto residences = lifetime::residences_of(graph, uses, options.io);
  alias::Sharing sharing =
      alias::share(graph, lifetime::operators_of(clock), uses, residences, {.alignment = options.alignment});
  alias::Buffers result = alias::buffers_of(graph, uses, std::move(sharing), residences,
                                            {options.alignment, options.keeps_state});
  return {std::move(result.buffers), alias::planned_tensors(graph, result.held, options.model)};
}

Buffers plan_of(const Graph& graph, const Options& options = {}) {
  validate(graph);
  return buffers_of(graph, keep_order(graph, options.model), options);
}

Lives lives_of(const PlannedTensor& tensor) {
  Lives lives;
  for (const View& view : tensor.views) lives.push_back({view.life.lower, view.life.upper});
  return lives;
}

/// The lives of each tensor, by name.
std::map<std::string, Lives> lives_in(const Graph& graph, const Options& options = {}) {
  std::map<std::string, Lives> lives;
  for (const PlannedTensor& tensor : plan_of(graph, options).tensors) {
    lives[tensor.tensor.name] = lives_of(tensor);
  }
  return lives;
}

Paths paths_of(const Clock& clock) {
  Paths paths;
  for (const Step& step : clock.steps) paths.push_back(std::get<Run>(step).path);
  return paths;
}

std::string message_of(const Graph& graph, const Options& options = {}) {
  try {
    (void)plan_of(graph, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Operators around an inner body: x goes into an If at 1 or a Loop at 1, whose body runs 2 and 3.
Sketch around_body(BodyUse use) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.subgraph({"in"}, {"out"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  Operator& op = sketch.add(0, use == BodyUse::once ? "If" : "Loop", {"a"}, {"b"});
  op.body_use = use;
  op.bodies = {1};
  sketch.add(1, "Relu", {"in"}, {"m"});
  sketch.add(1, "Relu", {"m"}, {"out"});
  sketch.add(0, "Relu", {"b"}, {"y"});
  return sketch;
}

TEST(Lifetime, LastsFromProducerToLastReader) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "Relu", {"a"}, {"b"});
  sketch.add(0, "Add", {"a", "b"}, {"c"});
  sketch.add(0, "Relu", {"c"}, {"y"});
  auto lives = lives_in(sketch.graph());
  EXPECT_EQ(lives["x"], (Lives{{0, 1}}));
  EXPECT_EQ(lives["a"], (Lives{{0, 3}}));
  EXPECT_EQ(lives["b"], (Lives{{1, 3}}));
  EXPECT_EQ(lives["c"], (Lives{{2, 4}}));
  EXPECT_EQ(lives["y"], (Lives{{3, 4}}));
}

TEST(Lifetime, OfInputBeginsAtTheFirstStep) {
  Sketch sketch;
  sketch.subgraph({"late", "unread"}, {"y"});
  sketch.add(0, "Random", {}, {"a"});
  sketch.add(0, "Random", {}, {"b"});
  sketch.add(0, "Sum", {"a", "b", "late"}, {"y"});
  auto lives = lives_in(sketch.graph());
  EXPECT_EQ(lives["late"], (Lives{{0, 3}}));
  EXPECT_EQ(lives["unread"], (Lives{{0, 1}}));
}

TEST(Lifetime, OfOutputEndsWithTheClock) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"early", "y", "early", "x"});
  sketch.add(0, "Relu", {"x"}, {"early"});
  sketch.add(0, "Relu", {"early"}, {"a"});
  sketch.add(0, "Relu", {"a"}, {"y"});
  auto lives = lives_in(sketch.graph());
  EXPECT_EQ(lives["early"], (Lives{{0, 3}}));
  EXPECT_EQ(lives["y"], (Lives{{2, 3}}));
  EXPECT_EQ(lives["x"], (Lives{{0, 3}}));
}

TEST(Lifetime, OfResultsNobodyReadsIsTheirStep) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Split", {"x", "", "x"}, {"a", "", "dead"}).scratch = {sketch.id("scratch")};
  sketch.tensor("scratch").kind = TensorKind::scratch;
  sketch.add(0, "Relu", {"a"}, {"y"});
  auto lives = lives_in(sketch.graph());
  EXPECT_EQ(lives["dead"], (Lives{{0, 1}}));
  EXPECT_EQ(lives["scratch"], (Lives{{0, 1}}));
}

TEST(Lifetime, OfNetworkWithoutStepsIsOnePosition) {
  Sketch sketch;
  sketch.subgraph({"x", "unread"}, {"x"});
  sketch.tensor("state").kind = TensorKind::state;
  auto lives = lives_in(sketch.graph());
  EXPECT_EQ(lives["x"], (Lives{{0, 1}}));
  EXPECT_EQ(lives["unread"], (Lives{{0, 1}}));
  EXPECT_EQ(lives["state"], (Lives{{0, 1}}));
}

TEST(Lifetime, OfStateIsTheWholeClock) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.tensor("state").kind = TensorKind::state;
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "Add", {"a", "state"}, {"b"});
  sketch.add(0, "Relu", {"b"}, {"y"});
  const Buffers plan = plan_of(sketch.graph());
  EXPECT_EQ(lives_of(plan.tensors[sketch.id("state")]), (Lives{{0, 3}}));
  EXPECT_EQ(plan.buffers[plan.tensors[sketch.id("state")].views[0].buffer].kind, TensorKind::state);
}

TEST(Lifetime, OfStateThatAnOperatorWritesIsOnePieceOrRefused) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.tensor("state").kind = TensorKind::state;
  sketch.add(0, "Relu", {"x"}, {"y"});
  sketch.add(0, "Assign", {"x"}, {"state"});
  if (message_of(sketch.graph()).empty()) {
    EXPECT_EQ(lives_in(sketch.graph())["state"], (Lives{{0, 2}}));
  }
}

TEST(Lifetime, OfStateThatTheRuntimeKeepsIsNone) {
  Sketch sketch;
  sketch.subgraph({"x", "old"}, {"new"});
  sketch.tensor("state").kind = TensorKind::state;
  sketch.tie("new", "old");
  sketch.add(0, "Add", {"x", "state"}, {"new"});
  auto lives = lives_in(sketch.graph(), {.keeps_state = false});
  EXPECT_TRUE(lives["state"].empty());
  EXPECT_EQ(lives["new"], (Lives{{0, 1}}));  // made by a tie: always planned
}

TEST(Lifetime, IsNoneForWeightsAndUntouchedTensors) {
  Sketch sketch;
  sketch.subgraph({"x", "default"}, {"y", "weight"});
  sketch.tensor("weight").kind = TensorKind::weight;
  sketch.tensor("default").kind = TensorKind::weight;
  sketch.tensor("code").kind = TensorKind::instruction;
  sketch.tensor("orphan").bytes = 8;
  sketch.add(0, "Run", {"x", "weight", "code"}, {"y"});
  auto lives = lives_in(sketch.graph());
  for (const char* const name : {"weight", "default", "code", "orphan"})
    EXPECT_TRUE(lives[name].empty()) << name;
  EXPECT_EQ(plan_of(sketch.graph()).buffers.size(), 2U);
}

TEST(Lifetime, FoldedOperatorsTakeNoStep) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.tensor("weight").kind = TensorKind::weight;
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "Constant", {}, {"weight"}).folded = true;
  sketch.add(0, "Add", {"a", "weight"}, {"y"});
  EXPECT_EQ(paths_of(keep_order(sketch.graph(), 0)), (Paths{{0, 0}, {0, 2}}));
  auto lives = lives_in(sketch.graph());
  EXPECT_TRUE(lives["weight"].empty());
  EXPECT_EQ(lives["y"], (Lives{{1, 2}}));
}

TEST(Lifetime, IfHoldsItsOperandsToTheEndOfItsBodies) {
  Sketch sketch = around_body(BodyUse::once);
  sketch.graph().subgraphs[0].operators[1].scratch = {sketch.id("scratch")};
  sketch.tensor("scratch").kind = TensorKind::scratch;
  auto lives = lives_in(sketch.graph());
  EXPECT_EQ(lives["a"], (Lives{{0, 4}}));
  EXPECT_EQ(lives["b"], (Lives{{1, 5}}));
  EXPECT_EQ(lives["scratch"], (Lives{{1, 4}}));
  EXPECT_EQ(lives["in"], (Lives{{2, 3}}));
  EXPECT_EQ(lives["m"], (Lives{{2, 4}}));
  EXPECT_EQ(lives["out"], (Lives{{3, 4}}));
}

TEST(Lifetime, DeadResultOfIfLivesToTheEndOfItsBodies) {
  Sketch sketch = around_body(BodyUse::once);
  sketch.add(0, "Relu", {"a"}, {"late"});
  Operator& op = sketch.graph().subgraphs[0].operators[1];
  op.outputs.emplace_back(sketch.id("dead"));
  EXPECT_EQ(lives_in(sketch.graph())["dead"], (Lives{{1, 4}}));
}

TEST(Lifetime, BranchesFollowEachOther) {
  Sketch sketch;
  sketch.subgraph({"condition", "x", "z"}, {"y"});
  sketch.subgraph({"then_in", "then_unread"}, {"then_early", "then_out"});
  sketch.subgraph({"else_in", "else_unread"}, {"else_out"});
  sketch.add(0, "If", {"condition"}, {"y"}).bodies = {1, 2};
  sketch.add(1, "Relu", {"x"}, {"then_early"});
  sketch.add(1, "Add", {"then_early", "then_in"}, {"then_out"});
  sketch.add(1, "Relu", {"then_early"}, {"then_dead"});
  sketch.add(2, "Random", {}, {"other"});
  sketch.add(2, "Sum", {"z", "else_in", "other"}, {"else_out"});
  sketch.add(0, "Relu", {"y"}, {"after"});
  auto lives = lives_in(sketch.graph());
  EXPECT_EQ(lives["condition"], (Lives{{0, 6}}));
  EXPECT_EQ(lives["y"], (Lives{{0, 7}}));
  EXPECT_EQ(lives["x"], (Lives{{0, 2}}));  // captured: to its reader
  EXPECT_EQ(lives["z"], (Lives{{0, 6}}));
  EXPECT_EQ(lives["then_in"], (Lives{{1, 3}}));
  EXPECT_EQ(lives["then_unread"], (Lives{{1, 2}}));
  EXPECT_EQ(lives["then_early"], (Lives{{1, 4}}));  // handed over at the branch's end
  EXPECT_EQ(lives["then_out"], (Lives{{2, 4}}));
  EXPECT_EQ(lives["then_dead"], (Lives{{3, 4}}));
  EXPECT_EQ(lives["else_in"], (Lives{{4, 6}}));
  EXPECT_EQ(lives["else_unread"], (Lives{{4, 5}}));
  EXPECT_EQ(lives["else_out"], (Lives{{5, 6}}));
}

TEST(Lifetime, InEmptyBranchIsTheOperatorsStep) {
  Sketch sketch;
  sketch.subgraph({"x", "captured"}, {"y"});
  sketch.subgraph({"in", "unread"}, {"in", "captured"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "If", {"a"}, {"b"}).bodies = {1};
  sketch.add(0, "Relu", {"b"}, {"y"});
  auto lives = lives_in(sketch.graph());
  EXPECT_EQ(lives["in"], (Lives{{1, 2}}));
  EXPECT_EQ(lives["unread"], (Lives{{1, 2}}));
  EXPECT_EQ(lives["captured"], (Lives{{0, 2}}));
}

TEST(Lifetime, LoopHoldsWhatItsBodyReadsFromOutside) {
  Sketch sketch = around_body(BodyUse::repeated);
  sketch.graph().subgraphs[1].operators[0].inputs.emplace_back(sketch.id("x"));
  sketch.graph().subgraphs[1].inputs.push_back(sketch.id("unread"));
  auto lives = lives_in(sketch.graph());
  EXPECT_EQ(lives["x"], (Lives{{0, 4}}));
  EXPECT_EQ(lives["a"], (Lives{{0, 4}}));
  EXPECT_EQ(lives["b"], (Lives{{1, 5}}));
  EXPECT_EQ(lives["in"], (Lives{{1, 4}}));
  EXPECT_EQ(lives["unread"], (Lives{{1, 4}}));
  EXPECT_EQ(lives["m"], (Lives{{2, 4}}));
  EXPECT_EQ(lives["out"], (Lives{{3, 4}}));
}

TEST(Lifetime, CapturedOutputOfBodyIsReadAtItsEnd) {
  for (const BodyUse use : {BodyUse::once, BodyUse::repeated}) {
    Sketch sketch = around_body(use);
    sketch.graph().subgraphs[1].outputs.push_back(sketch.id("x"));
    EXPECT_EQ(lives_in(sketch.graph())["x"], (Lives{{0, 4}}));
  }
}

TEST(Lifetime, WhileKeepsInputsOfBothBodiesForAllRounds) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.subgraph({"condition_in"}, {"condition_out"});
  sketch.subgraph({"body_in"}, {"body_out"});
  Operator& op = sketch.add(0, "While", {"x"}, {"y"});
  op.body_use = BodyUse::repeated;
  op.bodies = {1, 2};
  sketch.add(1, "Less", {"condition_in"}, {"condition_out"});
  sketch.add(2, "Add", {"body_in"}, {"temporary"});
  sketch.add(2, "Add", {"temporary"}, {"body_out"});
  auto lives = lives_in(sketch.graph());
  EXPECT_EQ(lives["condition_in"], (Lives{{0, 4}}));
  EXPECT_EQ(lives["condition_out"], (Lives{{1, 2}}));
  EXPECT_EQ(lives["body_in"], (Lives{{0, 4}}));
  EXPECT_EQ(lives["temporary"], (Lives{{2, 4}}));
  EXPECT_EQ(lives["body_out"], (Lives{{3, 4}}));
}

/// A Loop at 1 runs, in an If at 2, or in a Loop at 2, a reader at 3; steps 4 and 5 follow in the
/// outer body.
Sketch nested(BodyUse outer, BodyUse inner) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.subgraph({"outer_in"}, {"outer_out"});
  sketch.subgraph({}, {"inner_out"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  Operator& loop = sketch.add(0, "Outer", {}, {"b"});
  loop.bodies = {1};
  loop.body_use = outer;
  Operator& branch = sketch.add(1, "Inner", {}, {"c"});
  branch.bodies = {2};
  branch.body_use = inner;
  sketch.add(2, "Sum", {"a", "outer_in"}, {"inner_out"});
  sketch.add(2, "Relu", {"inner_out"}, {"dead"});
  sketch.add(1, "Relu", {"c"}, {"outer_out"});
  sketch.add(0, "Relu", {"b"}, {"y"});
  return sketch;
}

TEST(Lifetime, EndsWithTheOutermostLoopBetweenWriterAndReader) {
  auto loops = lives_in(nested(BodyUse::repeated, BodyUse::repeated).graph());
  EXPECT_EQ(loops["a"], (Lives{{0, 6}}));
  EXPECT_EQ(loops["outer_in"], (Lives{{1, 6}}));
  auto loop_of_branch = lives_in(nested(BodyUse::repeated, BodyUse::once).graph());
  EXPECT_EQ(loop_of_branch["a"], (Lives{{0, 6}}));
  auto branch_of_loop = lives_in(nested(BodyUse::once, BodyUse::repeated).graph());
  EXPECT_EQ(branch_of_loop["a"], (Lives{{0, 5}}));
  EXPECT_EQ(branch_of_loop["outer_in"], (Lives{{2, 5}}));
  EXPECT_EQ(branch_of_loop["inner_out"], (Lives{{3, 5}}));
  auto branches = lives_in(nested(BodyUse::once, BodyUse::once).graph());
  EXPECT_EQ(branches["a"], (Lives{{0, 4}}));
  EXPECT_EQ(branches["outer_in"], (Lives{{2, 4}}));
}

TEST(Lifetime, IsOnePerRunOfASubgraph) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.subgraph({"in"}, {"out"});
  sketch.add(0, "Call", {"x"}, {"a"}).bodies = {1};
  sketch.add(0, "Relu", {"a"}, {"b"});
  sketch.add(0, "Call", {"b"}, {"y"}).bodies = {1};
  sketch.add(1, "Relu", {"in"}, {"out"});
  sketch.add(1, "Relu", {"in"}, {"dead"});
  const Buffers plan = plan_of(sketch.graph());
  EXPECT_EQ(lives_of(plan.tensors[sketch.id("in")]), (Lives{{1, 3}, {5, 7}}));
  EXPECT_EQ(lives_of(plan.tensors[sketch.id("out")]), (Lives{{1, 3}, {5, 7}}));
  EXPECT_EQ(lives_of(plan.tensors[sketch.id("dead")]), (Lives{{2, 3}, {6, 7}}));
  const View& view = plan.tensors[sketch.id("in")].views[0];
  EXPECT_EQ(plan.buffers[view.buffer].pieces, (std::vector<Piece>{{0, 16, {1, 3}}, {0, 16, {5, 7}}}));
}

TEST(Lifetime, BuffersAreRoundedUpAndNamedAfterTensors) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "Add", {"a", "a"}, {"y"});
  sketch.tensor("a").name = "x";
  sketch.tensor("a").bytes = 17;
  sketch.tensor("a").shape = Shape{17};
  sketch.tensor("y").name = "";
  const Buffers plan = plan_of(sketch.graph(), {.alignment = 8});
  ASSERT_EQ(plan.buffers.size(), 3U);
  std::set<std::string> ids;
  for (const Buffer& buffer : plan.buffers) ids.insert(buffer.id);
  EXPECT_EQ(ids.size(), 3U);
  EXPECT_TRUE(ids.contains("x"));
  const Buffer& buffer = plan.buffers[plan.tensors[sketch.id("a")].views[0].buffer];
  EXPECT_EQ(buffer.size, 24);
  EXPECT_EQ(buffer.alignment, 8);
  EXPECT_EQ(buffer.traffic, 3 * 17);
  EXPECT_EQ(buffer.pieces, (std::vector<Piece>{{0, 24, {0, 2}}}));
  EXPECT_EQ(plan.tensors[sketch.id("a")].tensor, sketch.tensor("a"));
}

TEST(Lifetime, BuffersHaveIdsOfTheirOwnWhateverTensorsAreCalled) {
  Sketch sketch;
  sketch.subgraph({"x0", "x1", "x2", "x3"}, {"x0", "x1", "x2", "x3"});
  sketch.tensor("x0").name = "x";
  sketch.tensor("x1").name = "x#2";
  sketch.tensor("x2").name = "x";
  sketch.tensor("x3").name = "x#2#2";
  std::set<std::string> ids;
  for (const Buffer& buffer : plan_of(sketch.graph()).buffers) ids.insert(buffer.id);
  EXPECT_EQ(ids.size(), 4U);
}

TEST(Lifetime, ModelIndexIsInTensorsAndSteps) {
  const Graph graph = around_body(BodyUse::once).graph();
  for (const Step& step : keep_order(graph, 3).steps) EXPECT_EQ(std::get<stowage::Run>(step).model, 3U);
  for (const PlannedTensor& tensor : plan_of(graph, {.model = 3}).tensors) EXPECT_EQ(tensor.model, 3U);
}

TEST(Lifetime, OperatorsSayHowTheClockIs) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed);
    const Clock clock = keep_order(graph, 1);
    const auto operators = lifetime::operators_of(clock);
    ASSERT_LE(operators.size(), clock.steps.size());
    ASSERT_EQ(lifetime::clock_of(graph, 1, operators), clock) << "seed " << seed;
  }
}

TEST(Lifetime, ExternalInputsAndOutputsHaveNoBuffers) {
  Sketch sketch = around_body(BodyUse::once);
  sketch.add(0, "Relu", {"y"}, {"more"});
  auto lives = lives_in(sketch.graph(), {.io = Io::external});
  EXPECT_TRUE(lives["x"].empty());
  EXPECT_TRUE(lives["y"].empty());
  EXPECT_EQ(lives["a"], (Lives{{0, 4}}));
  EXPECT_EQ(lives["in"], (Lives{{2, 3}}));  // those of bodies do
  EXPECT_EQ(lives["more"], (Lives{{5, 6}}));
}

/// The old state is read at 1, and the operator at 2 writes the new one.
Sketch with_state(const std::string& type) {
  Sketch sketch;
  sketch.subgraph({"x", "old"}, {"y", "new"});
  sketch.tie("new", "old");
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "Add", {"a", "old"}, {"b"});
  sketch.add(0, type, {"b"}, {"new"});
  sketch.add(0, "Relu", {"new"}, {"y"});
  return sketch;
}

TEST(Lifetime, TiedStateIsOneBufferForTheWholeClock) {
  Sketch sketch = with_state("Conv");
  for (const Io io : {Io::arena, Io::external}) {
    const Buffers plan = plan_of(sketch.graph(), {.io = io});
    const PlannedTensor& input = plan.tensors[sketch.id("old")];
    const PlannedTensor& output = plan.tensors[sketch.id("new")];
    EXPECT_EQ(lives_of(input), (Lives{{0, 2}}));
    EXPECT_EQ(lives_of(output), (Lives{{2, 4}}));
    ASSERT_EQ(input.views[0].buffer, output.views[0].buffer);
    EXPECT_EQ(input.views[0].offset, 0);
    EXPECT_EQ(output.views[0].offset, 0);
    const Buffer& buffer = plan.buffers[input.views[0].buffer];
    EXPECT_EQ(buffer.kind, TensorKind::state);
    EXPECT_EQ(buffer.pieces, (std::vector<Piece>{{0, 16, {0, 4}}}));
    EXPECT_EQ(plan.tensors[sketch.id("y")].views.empty(), io == Io::external);
  }
}

TEST(Lifetime, TiedStateMayBeUpdatedInPlace) {
  Sketch sketch = with_state("Add");
  sketch.graph().subgraphs[0].operators[2].inputs.emplace_back(sketch.id("old"));
  EXPECT_EQ(lives_in(sketch.graph())["old"], (Lives{{0, 2}}));
  sketch.graph().subgraphs[0].operators[2].type = "ScatterND";  // in place only where it scatters into
  EXPECT_NE(message_of(sketch.graph()), "");
  std::swap(sketch.graph().subgraphs[0].operators[2].inputs[0],
            sketch.graph().subgraphs[0].operators[2].inputs[1]);
  EXPECT_EQ(message_of(sketch.graph()), "");
  sketch.graph().subgraphs[0].operators[2].inputs.emplace_back(sketch.id("old"));
  EXPECT_NE(message_of(sketch.graph()), "");
}

TEST(Lifetime, TiedStateMayBeWrittenOverAtOnceWhenUnread) {
  Sketch sketch;
  sketch.subgraph({"x", "old"}, {"new"});
  sketch.tie("new", "old");
  sketch.add(0, "Conv", {"x"}, {"new"});
  auto lives = lives_in(sketch.graph());
  EXPECT_EQ(lives["old"], (Lives{{0, 0}}));
  EXPECT_EQ(lives["new"], (Lives{{0, 1}}));
}

TEST(Lifetime, TiedStateMayBeWrittenOverAtOnceByIf) {
  Sketch sketch;
  sketch.subgraph({"x", "old"}, {"new"});
  sketch.subgraph({}, {"z"});
  sketch.tie("new", "old");
  sketch.add(0, "If", {"x"}, {"new"}).bodies = {1};
  sketch.add(1, "Random", {}, {"z"});
  auto lives = lives_in(sketch.graph());
  EXPECT_EQ(lives["old"], (Lives{{0, 0}}));
  EXPECT_EQ(lives["new"], (Lives{{0, 2}}));
}

TEST(Lifetime, TiedStateIsRejectedWhenTheOldOneIsStillRead) {
  Sketch read_later = with_state("Conv");
  read_later.add(0, "Relu", {"old"}, {"late"});
  EXPECT_EQ(message_of(read_later.graph()), "") << "it runs before the state is written";

  Sketch read_with_new = with_state("Conv");
  read_with_new.add(0, "Add", {"old", "new"}, {"late"});
  EXPECT_NE(message_of(read_with_new.graph()).find("'new'"), std::string::npos);

  Sketch read_by_writer = with_state("Conv");
  read_by_writer.graph().subgraphs[0].operators[2].inputs.emplace_back(read_by_writer.id("old"));
  EXPECT_NE(message_of(read_by_writer.graph()).find("'old'"), std::string::npos);

  Sketch read_in_body = with_state("If");
  read_in_body.subgraph({}, {"z"});
  read_in_body.add(1, "Relu", {"old"}, {"z"});
  read_in_body.graph().subgraphs[0].operators[2].bodies = {1};
  EXPECT_NE(message_of(read_in_body.graph()), "");

  Sketch read_by_next_round = with_state("Loop");
  Operator& loop = read_by_next_round.graph().subgraphs[0].operators[1];
  read_by_next_round.subgraph({}, {});
  loop.bodies = {1};
  loop.body_use = BodyUse::repeated;
  EXPECT_EQ(message_of(read_by_next_round.graph()), "");  // the loop is over when the new one is written
}

TEST(Lifetime, TiedStateIsRejectedWhenTheCallerStillGetsTheOldOne) {
  for (const bool reads_it : {true, false}) {
    Sketch sketch;
    sketch.subgraph({"x", "old"}, {"new", "old"});
    sketch.tie("new", "old");
    sketch.add(0, "Relu", {reads_it ? "old" : "x"}, {"new"});
    EXPECT_NE(message_of(sketch.graph()), "") << reads_it;
  }
}

TEST(Lifetime, EqualsWhatAMachineNeeds) {
  std::size_t lives_compared = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const Graph graph = random_graph(seed, {.repeats_names = seed % 4 == 0});
    const Clock clock = seed % 2 == 0 ? keep_order(graph, 0) : oracle::random_clock(graph, seed);
    const Bytes alignment = Bytes{1} << (seed % 7);
    const bool is_external = seed % 5 == 0;
    const Buffers plan =
        buffers_of(graph, clock, {.io = is_external ? Io::external : Io::arena, .alignment = alignment});
    const auto needs = oracle::needs_of(graph, oracle::execute(graph, clock));
    std::set<TensorId> outside;
    if (is_external) {
      outside.insert(graph.subgraphs[0].inputs.begin(), graph.subgraphs[0].inputs.end());
      outside.insert(graph.subgraphs[0].outputs.begin(), graph.subgraphs[0].outputs.end());
    }
    std::set<std::size_t> used;
    ASSERT_EQ(plan.tensors.size(), graph.tensors.size());
    for (TensorId t = 0; t < graph.tensors.size(); ++t) {
      const PlannedTensor& tensor = plan.tensors[t];
      ASSERT_EQ(tensor.tensor, graph.tensors[t]);
      std::set<Positions> expected;
      if (!outside.contains(t)) expected.insert(needs[t].begin(), needs[t].end());
      std::set<Positions> found;
      for (const View& view : tensor.views) {
        Positions positions;
        for (Position at = view.life.lower; at < view.life.upper; ++at) positions.insert(at);
        found.insert(std::move(positions));
        ASSERT_EQ(view.offset, 0);
        ASSERT_EQ(view.buffer, tensor.views[0].buffer);
      }
      lives_compared += found.size();
      ASSERT_EQ(found, expected) << "seed " << seed << ", tensor " << t << " " << tensor.tensor.name;
      ASSERT_EQ(found.size(), tensor.views.size()) << "seed " << seed << ", tensor " << t;
      if (tensor.views.empty()) continue;
      ASSERT_LT(tensor.views[0].buffer, plan.buffers.size());
      const Buffer& buffer = plan.buffers[tensor.views[0].buffer];
      ASSERT_TRUE(used.insert(tensor.views[0].buffer).second)
          << "seed " << seed << ": " << buffer.id << " is shared";
      ASSERT_GE(buffer.size, tensor.tensor.bytes);
      ASSERT_LT(buffer.size - tensor.tensor.bytes, alignment);
      ASSERT_EQ(buffer.size % alignment, 0);
      ASSERT_EQ(buffer.alignment, alignment);
      ASSERT_EQ(buffer.kind, tensor.tensor.kind);
      ASSERT_FALSE(buffer.pinned);
      ASSERT_TRUE(buffer.memories.empty());
      Positions reserved;  // lives that follow on each other are one piece
      for (const Piece& piece : buffer.pieces) {
        ASSERT_EQ(piece, (Piece{0, buffer.size, piece.life}));
        for (Position at = piece.life.lower; at < piece.life.upper; ++at)
          ASSERT_TRUE(reserved.insert(at).second);
      }
      Positions needed;
      for (const Positions& life : found) needed.insert(life.begin(), life.end());
      ASSERT_EQ(reserved, needed) << "seed " << seed << ", tensor " << t;
    }
    ASSERT_EQ(used.size(), plan.buffers.size());
    std::set<std::string> ids;
    for (const Buffer& buffer : plan.buffers) ids.insert(buffer.id);
    ASSERT_EQ(ids.size(), plan.buffers.size()) << "seed " << seed;
  }
  EXPECT_GT(lives_compared, 40'000U);
}

TEST(Lifetime, AnOldStateThatABodyHandsOverIsRead) {
  // The loop writes the new state; its body, without an operator, hands over the old one.
  Sketch sketch;
  sketch.subgraph({"old"}, {"new"});
  sketch.subgraph({}, {"old"});
  Operator& loop = sketch.add(0, "Loop", {}, {"new"});
  loop.bodies = {1};
  loop.body_use = BodyUse::repeated;
  sketch.tie("new", "old");
  EXPECT_NE(message_of(sketch.graph()), "");
}

TEST(Lifetime, TiesAreRejectedExactlyWhenAMachineLosesState) {
  std::size_t accepted = 0;
  std::size_t rejected = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Graph graph = random_graph(seed, {.depth = seed % 3, .has_ties = true});
    if (graph.ties.empty()) continue;
    const Clock clock = seed % 2 == 0 ? keep_order(graph, 0) : oracle::random_clock(graph, seed);
    const Execution execution = oracle::execute(graph, clock);
    const bool is_lost = std::any_of(graph.ties.begin(), graph.ties.end(), [&](const StateTie& tie) {
      return oracle::is_old_state_lost(execution, tie);
    });
    const auto clock_end = static_cast<Position>(clock.steps.size());
    try {
      const Buffers plan = buffers_of(graph, clock, {.io = seed % 5 == 0 ? Io::external : Io::arena});
      // The machine does not know that a Concat may leave the old state where it is.
      const bool is_joined = std::ranges::any_of(graph.subgraphs[0].operators, [&](const Operator& op) {
        return op.type == "Concat" && std::ranges::any_of(graph.ties, [&](const StateTie& tie) {
                 return !op.inputs.empty() && op.inputs[0] == tie.input && op.outputs.size() == 1 &&
                        op.outputs[0] == tie.output;
               });
      });
      if (is_joined && is_lost) continue;
      ASSERT_FALSE(is_lost) << "seed " << seed;
      ++accepted;
      for (const StateTie& tie : graph.ties) {
        const PlannedTensor& input = plan.tensors[tie.input];
        const PlannedTensor& output = plan.tensors[tie.output];
        const Position written = oracle::new_state_at(execution, tie);
        ASSERT_EQ(lives_of(input), (Lives{{0, written}})) << "seed " << seed;
        ASSERT_EQ(lives_of(output), (Lives{{written, clock_end}})) << "seed " << seed;
        ASSERT_EQ(input.views[0].buffer, output.views[0].buffer);
        const Buffer& buffer = plan.buffers[input.views[0].buffer];
        ASSERT_EQ(buffer.pieces, (std::vector<Piece>{{0, buffer.size, {0, clock_end}}}));
        ASSERT_EQ(buffer.kind, TensorKind::state);
      }
    } catch (const Error& error) {
      ASSERT_TRUE(is_lost) << "seed " << seed << ": " << error.what();
      ++rejected;
    }
  }
  EXPECT_GT(accepted, 300U);
  EXPECT_GT(rejected, 100U);
}

/// Checks the order within each run of each subgraph, and that nothing is missing or comes twice.
class OrderCheck {
 public:
  OrderCheck(const Graph& graph, const Clock& clock) : graph_(graph), paths_(paths_of(clock)) {}

  void check() {
    check_run(0);
    EXPECT_EQ(at_, paths_.size());
  }

 private:
  void check_run(std::size_t subgraph) {
    const auto& operators = graph_.subgraphs[subgraph].operators;
    auto missing = oracle::waits_for(graph_, subgraph);
    bool file_order_is_valid = true;
    std::size_t count = 0;
    for (std::size_t o = 0; o < operators.size(); ++o) {
      if (!missing[o].empty() && *missing[o].rbegin() >= o) file_order_is_valid = false;
      if (!operators[o].folded) ++count;
    }
    for (std::size_t o = 0; o < operators.size(); ++o) {
      if (!operators[o].folded) continue;
      for (auto& others : missing) others.erase(o);
    }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_LT(at_, paths_.size());
      const std::size_t o = paths_[at_].back();
      ASSERT_LT(o, operators.size());
      path_.push_back(subgraph);
      path_.push_back(o);
      ASSERT_EQ(paths_[at_], path_);
      ASSERT_FALSE(operators[o].folded);
      ASSERT_TRUE(missing[o].empty()) << "step " << at_ << " comes too early";
      ASSERT_EQ(std::count(order.begin(), order.end(), o), 0);
      for (auto& others : missing) others.erase(o);
      order.push_back(o);
      ++at_;
      for (const std::size_t body : operators[o].bodies) check_run(body);
      path_.resize(path_.size() - 2);
    }
    EXPECT_TRUE(!file_order_is_valid || std::is_sorted(order.begin(), order.end()));
  }

  const Graph& graph_;
  Paths paths_;
  std::size_t at_ = 0;
  std::vector<std::size_t> path_;
};

TEST(Lifetime, StepsRespectWhatOperatorsWaitFor) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Graph graph = random_graph(seed);
    OrderCheck(graph, keep_order(graph, 0)).check();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(Lifetime, StepsOfBodiesFollowTheirOperator) {
  EXPECT_EQ(
      paths_of(keep_order(nested(BodyUse::repeated, BodyUse::once).graph(), 0)),
      (Paths{{0, 0}, {0, 1}, {0, 1, 1, 0}, {0, 1, 1, 0, 2, 0}, {0, 1, 1, 0, 2, 1}, {0, 1, 1, 1}, {0, 2}}));
}

TEST(Lifetime, StepsKeepAValidFilesOrder) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "Relu", {"x"}, {"unused"});
  sketch.add(0, "Relu", {"a"}, {"y"});
  EXPECT_EQ(paths_of(keep_order(sketch.graph(), 0)), (Paths{{0, 0}, {0, 1}, {0, 2}}));
  std::reverse(sketch.graph().subgraphs[0].operators.begin(), sketch.graph().subgraphs[0].operators.end());
  EXPECT_EQ(paths_of(keep_order(sketch.graph(), 0)), (Paths{{0, 1}, {0, 2}, {0, 0}}));
}

TEST(Lifetime, StepsOfCycleAreRefused) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Relu", {"x"}, {"before"});
  sketch.add(0, "Add", {"before", "second"}, {"first"});
  sketch.add(0, "Relu", {"first"}, {"second"});
  sketch.add(0, "Relu", {"second"}, {"y"});
  try {
    (void)keep_order(sketch.graph(), 0);
    FAIL() << "a cycle was accepted";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.find("'first'") != std::string::npos || message.find("'second'") != std::string::npos)
        << message;
  }
}

TEST(Lifetime, StepsOfCycleNameATensorThatIsOnIt) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"second"});
  sketch.add(0, "Split", {"x", "second"}, {"aside", "first"});
  sketch.add(0, "Split", {"first"}, {"also_aside", "second"});
  try {
    (void)keep_order(sketch.graph(), 0);
    FAIL() << "a cycle was accepted";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.find("'first'") != std::string::npos || message.find("'second'") != std::string::npos)
        << message;
  }
}

TEST(Lifetime, StepsThatUnfoldExponentiallyAreRefusedAtOnce) {
  Sketch sketch;
  const std::size_t levels = 60;
  for (std::size_t level = 0; level < levels; ++level) sketch.subgraph({}, {});
  for (std::size_t level = 0; level + 1 < levels; ++level) {
    for (int i = 0; i < 2; ++i) sketch.add(level, "Call", {}, {}).bodies = {level + 1};
  }
  validate(sketch.graph());
  EXPECT_THROW((void)keep_order(sketch.graph(), 0), Error);
}

TEST(Lifetime, StepsOfDeepBodiesArePlannedOrRefused) {
  for (const std::size_t levels : {100U, 3000U}) {
    Sketch sketch;
    for (std::size_t level = 0; level < levels; ++level) sketch.subgraph({}, {});
    for (std::size_t level = 0; level + 1 < levels; ++level) {
      sketch.add(level, "Call", {}, {}).bodies = {level + 1};
    }
    validate(sketch.graph());
    try {
      EXPECT_EQ(keep_order(sketch.graph(), 0).steps.size(), levels - 1);
    } catch (const Error&) {
      EXPECT_GT(levels, 100U);
    }
  }
}

}  // namespace
}  // namespace stowage
