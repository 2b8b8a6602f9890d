// Extents that a run decides: which bytes stay where they are, and plans that hold for the largest sizes only,
// which the checker refuses by itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "check_cases.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using namespace cases;

Tensor floats(const std::string& name, const Shape& shape, TensorKind kind = TensorKind::temporary) {
  return {.name = name,
          .kind = kind,
          .dtype = DType::float32,
          .shape = shape,
          .bytes = bytes_of(DType::float32, shape)};
}

/// x -> Relu -> a, x -> Exp -> b, Concat of both along axis 0 -> c, Sum of c -> y; a, b of up to 4 rows.
Graph concat_of_rows() {
  Graph graph;
  graph.tensors = {floats("x", {4, 16}, TensorKind::input), floats("a", {4, 16}), floats("b", {4, 16}),
                   floats("c", {8, 16}), floats("y", {1, 16}, TensorKind::output)};
  Operator concat{.name = "concat", .type = "Concat", .inputs = {1, 2}, .outputs = {3}};
  concat.copies = {{0, 0, 0, 0, 256}, {1, 0, 0, 256, 256}};
  graph.subgraphs = {{.name = "main",
                      .inputs = {0},
                      .outputs = {4},
                      .operators = {{.name = "relu", .type = "Compress", .inputs = {0}, .outputs = {1}},
                                    {.name = "exp", .type = "Compress", .inputs = {0}, .outputs = {2}},
                                    concat,
                                    {.name = "sum", .type = "ReduceSum", .inputs = {3}, .outputs = {4}}}}};
  return graph;
}

/// The case with these open extents in the graph and in the plan.
Case with_open(Case it, const std::string& name, const std::vector<OpenExtent>& open) {
  tensor_named(it.plan, name).tensor.open = open;
  std::ranges::find(it.graph.tensors, name, &Tensor::name)->open = open;
  return it;
}

bool overlaps(const Case& it, const std::string& a, const std::string& b) {
  const Faults faults = check(it);
  return std::ranges::any_of(faults, [&](const Fault& fault) {
    return fault.kind == FaultKind::overlap && fault.what.find(in_quotes(a)) != std::string::npos &&
           fault.what.find(in_quotes(b)) != std::string::npos;
  });
}

TEST(CheckOpen, RefusesACopyRemovedBehindAnOpenExtent) {
  const Case exact = case_of(concat_of_rows(), {.alias = Alias::all});
  ASSERT_TRUE(check(exact).empty()) << text_of(check(exact));
  ASSERT_EQ(exact.plan.copies_removed.count, 2);
  // Row 0 of b is at row 4 of c only where a has four rows.
  Case open = with_open(exact, "a", {{0, 0}});
  open = with_open(open, "b", {{0, 1}});
  open = with_open(open, "c", {{0, 2}});
  EXPECT_TRUE(overlaps(open, "b", "c")) << text_of(check(open));
  Case behind_fixed = with_open(exact, "b", {{0, 1}});
  behind_fixed = with_open(behind_fixed, "c", {{0, 2}});
  EXPECT_TRUE(check(behind_fixed).empty()) << text_of(check(behind_fixed));
  // Rows of open length: where row 4 begins is open.
  Case wide = with_open(exact, "b", {{1, 0}});
  wide = with_open(wide, "a", {{1, 0}});
  wide = with_open(wide, "c", {{1, 0}});
  EXPECT_TRUE(overlaps(wide, "b", "c")) << text_of(check(wide));
}

TEST(CheckOpen, CountsNoCopyThatMovesAsRemoved) {
  Case it = case_of(concat_of_rows(), {.alias = Alias::none});
  it = with_open(it, "c", {{1, 0}});
  it.plan.copies_removed = {1, 256};
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {"removes 0 of 0"}})) << text_of(check(it));
}

TEST(CheckOpen, RefusesAnUpdateInPlaceOfAnotherSize) {
  Graph graph;
  graph.tensors = {floats("x", {4, 16}, TensorKind::input), floats("k", {4, 16}, TensorKind::input),
                   floats("a", {4, 16}), floats("b", {4, 16}), floats("y", {1, 16}, TensorKind::output)};
  graph.subgraphs = {{.name = "main",
                      .inputs = {0, 1},
                      .outputs = {4},
                      .operators = {{.name = "first", .type = "Relu", .inputs = {0}, .outputs = {2}},
                                    {.name = "add", .type = "Add", .inputs = {2, 1}, .outputs = {3}},
                                    {.name = "sum", .type = "ReduceSum", .inputs = {3}, .outputs = {4}}}}};
  const Case exact = case_of(graph, {.io = Io::external, .alias = Alias::all});
  ASSERT_TRUE(check(exact).empty()) << text_of(check(exact));
  Plan plan = exact.plan;
  ASSERT_EQ(tensor_named(plan, "a").views[0].buffer, tensor_named(plan, "b").views[0].buffer);
  const Case same = with_open(with_open(exact, "a", {{0, 7}}), "b", {{0, 7}});
  EXPECT_TRUE(check(same).empty()) << text_of(check(same));
  const Case other = with_open(with_open(exact, "a", {{0, 7}}), "b", {{0, 8}});
  EXPECT_TRUE(has_fault(check(other), {{FaultKind::accounting, FaultKind::overlap}, {"'a'"}}))
      << text_of(check(other));
  const Case fixed = with_open(exact, "a", {{0, 7}});
  EXPECT_TRUE(has_fault(check(fixed), {{FaultKind::accounting, FaultKind::overlap}, {"'a'"}}))
      << text_of(check(fixed));
}

TEST(CheckOpen, ComparesOpenExtentsOfPlanAndModel) {
  Case it = case_of(concat_of_rows());
  tensor_named(it.plan, "a").tensor.open = {{0, 0}};
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {"'a'"}}));
  it = with_open(it, "a", {{0, 0}, {2, 1}});
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::format}, {"'a'"}}));
}

TEST(CheckOpen, PlannerSharesOnlyWhatHoldsForEverySize) {
  Graph graph = concat_of_rows();
  graph.tensors[3].open = {{1, 0}};
  graph.subgraphs[0].operators[2].copies.pop_back();  // what validate() would refuse
  const Case it = case_of(graph, {.alias = Alias::all});
  EXPECT_TRUE(it.faults.empty()) << text_of(it.faults);
  EXPECT_EQ(it.plan.copies_removed.count, 1);
  std::ostringstream json;
  write_json(it.plan, json);
  const Plan read = parse_plan(json.str());
  EXPECT_EQ(read.tensors, it.plan.tensors);
}

TEST(OpenExtents, AreAxesOfTheirTensorInOrder) {
  const auto message_of = [](const std::vector<OpenExtent>& open) -> std::string {
    Graph graph = concat_of_rows();
    graph.tensors[2].open = open;
    try {
      validate(graph);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message_of({{0, 3}, {1, 3}}), "");
  for (const auto& wrong : {std::vector<OpenExtent>{{2, 0}}, {{1, 0}, {0, 0}}, {{1, 0}, {1, 1}}})
    EXPECT_NE(message_of(wrong).find("'b': is open along axes"), std::string::npos) << message_of(wrong);
  Graph graph = concat_of_rows();
  for (const TensorId t : {1U, 2U, 3U}) graph.tensors[t].open = {{1, 0}};
  EXPECT_NO_THROW(validate(graph));  // whole tensors joined back to back, one of them behind the other
  std::ostringstream json;
  write_graph(graph, json);
  const Input read =
      parse_input(json.str(), "graph.json");  // where nothing is known before a run, they are copied
  EXPECT_TRUE(std::get<Graph>(read.content).subgraphs[0].operators[2].copies.empty());
  graph.subgraphs[0].operators[2].copies.erase(graph.subgraphs[0].operators[2].copies.begin());
  EXPECT_THROW(validate(graph), Error);
}

TEST(OpenExtents, OfGraphJsonJoinNothingAtPlacesThatMove) {
  Graph graph = concat_of_rows();
  std::ostringstream json;
  write_graph(graph, json);
  std::string text = json.str();
  const auto open_b = text.find("\"name\":\"a\"");
  ASSERT_NE(open_b, std::string::npos);
  text.insert(open_b, "\"open\":[[0,0]],");
  const auto open_c = text.find("\"name\":\"c\"");
  ASSERT_NE(open_c, std::string::npos);
  text.insert(open_c, "\"open\":[[0,1]],");
  try {
    (void)parse_input(text, "graph.json");
    ADD_FAILURE() << text;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("expected places that no open extent moves"), std::string::npos)
        << error.what();
  }
}

/// Address of an element at these extents.
Bytes address(const Shape& extents, const Shape& index) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < extents.size(); ++d) at = at * extents[d] + index[d];
  return 4 * at;
}

/// Calls `visit` with each index below the extents.
template <typename Visit>
void for_each_index(const Shape& extents, Visit visit) {
  if (std::ranges::count(extents, 0) > 0) return;
  Shape index(extents.size(), 0);
  while (true) {
    visit(index);
    std::size_t d = extents.size();
    while (d > 0 && ++index[d - 1] == extents[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

/// Whether the element has one address at all smaller extents at which it exists.
bool stays(const Shape& largest, unsigned open, const Shape& index) {
  bool stays = true;
  Shape least(largest);
  for (std::size_t d = 0; d < largest.size(); ++d) least[d] = (open >> d & 1U) != 0 ? largest[d] + 1 : 1;
  for_each_index(least, [&](const Shape& choice) {
    Shape extents(largest);
    bool exists = true;
    for (std::size_t d = 0; d < largest.size(); ++d) {
      if ((open >> d & 1U) != 0) extents[d] = choice[d];
      exists = exists && index[d] < extents[d];
    }
    stays = stays && (!exists || address(extents, index) == address(largest, index));
  });
  return stays;
}

TEST(OpenExtents, BytesStayWhereEverySizeHasThem) {
  int moved = 0;
  for (const Shape& shape :
       {Shape{3}, Shape{2, 3}, Shape{1, 3}, Shape{3, 1}, Shape{2, 3, 2}, Shape{1, 2, 3}, Shape{2, 1, 3}}) {
    for (unsigned open = 0; open < 1U << shape.size(); ++open) {
      Tensor tensor = floats("t", shape);
      for (std::size_t d = 0; d < shape.size(); ++d)
        if ((open >> d & 1U) != 0) tensor.open.push_back({d, d});
      for_each_index(shape, [&](const Shape& index) {
        const Bytes at = address(shape, index);
        const bool is_fixed = is_at_fixed_place(tensor, at);
        const bool is_first =
            std::ranges::all_of(tensor.open, [&](const OpenExtent& it) { return index[it.axis] == 0; });
        EXPECT_TRUE(!is_fixed || stays(shape, open, index)) << at << " of " << open;
        // Behind the first element along an open axis, an element may exist at the largest extent only.
        EXPECT_TRUE(!is_first || is_fixed == stays(shape, open, index)) << at << " of " << open;
        moved += is_fixed ? 0 : 1;
      });
    }
  }
  EXPECT_GT(moved, 40);
}

}  // namespace
}  // namespace stowage
