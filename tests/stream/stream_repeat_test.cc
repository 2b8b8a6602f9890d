// Operators that are written down once for each reader.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "row_sketch.h"
#include "stream/repeat.h"

namespace stowage::stream {
namespace {

using cases::RowSketch;

/// x -> norm (of mean and square) -> two readers and a residual, as in a transformer.
struct Normalized {
  RowSketch sketch{};
  TensorId x = sketch.input("x", {6, 4});
  TensorId mean = sketch.elementwise("Mean", {x}, 0);
  TensorId norm = sketch.elementwise("Sub", {x, mean}, 0);
};

TEST(StreamRepeat, FindsWhatIsMadeOfRowsThatAreThere) {
  Normalized it;
  it.sketch.elementwise("A", {it.norm}, 0);
  it.sketch.elementwise("B", {it.norm}, 0);
  it.sketch.elementwise("C", {it.x}, 0);
  it.sketch.finish();
  const auto found = repeatables(it.sketch.graph);
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].tensor, it.norm);
  EXPECT_EQ(found[0].operators, (std::vector<std::size_t>{0, 1}));
}

TEST(StreamRepeat, LeavesWhatWouldNotHelp) {
  Normalized nobody_else_reads_x;
  nobody_else_reads_x.sketch.elementwise("A", {nobody_else_reads_x.norm}, 0);
  nobody_else_reads_x.sketch.elementwise("B", {nobody_else_reads_x.norm}, 0);
  nobody_else_reads_x.sketch.finish();
  EXPECT_TRUE(repeatables(nobody_else_reads_x.sketch.graph).empty());

  Normalized has_multiplies;
  has_multiplies.sketch.elementwise("A", {has_multiplies.norm}, 0);
  has_multiplies.sketch.elementwise("B", {has_multiplies.norm, has_multiplies.x}, 0);
  has_multiplies.sketch.finish();
  EXPECT_EQ(repeatables(has_multiplies.sketch.graph).size(), 1);
  has_multiplies.sketch.graph.subgraphs[0].operators[1].multiplies = 1;
  EXPECT_TRUE(repeatables(has_multiplies.sketch.graph).empty());

  RowSketch windows;
  const TensorId x = windows.input("x", {6, 4});
  const TensorId window = windows.convolve(x, 0, 6, {.offset = -1, .taps = 3});
  windows.elementwise("A", {window}, 0);
  windows.elementwise("B", {window}, 0);
  windows.elementwise("C", {x}, 0);
  windows.finish();
  EXPECT_TRUE(repeatables(windows.graph).empty());
}

/// What an operator computes, told by what it and those in front of it are.
std::string formula(const Graph& graph, TensorId t) {
  for (const stowage::Operator& op : graph.subgraphs[0].operators) {
    if (std::find(op.outputs.begin(), op.outputs.end(), t) == op.outputs.end()) continue;
    std::string text = op.name + "(";
    for (const auto& input : op.inputs) text += formula(graph, *input) + ",";
    return text + ")";
  }
  return graph.tensors[t].name;
}

std::set<TensorId> inputs_of(const stowage::Operator& op) {
  std::set<TensorId> inputs;
  for (const auto& input : op.inputs) inputs.insert(*input);
  return inputs;
}

TEST(StreamRepeat, IsTheSameNetwork) {
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    oracle::Choices choices(seed);
    const Graph graph = cases::random_row_graph(choices);
    for (const Repeatable& what : repeatables(graph)) {
      ++count;
      const Repeated repeated = repeat(once(graph), what);
      const auto& operators = repeated.graph.subgraphs[0].operators;
      ASSERT_NO_THROW(validate(repeated.graph)) << seed;
      ASSERT_EQ(repeated.operators.size(), operators.size());
      ASSERT_EQ(repeated.tensors.size(), repeated.graph.tensors.size());
      std::set<TensorId> read;
      for (std::size_t o = 0; o < operators.size(); ++o) {
        const stowage::Operator& own = graph.subgraphs[0].operators[repeated.operators[o]];
        const TensorId output = *operators[o].outputs[0];
        EXPECT_EQ(repeated.tensors[output], *own.outputs[0]) << seed;
        EXPECT_EQ(formula(repeated.graph, output), formula(graph, *own.outputs[0])) << seed;
        for (const TensorId input : inputs_of(operators[o])) {
          const bool is_own = repeated.tensors[input] == what.tensor;
          EXPECT_TRUE(!is_own || read.insert(input).second) << seed;  // one reader for each
        }
      }
    }
  }
  EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace stowage::stream
