// Tensors that share bytes: what the checker lets pass runs with real bytes, what it refuses would not, or
// would only by luck.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "check_cases.h"
#include "oracle/byte_machine.h"
#include "oracle/random_graph.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

using namespace cases;
using oracle::Sketch;

/// Where a tensor is in the shared buffer, and when.
struct Put {
  std::string name;
  Bytes offset = 0;
  Lifetime life{};
};

constexpr Bytes address_of_shared = 65536;  // above all others

/// A plan in which these tensors are in one buffer that lives always; the others share nothing.
Case shared_case(const Graph& graph, const std::vector<Put>& puts, Bytes alignment = 8) {
  Case it = case_of(graph, {.alignment = alignment, .order = Order::keep, .alias = Alias::none});
  Plan& plan = it.plan;
  const auto end = static_cast<Position>(plan.clocks[0].steps.size());
  Buffer shared{.id = "shared", .alignment = alignment};
  for (const Put& put : puts) {
    PlannedTensor& tensor = tensor_named(plan, put.name);
    shared.size = std::max(shared.size, put.offset + tensor.tensor.bytes);
    tensor.views = {{plan.buffers.size(), put.offset, put.life, std::nullopt}};
  }
  shared.pieces = {{0, shared.size, {0, end}}};
  plan.buffers.push_back(shared);
  plan.places.push_back({0, address_of_shared});
  correct_claims(plan);
  return it;
}

Case with_removed(Case it, std::int64_t count, Bytes bytes) {
  it.plan.copies_removed = {count, bytes};
  return it;
}

void expect_accepted(const Case& it) {
  EXPECT_TRUE(check(it).empty()) << text_of(check(it));
  const auto trial = oracle::try_plan(it.graph, it.plan);
  EXPECT_FALSE(trial.difference) << *trial.difference;
  EXPECT_EQ(trial.removed, it.plan.copies_removed);
}

/// The checker refuses it, though a run may be lucky.
void expect_refused(const Case& it, const std::string& first, const std::string& second) {
  const Faults faults = check(it);
  EXPECT_TRUE(std::any_of(faults.begin(), faults.end(),
                          [&](const Fault& fault) {
                            return fault.kind == FaultKind::overlap &&
                                   fault.what.find(in_quotes(first)) != std::string::npos &&
                                   fault.what.find(in_quotes(second)) != std::string::npos;
                          }))
      << first << " and " << second << "\n"
      << text_of(faults);
}

/// The checker refuses it, and a run shows why.
void expect_overlap(const Case& it, const std::string& first, const std::string& second) {
  expect_refused(it, first, second);
  EXPECT_TRUE(oracle::try_plan(it.graph, it.plan).difference) << first << " and " << second;
}

/// x -> Conv -> a -> (given operator) -> b -> Conv -> y.
Sketch chain(const std::string& type) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Conv", {"x"}, {"a"});
  sketch.add(0, type, {"a"}, {"b"});
  sketch.add(0, "Conv", {"b"}, {"y"});
  return sketch;
}

Sketch reshape_chain() {
  Sketch sketch = chain("Reshape");
  sketch.graph().subgraphs[0].operators[1].copies = {{0, 0, 0, 0, 16}};
  return sketch;
}

TEST(CheckAlias, ReshapeMayLieInItsInput) {
  Sketch sketch = reshape_chain();
  expect_accepted(with_removed(shared_case(sketch.graph(), {{"a", 8, {0, 2}}, {"b", 8, {1, 3}}}), 1, 16));
  expect_overlap(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 8, {1, 3}}}), "a", "b");
  sketch.graph().subgraphs[0].operators[1].copies.clear();
  expect_overlap(shared_case(sketch.graph(), {{"a", 8, {0, 2}}, {"b", 8, {1, 3}}}), "a", "b");
}

TEST(CheckAlias, FaultsSayWhen) {
  Sketch sketch = chain("Conv");
  EXPECT_TRUE(has_fault(check(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 8, {1, 3}}})),
                        {{FaultKind::overlap}, {"position 1"}}));
}

TEST(CheckAlias, OnlyPassedOnBytesMayBeShared) {
  Sketch sketch = reshape_chain();  // half of it is computed
  for (const Bytes half : {0, 8}) {
    sketch.graph().subgraphs[0].operators[1].copies = {{0, 0, half, half, 8}};
    expect_overlap(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 0, {1, 3}}}), "a", "b");
  }
  sketch.graph().subgraphs[0].operators[1].copies = {{0, 0, 8, 0, 8}};
  expect_accepted(with_removed(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 8, {1, 3}}}), 1, 8));
}

TEST(CheckAlias, TheModelAloneSaysWhatMayBeShared) {
  Sketch sketch = chain("Conv");
  Case it = shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 0, {1, 3}}});
  EXPECT_TRUE(check_plan(it.plan).empty()) << text_of(check_plan(it.plan));
  it.plan.copies_removed = {7, 7};
  EXPECT_TRUE(check_plan(it.plan).empty()) << text_of(check_plan(it.plan));
  it.plan.places.back().offset = it.plan.places[buffer_named(it.plan, "x")].offset;
  EXPECT_TRUE(has_fault(check_plan(it.plan), {{FaultKind::overlap}, {"'shared'"}}));
}

/// x -> Conv -> a (16) -> Split -> b, c (8 each) -> Concat d = [c b] -> Conv -> y; b is read at the end, too.
Sketch split_and_concat() {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Conv", {"x"}, {"a"});
  sketch.add(0, "Split", {"a"}, {"b", "c"}).copies = {{0, 0, 0, 0, 8}, {0, 1, 8, 0, 8}};
  sketch.add(0, "Concat", {"c", "b"}, {"d"}).copies = {{0, 0, 0, 0, 8}, {1, 0, 0, 8, 8}};
  sketch.add(0, "Conv", {"d", "b"}, {"y"});
  for (const char* const name : {"b", "c"}) {
    sketch.tensor(name).shape = Shape{8};
    sketch.tensor(name).bytes = 8;
  }
  return sketch;
}

TEST(CheckAlias, PartsMayLieInTheWhole) {
  Sketch sketch = split_and_concat();
  expect_accepted(with_removed(
      shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 0, {1, 4}}, {"c", 8, {1, 3}}}), 2, 16));
  expect_overlap(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 8, {1, 4}}}), "a", "b");
  expect_accepted(with_removed(
      shared_case(sketch.graph(), {{"b", 8, {1, 4}}, {"c", 0, {1, 3}}, {"d", 0, {2, 4}}}), 2, 16));
  expect_overlap(shared_case(sketch.graph(), {{"b", 0, {1, 4}}, {"d", 0, {2, 4}}}), "b", "d");
}

TEST(CheckAlias, ContentIsFollowedThroughEveryCopy) {
  // d is [a's upper half, a's lower half]: its halves may lie on those of `a`, one at a time.
  Sketch sketch = split_and_concat();
  sketch.add(0, "Conv", {"a"}, {"late"});
  Case it = shared_case(sketch.graph(), {{"a", 0, {0, 5}}, {"c", 8, {1, 3}}, {"d", 8, {2, 4}}});
  // Upper half of `a` is at 8, and so is the lower half of `d`, by way of `c`.
  expect_accepted(with_removed(it, 2, 16));
  expect_overlap(shared_case(sketch.graph(), {{"a", 0, {0, 5}}, {"d", 0, {2, 4}}}), "a", "d");
}

TEST(CheckAlias, APartOfPartsIsNotLongerThanItIs) {
  Sketch sketch;  // [a b] is `whole`, and `part` its bytes 8 to 24
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Conv", {"x"}, {"a", "b"});
  sketch.add(0, "Concat", {"a", "b"}, {"whole"}).copies = {{0, 0, 0, 0, 16}, {1, 0, 0, 16, 16}};
  sketch.add(0, "Slice", {"whole"}, {"part"}).copies = {{0, 0, 8, 0, 16}};
  sketch.add(0, "Conv", {"x"}, {"low", "high"});
  sketch.add(0, "Conv", {"part", "low", "high"}, {"y"});
  sketch.tensor("whole").shape = Shape{32};
  sketch.tensor("whole").bytes = 32;
  for (const char* const name : {"low", "high"}) {
    sketch.tensor(name).shape = Shape{8};
    sketch.tensor(name).bytes = 8;
  }
  const std::vector<Put> puts{{"a", 0, {0, 2}},    {"b", 16, {0, 2}},  {"whole", 0, {1, 3}},
                              {"part", 8, {2, 5}}, {"low", 0, {3, 5}}, {"high", 24, {3, 5}}};
  expect_accepted(with_removed(shared_case(sketch.graph(), puts), 3, 48));
}

TEST(CheckAlias, TensorsMayBeListedInAnyOrder) {
  Sketch sketch;
  for (const char* const name : {"d", "c", "b", "a"}) (void)sketch.id(name);
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Conv", {"x"}, {"a"});
  sketch.add(0, "Reshape", {"a"}, {"b"}).copies = {{0, 0, 0, 0, 16}};
  sketch.add(0, "Reshape", {"b"}, {"c"}).copies = {{0, 0, 0, 0, 16}};
  sketch.add(0, "Reshape", {"c"}, {"d"}).copies = {{0, 0, 0, 0, 16}};
  sketch.add(0, "Conv", {"a", "d"}, {"y"});
  expect_accepted(shared_case(sketch.graph(), {{"a", 0, {0, 5}}, {"d", 0, {3, 5}}}));
}

TEST(CheckAlias, TheSameTensorTwiceIsInOneSlotOnly) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Conv", {"x"}, {"a"});
  sketch.add(0, "Concat", {"a", "a"}, {"b"}).copies = {{0, 0, 0, 0, 16}, {1, 0, 0, 16, 16}};
  sketch.add(0, "Conv", {"b"}, {"y"});
  sketch.tensor("b").shape = Shape{32};
  sketch.tensor("b").bytes = 32;
  const std::vector<Put> puts{{"a", 16, {0, 2}}, {"b", 0, {1, 3}}};
  expect_accepted(with_removed(shared_case(sketch.graph(), puts), 1, 16));
  EXPECT_TRUE(has_fault(check(with_removed(shared_case(sketch.graph(), puts), 2, 32)),
                        {{FaultKind::accounting}, {"removes 1 of 16"}}));
}

// In place.

TEST(CheckAlias, AnOperatorMayWriteOverAnInput) {
  Sketch sketch = chain("Relu");
  expect_accepted(shared_case(sketch.graph(), {{"a", 0, {0, 1}}, {"b", 0, {1, 3}}}));
  expect_accepted(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 0, {1, 3}}}));
  expect_overlap(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 8, {1, 3}}}), "a", "b");
  expect_overlap(shared_case(sketch.graph(), {{"a", 8, {0, 2}}, {"b", 0, {1, 3}}}), "a", "b");
}

TEST(CheckAlias, NotEveryOperatorMay) {
  Sketch sketch = chain("Conv");
  expect_overlap(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 0, {1, 3}}}), "a", "b");
  EXPECT_TRUE(has_fault(check(shared_case(sketch.graph(), {{"a", 0, {0, 1}}, {"b", 0, {1, 3}}})),
                        {{FaultKind::accounting}, {"'a'"}}));
}

TEST(CheckAlias, NorOneWhoseOutputIsElsewhere) {
  Sketch sketch = chain("Relu");
  EXPECT_TRUE(has_fault(check(shared_case(sketch.graph(), {{"a", 0, {0, 1}}})),
                        {{FaultKind::accounting}, {"'a' needs its bytes from 0 to 2"}}));
}

TEST(CheckAlias, InPlaceMeansOneBuffer) {
  // Address and time are right, but nothing keeps two buffers together.
  Sketch sketch = chain("Relu");
  Case it = shared_case(sketch.graph(), {{"a", 0, {0, 1}}, {"b", 0, {1, 3}}});
  Buffer second = it.plan.buffers.back();
  second.id = "second";
  second.pieces[0].life.lower = 1;
  it.plan.buffers.back().pieces[0].life.upper = 1;
  tensor_named(it.plan, "b").views[0].buffer = it.plan.buffers.size();
  it.plan.buffers.push_back(second);
  it.plan.places.push_back(it.plan.places.back());
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {"'a' needs its bytes from 0 to 2"}}))
      << text_of(check(it));
}

TEST(CheckAlias, AnInputIsThereUntilItIsWrittenOver) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Conv", {"x"}, {"a"});
  sketch.add(0, "Conv", {"x"}, {"other"});
  sketch.add(0, "Relu", {"a"}, {"b"});
  sketch.add(0, "Conv", {"b", "other"}, {"y"});
  expect_accepted(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 0, {2, 4}}}));
  EXPECT_TRUE(has_fault(check(shared_case(sketch.graph(), {{"a", 0, {0, 1}}, {"b", 0, {2, 4}}})),
                        {{FaultKind::accounting}, {"'a' needs its bytes from 0 to 3"}}));
}

TEST(CheckAlias, ATensorInTwoPlacesIsWhereItIsWrittenOver) {
  Sketch sketch = chain("Relu");
  sketch.graph().subgraphs[0].operators[0].outputs.emplace_back(sketch.id("other"));
  Case it = shared_case(sketch.graph(), {{"a", 0, {0, 1}}, {"b", 0, {1, 3}}});
  tensor_named(it.plan, "a").views.push_back({buffer_named(it.plan, "a"), 0, {0, 2}, std::nullopt});
  EXPECT_TRUE(check(it).empty()) << text_of(check(it));
  tensor_named(it.plan, "other").views = tensor_named(it.plan, "a").views;
  tensor_named(it.plan, "other").views.pop_back();
  expect_refused(it, "a", "other");
}

TEST(CheckAlias, AnInputInTwoPlacesAtOnceIsWhereItIsWrittenOver) {
  // `x` is only there until the first operator writes over it, so both views are empty.
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "Conv", {"a"}, {"b"});
  sketch.add(0, "Conv", {"b"}, {"y"});
  Case it = shared_case(sketch.graph(), {{"x", 0, {0, 0}}, {"a", 0, {0, 2}}});
  tensor_named(it.plan, "x").views.push_back({buffer_named(it.plan, "y"), 0, {0, 0}, std::nullopt});
  EXPECT_TRUE(check(it).empty()) << text_of(check(it));
}

TEST(CheckAlias, AnOutputInTwoPlacesIsWhereItStays) {
  // `b` is written over nothing where it is read later, so `a` is needed for as long as it is read.
  Sketch sketch = chain("Relu");
  sketch.graph().subgraphs[0].operators[2].type = "Relu";
  Case it = shared_case(sketch.graph(), {{"a", 0, {0, 1}}, {"b", 0, {1, 2}}});
  auto& views = tensor_named(it.plan, "b").views;
  views.insert(views.begin(), View{buffer_named(it.plan, "b"), 0, {1, 3}, std::nullopt});
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {"'a' needs its bytes from 0 to 2"}}))
      << text_of(check(it));
}

TEST(CheckAlias, NobodyElseMayReadTheInputThenOrLater) {
  for (const char* const type : {"Relu", "Conv"}) {
    Sketch sketch = chain("Relu");
    sketch.add(0, type, {"a"}, {"late"});
    expect_overlap(shared_case(sketch.graph(), {{"a", 0, {0, 4}}, {"b", 0, {1, 3}}}), "a", "b");
  }
  Sketch sketch = chain("BatchNormalization");  // its second input is not read element by element
  sketch.graph().subgraphs[0].operators[1].inputs.push_back(sketch.id("a"));
  expect_overlap(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 0, {1, 3}}}), "a", "b");
}

TEST(CheckAlias, NobodyElseMayReadTheInputUnderAnotherName) {
  const auto sketch_of = [](const std::string& type) {
    Sketch sketch;
    sketch.subgraph({"x"}, {"y"});
    sketch.add(0, "Conv", {"x"}, {"a"});
    sketch.add(0, "Reshape", {"a"}, {"view"}).copies = {{0, 0, 0, 0, 16}};
    sketch.add(0, "Reshape", {"view"}, {"again"}).copies = {{0, 0, 0, 0, 16}};
    sketch.add(0, type, {"a", "again"}, {"b"});
    sketch.add(0, "Conv", {"b"}, {"y"});
    return sketch;
  };
  const std::vector<Put> puts{{"a", 0, {0, 3}}, {"view", 0, {1, 3}}, {"again", 0, {2, 4}}, {"b", 0, {3, 5}}};
  expect_overlap(shared_case(sketch_of("BatchNormalization").graph(), puts), "again", "b");
  expect_accepted(with_removed(shared_case(sketch_of("Add").graph(), puts), 2, 32));
}

TEST(CheckAlias, AViewThatIsReadLaterKeepsTheInput) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Conv", {"x"}, {"a"});
  sketch.add(0, "Reshape", {"a"}, {"view"}).copies = {{0, 0, 0, 0, 16}};
  sketch.add(0, "Relu", {"a"}, {"b"});
  sketch.add(0, "Conv", {"b", "view"}, {"y"});
  expect_overlap(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"view", 0, {1, 4}}, {"b", 0, {2, 4}}}),
                 "view", "b");
}

TEST(CheckAlias, ResultsOfTheNetworkAreNotWrittenOver) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"a", "y"});
  sketch.add(0, "Conv", {"x"}, {"a"});
  sketch.add(0, "Relu", {"a"}, {"y"});
  expect_overlap(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"y", 0, {1, 2}}}), "a", "y");
}

TEST(CheckAlias, StateIsNotWrittenOver) {
  Sketch sketch = chain("Relu");
  sketch.graph().subgraphs[0].operators[1].inputs = {sketch.id("state")};
  sketch.tensor("state").kind = TensorKind::state;
  expect_overlap(shared_case(sketch.graph(), {{"state", 0, {0, 3}}, {"b", 0, {1, 3}}}), "state", "b");
}

TEST(CheckAlias, CopiesOfStateKeepTheirValue) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Reshape", {"state"}, {"b"}).copies = {{0, 0, 0, 0, 16}};
  sketch.add(0, "LSTM", {"x", "state"}, {"z"});  // changes the state
  sketch.add(0, "Conv", {"b", "z"}, {"y"});
  sketch.tensor("state").kind = TensorKind::state;
  expect_overlap(shared_case(sketch.graph(), {{"state", 0, {0, 3}}, {"b", 0, {0, 3}}}), "state", "b");
}

TEST(CheckAlias, NobodyIsInTheBytesOfAWeight) {
  for (const TensorKind kind : {TensorKind::weight, TensorKind::instruction}) {
    Sketch sketch = chain("Conv");
    sketch.graph().subgraphs[0].operators[1].inputs = {sketch.id("weight")};
    sketch.tensor("weight").kind = kind;
    expect_refused(shared_case(sketch.graph(), {{"a", 0, {0, 1}}, {"weight", 0, {0, 3}}}), "weight", "a");
  }
}

TEST(CheckAlias, CopiesOfOneWeightMayBeInOnePlace) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  for (const char* const name : {"b", "c"})
    sketch.add(0, "Reshape", {"weight"}, {name}).copies = {{0, 0, 0, 0, 16}};
  sketch.add(0, "Conv", {"b", "c", "x"}, {"y"});
  sketch.tensor("weight").kind = TensorKind::weight;
  expect_accepted(shared_case(sketch.graph(), {{"b", 0, {0, 3}}, {"c", 0, {1, 3}}}));  // both copies are made
}

TEST(CheckAlias, TheFirstOperatorMayWriteOverAnInputOfTheNetwork) {
  Sketch sketch;
  sketch.subgraph({"x", "z"}, {"y"});
  sketch.add(0, "Add", {"x", "z"}, {"y"});
  expect_accepted(shared_case(sketch.graph(), {{"x", 0, {0, 0}}, {"y", 0, {0, 1}}}));
  expect_accepted(shared_case(sketch.graph(), {{"x", 0, {0, 1}}, {"y", 0, {0, 1}}}));
  expect_overlap(shared_case(sketch.graph(), {{"x", 0, {0, 0}}, {"z", 0, {0, 0}}, {"y", 0, {0, 1}}}), "x",
                 "z");
}

TEST(CheckAlias, InputsThatNobodyReadsAreThereAllTheSame) {
  Sketch sketch;
  sketch.subgraph({"x", "unread"}, {"y"});
  sketch.add(0, "Relu", {"x"}, {"y"});
  expect_refused(shared_case(sketch.graph(), {{"unread", 0, {0, 1}}, {"y", 0, {0, 1}}}), "unread", "y");
}

TEST(CheckAlias, TensorsOfTwoNetworksAreDifferent) {
  std::vector<Graph> graphs;
  Plan plan{.models = {{.name = "first"}, {.name = "second"}},
            .clocks = {{}},
            .memories = {{{.name = "arena"}, 16, 0}},
            .buffers = {{.id = "shared", .size = 16, .pieces = {{0, 16, {0, 1}}}}},
            .places = {{0, 0}},
            .summary = {.peak = 16}};
  for (const char* const name : {"x", "z"}) {
    Sketch sketch;
    sketch.subgraph({name}, {});
    plan.tensors.push_back({graphs.size(), sketch.tensor(name), {{0, 0, {0, 1}, std::nullopt}}});
    graphs.push_back(sketch.graph());
  }
  EXPECT_TRUE(has_fault(check_plan(plan, graphs), {{FaultKind::overlap}, {"'z'"}}));
  plan.tensors[1].views.clear();  // the caller's own
  EXPECT_TRUE(check_plan(plan, graphs).empty()) << text_of(check_plan(plan, graphs));
}

// Bodies.

/// x -> Conv -> a; an operator with the body (p, q) -> Add -> out; -> Conv -> y.
Sketch with_body(BodyUse use) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.subgraph({"p", "q"}, {"out"});
  sketch.add(0, "Conv", {"x"}, {"a"});
  Operator& runner = sketch.add(0, use == BodyUse::once ? "If" : "Loop", {"a"}, {"r"});
  runner.bodies = {1};
  runner.body_use = use;
  sketch.add(0, "Conv", {"r"}, {"y"});
  sketch.add(1, "Add", {"p", "q"}, {"out"});
  return sketch;
}

TEST(CheckAlias, ABranchMayWriteOverOneOfItsInputs) {
  Sketch sketch = with_body(BodyUse::once);
  expect_accepted(shared_case(sketch.graph(), {{"p", 0, {2, 2}}, {"out", 0, {2, 3}}}));
  expect_overlap(shared_case(sketch.graph(), {{"p", 0, {2, 2}}, {"q", 0, {2, 2}}, {"out", 0, {2, 3}}}), "p",
                 "q");
}

TEST(CheckAlias, ALoopKeepsItsInputs) {
  Sketch sketch = with_body(BodyUse::repeated);
  expect_overlap(shared_case(sketch.graph(), {{"p", 0, {1, 3}}, {"out", 0, {2, 3}}}), "p", "out");
}

TEST(CheckAlias, ALoopKeepsWhatItReadsFromOutside) {
  Sketch sketch = with_body(BodyUse::repeated);
  sketch.graph().subgraphs[1].operators[0].inputs[0] = sketch.id("a");
  sketch.graph().subgraphs[0].operators[1].inputs[0] = sketch.id("x");
  expect_overlap(shared_case(sketch.graph(), {{"a", 0, {0, 3}}, {"out", 0, {2, 3}}}), "a", "out");
}

TEST(CheckAlias, OperatorsWithBodiesPassNothingOn) {
  Sketch sketch = with_body(BodyUse::once);
  sketch.graph().subgraphs[0].operators[1].copies = {{0, 0, 0, 0, 16}};
  expect_overlap(shared_case(sketch.graph(), {{"a", 0, {0, 3}}, {"r", 0, {1, 4}}}), "a", "r");
}

TEST(CheckAlias, ACopyIsRemovedOnlyIfItIsInEveryRun) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.subgraph({}, {"out"});
  for (const char* const result : {"first", "second"}) {
    sketch.add(0, "If", {"x"}, {result}).bodies = {1};
  }
  sketch.add(0, "Conv", {"first", "second"}, {"y"});
  sketch.add(1, "Conv", {"x"}, {"a"});
  sketch.add(1, "Reshape", {"a"}, {"out"}).copies = {{0, 0, 0, 0, 16}};
  // Steps: If 0, its body 1 and 2, If 3, its body 4 and 5.
  Case it = shared_case(sketch.graph(), {{"a", 0, {1, 6}}, {"out", 0, {2, 6}}});
  auto& a = tensor_named(it.plan, "a").views;
  auto& out = tensor_named(it.plan, "out").views;
  a[0].life.upper = 3;
  out[0].life.upper = 3;
  a.push_back(a[0]);
  out.push_back(out[0]);
  a[1].life = {4, 6};
  out[1].life = {5, 6};
  expect_accepted(with_removed(it, 1, 16));
  for (const std::size_t elsewhere : {0U, 1U}) {
    Case other = it;
    // That has its own place still.
    tensor_named(other.plan, "out").views[elsewhere].buffer = buffer_named(it.plan, "out");
    expect_accepted(with_removed(other, 0, 0));
    EXPECT_TRUE(has_fault(check(with_removed(other, 1, 16)), {{FaultKind::accounting}, {"removes 0 of 0"}}));
  }
}

// Counting.

TEST(CheckAlias, RemovedCopiesAreCounted) {
  Sketch sketch = split_and_concat();
  const Case it = shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 0, {1, 4}}, {"c", 8, {1, 3}}});
  for (const CopiesRemoved wrong : {CopiesRemoved{1, 16}, {2, 8}, {0, 0}, {2, 17}}) {
    EXPECT_TRUE(has_fault(check(with_removed(it, wrong.count, wrong.bytes)),
                          {{FaultKind::accounting}, {"removes 2 of 16"}}));
  }
}

TEST(CheckAlias, CopiesOfFoldedOperatorsAreNotCounted) {
  Sketch sketch = reshape_chain();
  Operator& constant = sketch.add(0, "Reshape", {"c"}, {"d"});
  constant.folded = true;
  constant.copies = {{0, 0, 0, 0, 16}};
  for (const char* const name : {"c", "d"}) sketch.tensor(name).kind = TensorKind::weight;
  expect_accepted(with_removed(shared_case(sketch.graph(), {{"a", 8, {0, 2}}, {"b", 8, {1, 3}}}), 1, 16));
}

// Alignment.

/// The second half of `a` lies at 8 in a buffer of alignment 16; `d` is [b c] again.
Sketch unaligned() {
  Sketch sketch = split_and_concat();
  Operator& concat = sketch.graph().subgraphs[0].operators[2];
  std::swap(concat.inputs[0], concat.inputs[1]);
  return sketch;
}

const std::vector<Put> all_in_one{{"a", 0, {0, 2}}, {"b", 0, {1, 4}}, {"c", 8, {1, 3}}, {"d", 0, {2, 4}}};
const Expected c_is_unaligned{{FaultKind::alignment}, {"'c' is at 65544"}};

TEST(CheckAlias, WhatNoKernelTouchesNeedsNoAlignment) {
  Sketch sketch = unaligned();
  expect_accepted(with_removed(shared_case(sketch.graph(), all_in_one, 16), 4, 32));
}

TEST(CheckAlias, WhatOnlyFoldedOperatorsReadNeedsNoAlignment) {
  Sketch sketch = unaligned();
  sketch.add(0, "Shape", {"c"}, {"s"}).folded = true;
  sketch.tensor("s").kind = TensorKind::weight;
  expect_accepted(with_removed(shared_case(sketch.graph(), all_in_one, 16), 4, 32));
}

TEST(CheckAlias, WhatAKernelReadsIsAligned) {
  Sketch sketch = unaligned();
  sketch.graph().subgraphs[0].operators[3].inputs.push_back(sketch.id("c"));
  auto puts = all_in_one;
  puts[2].life.upper = 4;
  EXPECT_TRUE(has_fault(check(shared_case(sketch.graph(), puts, 16)), c_is_unaligned));
  EXPECT_FALSE(has_fault(check(shared_case(sketch.graph(), puts, 8)), c_is_unaligned));
}

TEST(CheckAlias, WhatACopyIsToldByIsAligned) {
  Sketch sketch = unaligned();  // `c` is the shape of a reshape
  sketch.add(0, "Reshape", {"y", "c"}, {"z"}).copies = {{0, 0, 0, 0, 16}};
  auto puts = all_in_one;
  puts[2].life.upper = 5;
  puts.push_back({"y", 16, {3, 5}});
  puts.push_back({"z", 16, {4, 5}});
  EXPECT_TRUE(has_fault(check(shared_case(sketch.graph(), puts, 16)), c_is_unaligned));
}

TEST(CheckAlias, ScratchIsAligned) {
  Sketch sketch = chain("Conv");
  sketch.graph().subgraphs[0].operators[1].scratch = {sketch.id("c")};
  sketch.tensor("c").kind = TensorKind::scratch;
  EXPECT_TRUE(has_fault(check(shared_case(sketch.graph(), {{"c", 8, {1, 2}}}, 16)), c_is_unaligned));
}

TEST(CheckAlias, WhatHasNoBytesNeedsNoAlignment) {
  Sketch sketch = chain("Conv");
  sketch.tensor("a").shape = Shape{0};
  sketch.tensor("a").bytes = 0;
  expect_accepted(shared_case(sketch.graph(), {{"a", 8, {0, 2}}, {"b", 0, {1, 3}}}, 16));
}

TEST(CheckAlias, WhatAKernelWritesIsAligned) {
  Sketch sketch = unaligned();
  sketch.graph().subgraphs[0].operators[1].copies.pop_back();
  EXPECT_TRUE(has_fault(check(shared_case(sketch.graph(), {all_in_one.begin() + 1, all_in_one.end()}, 16)),
                        c_is_unaligned));
}

TEST(CheckAlias, WhatACopyThatIsMadeReadsOrWritesIsAligned) {
  Sketch sketch = unaligned();
  const Case read = shared_case(sketch.graph(), {all_in_one.begin(), all_in_one.end() - 1}, 16);
  EXPECT_TRUE(has_fault(check(read), c_is_unaligned));  // `d` is elsewhere: the concat reads `c`
  const Case written = shared_case(sketch.graph(), {all_in_one.begin() + 1, all_in_one.end()}, 16);
  EXPECT_TRUE(has_fault(check(written), c_is_unaligned));  // `a` is elsewhere: the split writes `c`
}

TEST(CheckAlias, WhatAnOperatorComputesFromIsAligned) {
  Sketch sketch = unaligned();  // half of `d` is computed, from anything the operator reads
  sketch.graph().subgraphs[0].operators[2].copies.erase(
      sketch.graph().subgraphs[0].operators[2].copies.begin());
  sketch.graph().subgraphs[0].operators[3].inputs.pop_back();
  std::vector<Put> puts{{"a", 0, {0, 2}}, {"c", 8, {1, 3}}, {"d", 0, {2, 4}}};
  EXPECT_TRUE(has_fault(check(shared_case(sketch.graph(), puts, 16)), c_is_unaligned));
}

TEST(CheckAlias, WhatTheCallerReadsOrABodyHandsOverIsAligned) {
  Sketch sketch = unaligned();
  sketch.graph().subgraphs[0].outputs.push_back(sketch.id("c"));
  sketch.tensor("c").kind = TensorKind::output;
  auto puts = all_in_one;
  puts[2].life.upper = 4;
  EXPECT_TRUE(has_fault(check(shared_case(sketch.graph(), puts, 16)), c_is_unaligned));
}

// Many fragments.

/// A concat of `count` tensors of one byte, each in its slot, and bytes of its own behind them. If there
/// are reshapes of it, the last of them is there instead.
Case many_fragments(std::size_t count, Bytes own = 0, std::size_t reshapes = 0) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  Sketch::Names names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("part" + std::to_string(i));
  sketch.add(0, "Conv", {"x"}, names);
  const auto step = static_cast<Position>(reshapes);
  const auto bytes = static_cast<Bytes>(count);
  const std::string whole = "whole" + std::to_string(reshapes);
  std::vector<Put> puts{{whole, 0, {1 + step, 3 + step}}};
  for (std::size_t r = 0; r <= reshapes; ++r) {
    Tensor& tensor = sketch.tensor("whole" + std::to_string(r));
    tensor.bytes = bytes + own;
    tensor.shape = Shape{tensor.bytes};
  }
  Operator& concat = sketch.add(0, "Concat", names, {"whole0"});
  for (std::size_t i = 0; i < count; ++i) {
    concat.copies.push_back({i, 0, 0, static_cast<Bytes>(i), 1});
    puts.push_back({names[i], static_cast<Bytes>(i), {0, 3 + step}});
    sketch.tensor(names[i]).shape = Shape{1};
    sketch.tensor(names[i]).bytes = 1;
  }
  for (std::size_t r = 0; r < reshapes; ++r) {
    sketch.add(0, "Reshape", {"whole" + std::to_string(r)}, {"whole" + std::to_string(r + 1)}).copies = {
        {0, 0, 0, 0, bytes + own}};
  }
  names.push_back(whole);
  sketch.add(0, "Conv", names, {"y"});
  Case it = shared_case(sketch.graph(), puts, 1);
  return reshapes == 0 ? with_removed(it, bytes, bytes) : it;
}

TEST(CheckAlias, ContentOfManyFragmentsIsFollowedUpToABound) {
  const Expected refused{{FaultKind::overlap}, {"'whole0'"}};
  EXPECT_TRUE(check(many_fragments(4096)).empty()) << text_of(check(many_fragments(4096)));
  EXPECT_TRUE(check(many_fragments(4095, 1)).empty()) << text_of(check(many_fragments(4095, 1)));
  EXPECT_TRUE(has_fault(check(many_fragments(4097)), refused));
  EXPECT_TRUE(has_fault(check(many_fragments(4096, 1)), refused));
}

TEST(CheckAlias, CopiesThatContinueEachOtherAreOneFragment) {
  Sketch sketch = reshape_chain();
  const Bytes bytes = 5000;
  for (const char* const name : {"a", "b"}) {
    sketch.tensor(name).shape = Shape{bytes};
    sketch.tensor(name).bytes = bytes;
  }
  auto& copies = sketch.graph().subgraphs[0].operators[1].copies;
  copies.clear();
  for (Bytes i = bytes; i > 0; --i) copies.push_back({0, 0, i - 1, i - 1, 1});
  expect_accepted(
      with_removed(shared_case(sketch.graph(), {{"a", 0, {0, 2}}, {"b", 0, {1, 3}}}), bytes, bytes));
}

TEST(CheckAlias, AllFragmentsTogetherAreBounded) {
  EXPECT_TRUE(has_fault(check(many_fragments(4096, 0, 1030)), {{FaultKind::overlap}, {"'whole1030'"}}));
}

TEST(CheckAlias, LongChainsOfCopiesAreFollowed) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Conv", {"x"}, {"t0"});
  const std::size_t length = 5000;
  for (std::size_t i = 0; i < length; ++i) {
    sketch.add(0, "Reshape", {"t" + std::to_string(i)}, {"t" + std::to_string(i + 1)}).copies = {
        {0, 0, 0, 0, 16}};
  }
  const std::string last = "t" + std::to_string(length);
  sketch.add(0, "Conv", {"t0", last}, {"y"});
  const auto end = static_cast<Position>(length);
  const Case it = shared_case(sketch.graph(), {{"t0", 0, {0, end + 2}}, {last, 0, {end, end + 2}}});
  EXPECT_TRUE(check(it).empty()) << text_of(check(it));
}

}  // namespace
}  // namespace stowage
