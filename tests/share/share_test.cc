// Which models run when: run expressions, the clocks they make, and what models pass to each other.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "share/feeds.h"
#include "share/timeline.h"
#include "stowage/error.h"

namespace stowage::share {
namespace {

const std::vector<std::string> names{"A", "B", "C", "D", "E"};

/// The expression with a pair of parentheses around everything that is not a model.
std::string shown(const RunExpression& expression) {
  if (expression.kind == RunExpression::Kind::model) return names[expression.model];
  std::string text;
  for (const RunExpression& part : expression.parts) {
    if (!text.empty()) text += expression.kind == RunExpression::Kind::sequence ? "; " : " | ";
    text += shown(part);
  }
  return "(" + text + ")";
}

std::string read(std::string_view text, std::size_t models) {
  try {
    return shown(parse_run_expression(text, std::span(names).first(models)));
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(RunExpressionTest, BindsConcurrencyTighterThanSequence) {
  EXPECT_EQ(read("A; B | C", 3), "(A; (B | C))");
  EXPECT_EQ(read("A | B; C", 3), "((A | B); C)");
  EXPECT_EQ(read("(A; B) | C", 3), "((A; B) | C)");
  EXPECT_EQ(read("A|(B;C|D);E", 5), "((A | (B; (C | D))); E)");
}

TEST(RunExpressionTest, TakesNestedExpressionsOfOneKindApart) {
  EXPECT_EQ(read("(A; (B; C)); D", 4), "(A; B; C; D)");
  EXPECT_EQ(read("A | (B | (C | D))", 4), "(A | B | C | D)");
  EXPECT_EQ(read("((A))", 1), "A");
}

TEST(RunExpressionTest, RunsModelsInTheirOrderWhenNothingIsSaid) {
  EXPECT_EQ(read("", 3), "(A; B; C)");
  EXPECT_EQ(read("  ", 1), "A");
}

TEST(RunExpressionTest, ReadsWhatRunsBetweenSteps) {
  const auto parsed = [](std::string_view text, std::size_t count) {
    return parse_run_expression(text, std::span(names).first(count));
  };
  const RunExpression one = parsed("A ^20 B | C", 3);
  ASSERT_EQ(one.kind, RunExpression::Kind::parallel);
  ASSERT_EQ(one.parts[0].kind, RunExpression::Kind::paused);
  EXPECT_EQ(one.parts[0].every, 20);
  EXPECT_EQ(one.parts[0].parts.at(1).model, 1U);
  const RunExpression two = parsed("A^3B^2(C|D)", 4);
  ASSERT_EQ(two.kind, RunExpression::Kind::paused);
  EXPECT_EQ(two.every, 2);
  EXPECT_EQ(two.parts.at(0).every, 3);
  EXPECT_EQ(two.parts.at(1).kind, RunExpression::Kind::parallel);
  EXPECT_EQ(read("A ^x B", 2),
            "--run 'A ^x B': at character 4 expected a number of steps, at least 1, found 'x B'");
  EXPECT_EQ(read("A ^0 B", 2),
            "--run 'A ^0 B': at character 4 expected a number of steps, at least 1, found '0 B'");
  EXPECT_NE(read("(A | B) ^2 C", 3).find("have no common steps"), std::string::npos);
}

TEST(RunExpressionTest, ReadsQuotedNames) {
  const std::vector<std::string> odd{"a;b", "c|d", " e "};
  const RunExpression expression = parse_run_expression("'c|d' ; \"a;b\" | ' e '", odd);
  ASSERT_EQ(expression.parts.size(), 2U);
  EXPECT_EQ(expression.parts[0].model, 1U);
  EXPECT_EQ(expression.parts[1].parts.at(0).model, 0U);
  EXPECT_EQ(expression.parts[1].parts.at(1).model, 2U);
}

TEST(RunExpressionTest, SaysWhereItIsWrong) {
  EXPECT_EQ(read("A; ;B", 2), "--run 'A; ;B': at character 4 expected one of the models A, B, found ';B'");
  EXPECT_EQ(read("A; X", 1), "--run 'A; X': at character 4 expected one of the models A, found 'X'");
  EXPECT_EQ(read("A; A", 1), "--run 'A; A': at character 4 expected every model once, found 'A'");
  EXPECT_EQ(read("(A", 1), "--run '(A': at character 3 expected ')', ';', '|' or '^', found the end");
  EXPECT_EQ(read("A) ", 1), "--run 'A) ': at character 2 expected ';', '|', '^' or the end, found ') '");
  EXPECT_EQ(read("A", 2), "--run 'A': does not say when 'B' runs");
  EXPECT_NE(read(std::string(200, '(') + "A" + std::string(200, ')'), 1).find("at most 100 parentheses"),
            std::string::npos);
}

/// A model of so many steps; what they are does not matter.
Clock steps(std::size_t model, std::size_t count) {
  Clock clock;
  for (std::size_t i = 0; i < count; ++i) clock.steps.emplace_back(Run{model, {0, i}, std::nullopt});
  return clock;
}

/// Models A, B, ... with so many steps each.
Timeline timeline(std::string_view text, const std::vector<std::size_t>& counts) {
  std::vector<Clock> clocks;
  for (std::size_t m = 0; m < counts.size(); ++m) clocks.push_back(steps(m, counts[m]));
  return {parse_run_expression(text, std::span(names).first(counts.size())), clocks};
}

TEST(TimelineTest, PutsOnePauseBeforeTheSteps) {
  const Timeline it = timeline("A; B ^2 (C; D)", {1, 2, 3, 4});
  ASSERT_EQ(it.clocks().size(), 2U);
  ASSERT_EQ(it.paused().size(), 1U);
  EXPECT_EQ(std::get<Pause>(it.clocks()[0].steps[1]), Pause{1});
  EXPECT_EQ(it.paused()[0].between.begin, 2);
  EXPECT_EQ(it.paused()[0].between.end, 4);
  EXPECT_EQ(it.stage_of(3).clock, 1U);
  EXPECT_TRUE(it.are_parted(1, 2));
  EXPECT_FALSE(it.are_parted(0, 1));
  EXPECT_FALSE(it.runs_before(0, 2));
  EXPECT_TRUE(it.runs_before(2, 3));
  EXPECT_EQ(it.lasting_clock(1), 1U);
}

TEST(TimelineTest, PutsModelsInSequenceOnOneClock) {
  const Timeline it = timeline("B; A", {3, 2});
  ASSERT_EQ(it.clocks().size(), 1U);
  EXPECT_EQ(it.clocks()[0].steps.size(), 5U);
  EXPECT_EQ(it.stage_of(0).begin, 2);
  EXPECT_EQ(it.stage_of(0).end, 5);
  EXPECT_EQ(std::get<stowage::Run>(it.clocks()[0].steps[2]), (stowage::Run{0, {0, 0}, std::nullopt}));
  EXPECT_TRUE(it.runs_before(1, 0));
  EXPECT_FALSE(it.runs_before(0, 1));
  EXPECT_FALSE(it.runs_before(0, 0));
}

TEST(TimelineTest, GivesEveryBranchAClock) {
  const Timeline it = timeline("A; B | (C; D); E", {1, 2, 3, 4, 5});
  ASSERT_EQ(it.clocks().size(), 3U);
  EXPECT_EQ(it.clocks()[0].steps.size(), 7U);
  EXPECT_EQ(std::get<Fork>(it.clocks()[0].steps[1]), (Fork{{1, 2}}));
  EXPECT_EQ(it.stage_of(3).clock, 2U);
  EXPECT_EQ(it.stage_of(3).begin, 3);
  EXPECT_EQ(it.common_clock(1, 2), 0U);
  EXPECT_EQ(it.position_on(0, {2, 5}), 1);
  EXPECT_EQ(it.position_on(2, {2, 5}), 5);
  EXPECT_TRUE(it.runs_before(0, 3));
  EXPECT_TRUE(it.runs_before(2, 3));
  EXPECT_TRUE(it.runs_before(3, 4));
  EXPECT_FALSE(it.runs_before(1, 3));
  EXPECT_FALSE(it.runs_before(3, 1));
}

TEST(TimelineTest, NestsForks) {
  const Timeline it = timeline("A | (B; C | D)", {1, 1, 1, 1});
  ASSERT_EQ(it.clocks().size(), 5U);
  EXPECT_EQ(it.common_clock(it.stage_of(2).clock, it.stage_of(3).clock), it.stage_of(1).clock);
  EXPECT_EQ(it.common_clock(it.stage_of(0).clock, it.stage_of(3).clock), 0U);
  EXPECT_TRUE(it.runs_before(1, 3));
  EXPECT_FALSE(it.runs_before(2, 3));
  EXPECT_FALSE(it.runs_before(0, 3));
}

TEST(TimelineTest, OrdersModelsWithoutSteps) {
  const Timeline it = timeline("A; B; C | D", {0, 0, 0, 0});
  EXPECT_TRUE(it.runs_before(0, 1));
  EXPECT_FALSE(it.runs_before(1, 0));
  EXPECT_TRUE(it.runs_before(1, 2));
  EXPECT_FALSE(it.runs_before(2, 3));
}

TEST(TimelineTest, KnowsWhereWhatABranchLeavesIsKept) {
  const auto lasting = [](std::string_view text, const std::vector<std::size_t>& counts, std::size_t model) {
    const Timeline it = timeline(text, counts);
    return it.lasting_clock(it.stage_of(model).clock);
  };
  EXPECT_EQ(lasting("A; B", {1, 1}, 0), 0U);
  EXPECT_EQ(lasting("A | B", {1, 1}, 0), 1U);
  EXPECT_EQ(lasting("A | B; C", {1, 1, 1}, 0), 0U);
  EXPECT_EQ(lasting("A | B; C", {1, 1, 0}, 0), 0U);  // C gets its input when the branches have ended
  EXPECT_EQ(lasting("C; A | B", {1, 1, 1}, 0), 1U);
  EXPECT_EQ(lasting("(A | B; C) | D", {1, 1, 1, 1}, 0), 1U);
  EXPECT_EQ(lasting("(A | B) | C", {1, 1, 1}, 0), 1U);
  EXPECT_EQ(lasting("(C; A | B) | D; E", {1, 1, 1, 1, 1}, 0), 0U);
}

TEST(TimelineTest, EndsBehindModelsWithoutSteps) {
  EXPECT_EQ(timeline("A; B", {2, 1}).end_of(0), 3);
  EXPECT_EQ(timeline("A; B", {2, 0}).end_of(0), 3);
  EXPECT_EQ(timeline("B; A", {2, 0}).end_of(0), 2);
  EXPECT_EQ(timeline("A | B", {2, 0}).end_of(2), 1);
}

Graph network(Bytes input, Bytes output) {
  Graph graph;
  graph.tensors = {
      {.name = "in", .kind = TensorKind::input, .dtype = DType::int8, .shape = Shape{input}, .bytes = input},
      {.name = "out",
       .kind = TensorKind::output,
       .dtype = DType::int8,
       .shape = Shape{output},
       .bytes = output}};
  graph.subgraphs = {{.name = "main",
                      .inputs = {0},
                      .outputs = {1},
                      .operators = {{.type = "X", .inputs = {0}, .outputs = {1}}}}};
  return graph;
}

class FeedsTest : public ::testing::Test {
 protected:
  /// What is wrong with the feeds among A (8 -> 4 bytes), B (4 -> 4), C (4 -> 8).
  std::string problem(const std::vector<FeedNames>& feeds, std::string_view run = "A; B; C") {
    const std::vector<NamedGraph> networks{{names[0], a_}, {names[1], b_}, {names[2], c_}};
    try {
      resolved_ = resolve_feeds(feeds, networks, timeline(run, {1, 1, 1}));
      return "";
    } catch (const UsageError& error) {
      return error.what();
    }
  }

  Graph a_ = network(8, 4);
  Graph b_ = network(4, 4);
  Graph c_ = network(4, 8);
  std::vector<ResolvedFeed> resolved_;
};

TEST_F(FeedsTest, FindsTensorsByModelAndName) {
  EXPECT_EQ(problem({{"A.out", "B.in"}, {"A.out", "C.in"}}), "");
  ASSERT_EQ(resolved_.size(), 2U);
  EXPECT_EQ(resolved_[1].output, (ModelTensor{0, 1}));
  EXPECT_EQ(resolved_[1].input, (ModelTensor{2, 0}));
}

TEST_F(FeedsTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(problem({{"A.nothing", "B.in"}}),
            "--feed A.nothing=B.in: 'A.nothing' is no output of a model, expected MODEL.TENSOR");
  EXPECT_EQ(problem({{"A.out", "B.out"}}),
            "--feed A.out=B.out: 'B.out' is no input of a model, expected MODEL.TENSOR");
  EXPECT_EQ(problem({{"A.out", "A.in"}}),
            "--feed A.out=A.in: an output of 4 bytes of int8 cannot be an input of 8 bytes of int8");
  EXPECT_EQ(problem({{"B.out", "B.in"}}), "--feed B.out=B.in: 'B' does not run after 'B'");
  EXPECT_EQ(problem({{"B.out", "C.in"}}, "A; C; B"), "--feed B.out=C.in: 'C' does not run after 'B'");
  EXPECT_EQ(problem({{"B.out", "C.in"}}, "A; B | C"), "--feed B.out=C.in: 'C' does not run after 'B'");
  EXPECT_EQ(problem({{"A.out", "C.in"}, {"B.out", "C.in"}}), "--feed B.out=C.in: the input is fed twice");
  b_.tensors[1].dtype = DType::uint8;
  EXPECT_EQ(problem({{"B.out", "C.in"}}),
            "--feed B.out=C.in: an output of 4 bytes of uint8 cannot be an input of 4 bytes of int8");
}

/// Every kept output: its bytes' source, those fed with it, those that last, and the clock.
std::string shown(const std::vector<KeptOutput>& all) {
  const auto list = [](const std::vector<ModelTensor>& tensors) {
    std::string text;
    for (const ModelTensor& it : tensors) text += names[it.model] + std::to_string(it.tensor);
    return text;
  };
  std::string text;
  for (const KeptOutput& it : all) {
    text += list({it.output}) + ">" + list(it.inputs) + "!" + list(it.lasting) + "@" +
            std::to_string(it.clock) + " ";
  }
  return text;
}

TEST_F(FeedsTest, KeepOutputsForReadersAndForTheCaller) {
  const auto kept = [&](const std::vector<FeedNames>& feeds, const std::vector<std::string>& released,
                        std::string_view run, Io io = Io::arena) {
    const std::vector<NamedGraph> networks{{names[0], a_}, {names[1], b_}, {names[2], c_}};
    const Timeline times = timeline(run, {1, 1, 1});
    return shown(kept_outputs(networks, times, resolve_feeds(feeds, networks, times),
                              resolve_released(released, networks), {}, io));
  };
  EXPECT_EQ(kept({}, {}, "A; B; C"), "A1>!A1@0 B1>!B1@0 C1>!C1@0 ");
  EXPECT_EQ(kept({}, {"B.out"}, "A; B; C"), "A1>!A1@0 C1>!C1@0 ");
  EXPECT_EQ(kept({{"A.out", "B.in"}}, {"A.out"}, "A; B; C"), "A1>B0!@0 B1>!B1@0 C1>!C1@0 ");
  EXPECT_EQ(kept({{"A.out", "B.in"}, {"A.out", "C.in"}}, {}, "A; B | C"), "A1>B0C0!A1@0 B1>!B1@1 C1>!C1@2 ");
  EXPECT_EQ(kept({{"A.out", "C.in"}}, {"A.out"}, "A | B; C"), "A1>C0!@0 B1>!B1@0 C1>!C1@0 ");
  EXPECT_EQ(kept({{"A.out", "B.in"}}, {"A.out", "B.out"}, "(A; B) | C"), "A1>B0!@1 C1>!C1@2 ");
  EXPECT_EQ(kept({{"A.out", "B.in"}}, {}, "A; B; C", Io::external), "A1>B0!A1@0 ");
  b_.subgraphs[0].outputs = {0, 1};  // passes its input on
  EXPECT_EQ(kept({{"A.out", "B.in"}}, {"A.out"}, "A; B; C"), "A1>B0!B0@0 B1>!B1@0 C1>!C1@0 ");
  a_.tensors[1].kind = TensorKind::weight;
  EXPECT_EQ(kept({}, {}, "A; B; C"), "B0>!B0@0 B1>!B1@0 C1>!C1@0 ");
}

TEST_F(FeedsTest, RefusesConstantsAndState) {
  a_.tensors[1].kind = TensorKind::weight;
  EXPECT_EQ(problem({{"A.out", "B.in"}}), "--feed A.out=B.in: 'out' is constant");
  c_.tensors[0].kind = TensorKind::state;
  EXPECT_EQ(problem({{"B.out", "C.in"}}), "--feed B.out=C.in: 'in' is state");
}

}  // namespace
}  // namespace stowage::share
