// What a graph may look like, in which order its operators can run, and how large tensors are.

#include "stowage/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "oracle/random_graph.h"
#include "row_sketch.h"
#include "stowage/error.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

using oracle::random_graph;
using oracle::Sketch;

/// x -> a -> y, with an If that runs the subgraphs 1 and 2.
Sketch valid_sketch() {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.subgraph({"then_in"}, {"then_out"});
  sketch.subgraph({"else_in"}, {"else_out"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "If", {"a"}, {"b"}).bodies = {1, 2};
  sketch.add(0, "Relu", {"b"}, {"y"});
  sketch.add(1, "Add", {"then_in", "a"}, {"then_out"});
  sketch.add(2, "Relu", {"else_in"}, {"else_out"});
  return sketch;
}

/// What validate has against a graph; empty: nothing.
std::string message_of(const Graph& graph) {
  try {
    validate(graph);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct WrongGraph {
  std::string title;
  std::function<void(Sketch&)> spoil;
  std::vector<std::string> named;  ///< What the message must contain.
};

constexpr std::size_t far_away = 1'000'000;

std::vector<WrongGraph> wrong_graphs() {
  return {
      {"no subgraph", [](Sketch& it) { it.graph().subgraphs.clear(); }, {"subgraph"}},
      {"two producers",
       [](Sketch& it) { it.add(0, "Again", {"x"}, {"a"}); },
       {"'a'", "two producers", "Relu0", "Again3"}},
      {"one operator twice the producer",
       [](Sketch& it) {
         it.add(0, "Split", {"x"}, {"p", "p"});
       },
       {"'p'"}},
      {"producers in two subgraphs", [](Sketch& it) { it.add(1, "Relu", {"then_in"}, {"b"}); }, {"'b'"}},
      {"input that is written", [](Sketch& it) { it.add(0, "Relu", {"a"}, {"x"}); }, {"'x'", "Relu3"}},
      {"input of a body that is written",
       [](Sketch& it) { it.add(0, "Relu", {"a"}, {"then_in"}); },
       {"'then_in'"}},
      {"missing producer", [](Sketch& it) { it.add(0, "Relu", {"nothing"}, {"c"}); }, {"'nothing'", "Relu3"}},
      {"output nobody produces",
       [](Sketch& it) { it.graph().subgraphs[0].outputs.push_back(it.id("nothing")); },
       {"'nothing'"}},
      {"output of a body nobody produces",
       [](Sketch& it) { it.graph().subgraphs[1].outputs.push_back(it.id("nothing")); },
       {"'nothing'"}},
      {"cycle",
       [](Sketch& it) { it.graph().subgraphs[0].operators[0].inputs.emplace_back(it.id("y")); },
       {"cycle"}},
      {"cycle of one", [](Sketch& it) { it.add(0, "Relu", {"own"}, {"own"}); }, {"'own'"}},
      {"cycle in a body", [](Sketch& it) { it.add(1, "Relu", {"own"}, {"own"}); }, {"'own'"}},
      {"cycle through a body",
       [](Sketch& it) { it.graph().subgraphs[1].operators[0].inputs.emplace_back(it.id("y")); },
       {"cycle"}},
      {"body that reads its operator's result",
       [](Sketch& it) { it.graph().subgraphs[2].outputs.push_back(it.id("b")); },
       {"'b'"}},
      {"cycle through order",
       [](Sketch& it) { it.graph().subgraphs[0].operators[0].after = {2}; },
       {"cycle"}},
      {"operator after itself",
       [](Sketch& it) { it.graph().subgraphs[0].operators[0].after = {0}; },
       {"Relu0"}},
      {"side effects in an impossible order",
       [](Sketch& it) {
         it.add(0, "Print", {"late"}, {"printed"}).stateful = true;
         it.add(0, "Read", {}, {"late"}).stateful = true;
       },
       {"cycle"}},
      {"body that runs itself", [](Sketch& it) { it.add(1, "Call", {}, {}).bodies = {1}; }, {"subgraph 1"}},
      {"bodies that run each other",
       [](Sketch& it) {
         it.add(1, "Call", {}, {}).bodies = {2};
         it.add(2, "Call", {}, {}).bodies = {1};
       },
       {"subgraph"}},
      {"body that is the network",
       [](Sketch& it) { it.add(1, "Call", {}, {}).bodies = {0}; },
       {"body 0", "Call1"}},
      {"body that does not exist",
       [](Sketch& it) { it.add(1, "Call", {}, {}).bodies = {3}; },
       {"body 3", "Call1"}},
      {"capture from a sibling body",
       [](Sketch& it) { it.graph().subgraphs[2].operators[0].inputs.emplace_back(it.id("then_out")); },
       {"'then_out'"}},
      {"sibling's tensor as output of a body",
       [](Sketch& it) { it.graph().subgraphs[2].outputs.push_back(it.id("then_in")); },
       {"'then_in'"}},
      {"network that reads a body's tensor",
       [](Sketch& it) { it.add(0, "Relu", {"then_out"}, {"c"}); },
       {"'then_out'"}},
      {"network that gives out a body's tensor",
       [](Sketch& it) { it.graph().subgraphs[0].outputs.push_back(it.id("then_out")); },
       {"'then_out'"}},
      {"capture that one of two callers has not",
       [](Sketch& it) {
         const std::size_t body = it.subgraph({}, {});
         it.add(body, "Relu", {"then_out"}, {"inner"});
         it.add(1, "Call", {}, {}).bodies = {body};
         it.add(0, "Call", {}, {}).bodies = {body};
       },
       {"'then_out'"}},
      {"input that does not exist",
       [](Sketch& it) { it.graph().subgraphs[0].operators[0].inputs[0] = far_away; },
       {"1000000", "Relu0"}},
      {"output that does not exist",
       [](Sketch& it) { it.graph().subgraphs[1].operators[0].outputs[0] = far_away; },
       {"1000000", "Add0"}},
      {"scratch that does not exist",
       [](Sketch& it) { it.graph().subgraphs[0].operators[0].scratch = {far_away}; },
       {"1000000", "Relu0"}},
      {"subgraph input that does not exist",
       [](Sketch& it) { it.graph().subgraphs[1].inputs[0] = far_away; },
       {"1000000", "subgraph 1"}},
      {"subgraph output that does not exist",
       [](Sketch& it) { it.graph().subgraphs[0].outputs.push_back(it.graph().tensors.size()); },
       {"subgraph 0"}},
      {"order after nobody",
       [](Sketch& it) { it.graph().subgraphs[1].operators[0].after = {1}; },
       {"operator 1", "Add0"}},
      {"negative size", [](Sketch& it) { it.tensor("a").bytes = -4; }, {"'a'", "-4"}},
      {"size beyond all sizes",
       [](Sketch& it) { it.tensor("a").bytes = largest_value + 1; },
       {"'a'", std::to_string(largest_value + 1)}},
      {"largest number as a size",
       [](Sketch& it) { it.tensor("a").bytes = std::numeric_limits<Bytes>::max(); },
       {"overflow"}},
      {"sum of sizes that overflows",
       [](Sketch& it) {
         it.tensor("a").bytes = largest_value / 2;
         it.tensor("b").bytes = largest_value / 2;
       },
       {"overflow"}},
      {"state tie out of range",
       [](Sketch& it) {
         it.graph().ties = {{far_away, 0}};
       },
       {"1000000"}},
      {"old state out of range",
       [](Sketch& it) {
         it.graph().ties = {{0, far_away}};
       },
       {"1000000"}},
      {"new state that is no output", [](Sketch& it) { it.tie("a", "x"); }, {"'a'"}},
      {"old state that is no input", [](Sketch& it) { it.tie("y", "a"); }, {"'a'"}},
      {"old state that is an input of a body", [](Sketch& it) { it.tie("y", "then_in"); }, {"'then_in'"}},
      {"tie of different sizes",
       [](Sketch& it) {
         it.tensor("y").bytes = 17;
         it.tie("y", "x");
       },
       {"'y'", "'x'", "17", "16"}},
      {"tie to itself",
       [](Sketch& it) {
         it.graph().subgraphs[0].outputs.push_back(it.id("x"));
         it.tie("x", "x");
       },
       {"'x'"}},
      {"state with two successors",
       [](Sketch& it) {
         it.graph().subgraphs[0].outputs.push_back(it.id("b"));
         it.tie("y", "x");
         it.tie("b", "x");
       },
       {"'x'"}},
      {"state with two predecessors",
       [](Sketch& it) {
         it.graph().subgraphs[0].inputs.push_back(it.id("second"));
         it.tie("y", "x");
         it.tie("y", "second");
       },
       {"'y'"}},
  };
}

TEST(Graph, ThatIsRightIsAccepted) {
  EXPECT_EQ(message_of(valid_sketch().graph()), "");
  Sketch tied = valid_sketch();
  tied.tie("y", "x");
  EXPECT_EQ(message_of(tied.graph()), "");
  Sketch large = valid_sketch();
  for (Tensor& tensor : large.graph().tensors) tensor.bytes = 0;
  large.tensor("a").bytes = largest_value;
  EXPECT_EQ(message_of(large.graph()), "");
  Sketch given = valid_sketch();
  given.add(0, "Sum", {"weight", "code", "state", "empty", ""}, {"c", ""});
  given.tensor("weight").kind = TensorKind::weight;
  given.tensor("code").kind = TensorKind::instruction;
  given.tensor("state").kind = TensorKind::state;
  given.tensor("empty").bytes = 0;
  EXPECT_EQ(message_of(given.graph()), "");
}

TEST(Graph, ThatIsWrongIsRefusedByName) {
  for (const WrongGraph& wrong : wrong_graphs()) {
    Sketch sketch = valid_sketch();
    wrong.spoil(sketch);
    const std::string message = message_of(sketch.graph());
    EXPECT_NE(message, "") << wrong.title;
    for (const std::string& name : wrong.named) {
      EXPECT_NE(message.find(name), std::string::npos) << wrong.title << ": " << message;
    }
  }
}

/// x (4 rows of 2 bytes) -> Conv, windows of 3 -> (3 bytes) -> Pad, a byte more -> Pool over all rows.
Graph graph_of_rows() {
  cases::RowSketch sketch;
  const TensorId a = sketch.convolve(sketch.input("x", {4, 2}), 0, 4, {.offset = -1, .taps = 3});
  sketch.pool(sketch.pad(a, 0, 0, 1), 0);
  sketch.finish();
  return sketch.graph;
}

TEST(Graph, WithRowsThatAreWrongIsRefusedByName) {
  EXPECT_EQ(message_of(graph_of_rows()), "");
  struct WrongRows {
    std::string title;
    std::function<void(std::vector<Operator>&)> spoil;
    std::vector<std::string> named;
  };
  constexpr std::int64_t most = std::int64_t{1} << 31;
  const auto axis_of = [](std::vector<Operator>& ops, std::size_t op) -> RowAxis& {
    return ops[op].row_axes[0];
  };
  const auto map_of = [&](std::vector<Operator>& ops) -> RowMap& { return axis_of(ops, 0).reads[0].rows; };
  const std::vector<WrongRows> wrongs{
      {"axis", [&](auto& ops) { axis_of(ops, 0).axis = 2; }, {"'Conv-1'", "axis 2", "'conv1'"}},
      {"axis of an input", [&](auto& ops) { axis_of(ops, 0).reads[0].axis = far_away; }, {"'Conv-1'", "'x'"}},
      {"no such input", [&](auto& ops) { axis_of(ops, 0).reads[0].input = 1; }, {"'Conv-1'", "operand 1"}},
      {"input left out", [&](auto& ops) { ops[0].inputs[0].reset(); }, {"'Conv-1'", "operand 0"}},
      {"input twice", [&](auto& ops) { axis_of(ops, 0).reads.push_back({}); }, {"'Conv-1'", "twice"}},
      {"axis twice",
       [&](auto& ops) { ops[0].row_axes.push_back(ops[0].row_axes[0]); },
       {"'Conv-1'", "twice"}},
      {"divisor", [&](auto& ops) { map_of(ops).divisor = 0; }, {"'Conv-1'", "divisor 0"}},
      {"dilation", [&](auto& ops) { map_of(ops).dilation = -1; }, {"'Conv-1'", "dilation -1"}},
      {"taps", [&](auto& ops) { map_of(ops).taps = -1; }, {"'Conv-1'", "taps -1"}},
      {"many taps", [&](auto& ops) { map_of(ops).taps = most; }, {"'Conv-1'", "taps"}},
      {"scale", [&](auto& ops) { map_of(ops).scale = most + 1; }, {"'Conv-1'", "scale"}},
      {"offset", [&](auto& ops) { map_of(ops).offset = -largest_value; }, {"'Conv-1'", "offset"}},
      {"kept outside",
       [&](auto& ops) { axis_of(ops, 1).reads[0].kept_at = 3; },
       {"'Pad-2'", "at byte 3", "5 bytes"}},
      {"kept before", [&](auto& ops) { axis_of(ops, 1).reads[0].kept_at = -1; }, {"'Pad-2'", "at byte -1"}},
      {"kept of a window", [&](auto& ops) { axis_of(ops, 0).reads[0].kept_at = 0; }, {"'Conv-1'", "one row"}},
      {"axis of sums", [](auto& ops) { ops[2].sums_over = {2}; }, {"'Pool-3'", "axis 2"}},
      {"sums twice",
       [](auto& ops) {
         ops[2].sums_over = {0, 0};
       },
       {"'Pool-3'", "twice"}},
      {"sums of nothing", [](auto& ops) { ops[2].inputs.clear(); }, {"'Pool-3'", "operand 0"}},
      {"sums of two", [](auto& ops) { ops[2].outputs.emplace_back(); }, {"'Pool-3'", "outputs"}},
  };
  for (const WrongRows& wrong : wrongs) {
    Graph graph = graph_of_rows();
    wrong.spoil(graph.subgraphs[0].operators);
    const std::string message = message_of(graph);
    EXPECT_NE(message, "") << wrong.title;
    for (const std::string& name : wrong.named)
      EXPECT_NE(message.find(name), std::string::npos) << wrong.title << ": " << message;
  }
  Graph unknown = graph_of_rows();
  unknown.tensors[0].shape.reset();
  EXPECT_NE(message_of(unknown).find("known shape"), std::string::npos) << message_of(unknown);
}

TEST(Graph, WithALongChainOfBodiesIsChecked) {
  Sketch sketch;
  const std::size_t levels = 20'000;
  for (std::size_t level = 0; level < levels; ++level) sketch.subgraph({}, {});
  for (std::size_t level = 0; level + 1 < levels; ++level)
    sketch.add(level, "Call", {}, {}).bodies = {level + 1};
  EXPECT_EQ(message_of(sketch.graph()), "");
  sketch.add(levels - 1, "Call", {}, {}).bodies = {1};
  EXPECT_NE(message_of(sketch.graph()), "");
}

/// Runs whoever is ready and first in the file, as the contract says, as slowly as it gets.
std::vector<std::size_t> first_ready_first(const Graph& graph, std::size_t subgraph) {
  auto missing = oracle::waits_for(graph, subgraph);
  std::vector<std::size_t> order;
  std::set<std::size_t> done;
  while (order.size() < missing.size()) {
    for (std::size_t o = 0; o < missing.size(); ++o) {
      if (done.contains(o) || !std::includes(done.begin(), done.end(), missing[o].begin(), missing[o].end()))
        continue;
      order.push_back(o);
      done.insert(o);
      break;
    }
  }
  return order;
}

TEST(Graph, OrdersAreTheFirstThatAreValid) {
  std::size_t reordered = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Graph graph = random_graph(seed, {.depth = seed % 4, .operators = 25});
    const auto orders = topological_orders(graph);
    ASSERT_EQ(orders.size(), graph.subgraphs.size());
    for (std::size_t s = 0; s < orders.size(); ++s) {
      ASSERT_EQ(orders[s], first_ready_first(graph, s)) << "seed " << seed << ", subgraph " << s;
      if (!std::is_sorted(orders[s].begin(), orders[s].end())) ++reordered;
    }
  }
  EXPECT_GT(reordered, 300U);
}

TEST(Graph, OrdersWaitForWhatBodiesRead) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.subgraph({}, {"a"});
  sketch.subgraph({}, {});
  sketch.add(0, "Call", {}, {"y"}).bodies = {2};
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(2, "Call", {}, {}).bodies = {1};
  EXPECT_EQ(topological_orders(sketch.graph())[0], (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(captures_of(sketch.graph()),
            (std::vector<std::vector<TensorId>>{{}, {sketch.id("a")}, {sketch.id("a")}}));
  EXPECT_EQ(owners_of(sketch.graph())[sketch.id("a")], std::optional<std::size_t>(0));
}

TEST(Graph, DescribesTensorsAndOperators) {
  Sketch sketch = valid_sketch();
  EXPECT_EQ(describe(sketch.graph(), sketch.id("a")), "tensor 'a'");
  EXPECT_EQ(describe(sketch.graph(), 0, 1), "operator 'If1' (If, 1 of subgraph 0)");
  sketch.tensor("a").name = "";
  EXPECT_EQ(describe(sketch.graph(), sketch.id("a")), "tensor " + std::to_string(sketch.id("a")));
}

TEST(Graph, UpdatesInPlaceWhereElementsMeet) {
  EXPECT_TRUE(updates_in_place({.type = "Add"}, 1));
  EXPECT_TRUE(updates_in_place({.type = "ScatterND"}, 0));
  EXPECT_FALSE(updates_in_place({.type = "ScatterND"}, 2));
  EXPECT_FALSE(updates_in_place({.type = "Conv"}, 0));
}

std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (int i = 0; i <= static_cast<int>(DType::unknown); ++i) dtypes.push_back(static_cast<DType>(i));
  return dtypes;
}

TEST(Graph, NamesRoundTrip) {
  std::set<std::string_view> names;
  for (const DType dtype : all_dtypes()) {
    EXPECT_FALSE(name_of(dtype).empty());
    EXPECT_TRUE(names.insert(name_of(dtype)).second) << name_of(dtype);
    EXPECT_EQ(dtype_named(name_of(dtype)), dtype) << name_of(dtype);
  }
  EXPECT_EQ(name_of(DType::float32), "float32");
  EXPECT_FALSE(dtype_named("float31"));
  EXPECT_FALSE(dtype_named(""));
  for (int i = 0; i <= static_cast<int>(TensorKind::scratch); ++i) {
    const auto kind = static_cast<TensorKind>(i);
    EXPECT_EQ(tensor_kind_named(name_of(kind)), kind);
  }
  EXPECT_FALSE(tensor_kind_named("weights"));
  for (int i = 0; i <= static_cast<int>(ModelFormat::json); ++i) {
    const auto format = static_cast<ModelFormat>(i);
    EXPECT_EQ(model_format_named(name_of(format)), format);
  }
  EXPECT_FALSE(model_format_named("pt"));
  for (int i = 0; i <= static_cast<int>(ClaimScope::stream); ++i) {
    const auto scope = static_cast<ClaimScope>(i);
    EXPECT_EQ(claim_scope_named(name_of(scope)), scope);
  }
  EXPECT_FALSE(claim_scope_named("everything"));
  for (int i = 0; i <= static_cast<int>(Wish::recomputation); ++i) {
    const auto wish = static_cast<Wish>(i);
    EXPECT_EQ(wish_named(name_of(wish)), wish);
  }
  EXPECT_FALSE(wish_named("more memory"));
}

TEST(Graph, BytesOfEveryType) {
  const std::vector<std::pair<std::vector<DType>, int>> bits{
      {{DType::int2, DType::uint2}, 2},
      {{DType::int4, DType::uint4, DType::float4e2m1}, 4},
      {{DType::boolean, DType::int8, DType::uint8, DType::float8e4m3fn, DType::float8e4m3fnuz,
        DType::float8e5m2, DType::float8e5m2fnuz, DType::float8e8m0},
       8},
      {{DType::int16, DType::uint16, DType::float16, DType::bfloat16}, 16},
      {{DType::int32, DType::uint32, DType::float32, DType::resource}, 32},
      {{DType::int64, DType::uint64, DType::float64, DType::complex64}, 64},
      {{DType::complex128}, 128},
  };
  std::size_t seen = 0;
  for (const auto& [dtypes, expected] : bits) {
    for (const DType dtype : dtypes) {
      ++seen;
      EXPECT_EQ(bits_of(dtype), expected) << name_of(dtype);
      for (std::int64_t count = 0; count < 20; ++count) {
        EXPECT_EQ(bytes_of(dtype, {count}), (count * expected + 7) / 8) << name_of(dtype) << count;
      }
      EXPECT_EQ(bytes_of(dtype, {}), std::max(1, expected / 8));
      EXPECT_EQ(bytes_of(dtype, {3, 5, 7}), (3 * 5 * 7 * expected + 7) / 8);
    }
  }
  EXPECT_EQ(seen + 2, all_dtypes().size());
  EXPECT_FALSE(bits_of(DType::string));
  EXPECT_FALSE(bits_of(DType::unknown));
  EXPECT_THROW((void)bytes_of(DType::string, {1}), Error);
  EXPECT_THROW((void)bytes_of(DType::unknown, {}), Error);
}

TEST(Graph, BytesOfOddCountsOfPackedTypesFillTheLastByte) {
  EXPECT_EQ(bytes_of(DType::int4, {3}), 2);
  EXPECT_EQ(bytes_of(DType::uint4, {3, 3}), 5);
  EXPECT_EQ(bytes_of(DType::int2, {5}), 2);
  EXPECT_EQ(bytes_of(DType::int4, {3, 3, 2}), 9);  // packed as a whole, not row by row
}

TEST(Graph, BytesOfImpossibleShapesAreRefused) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW((void)bytes_of(DType::int8, {-1}), Error);
  EXPECT_THROW((void)bytes_of(DType::int8, {2, -3}), Error);
  EXPECT_THROW((void)bytes_of(DType::int8, {0, -1}), Error);
  EXPECT_THROW((void)bytes_of(DType::int8, {std::numeric_limits<std::int64_t>::min()}), Error);
  EXPECT_THROW((void)bytes_of(DType::int8, {most}), Error);
  EXPECT_THROW((void)bytes_of(DType::float32, {most, most}), Error);
  EXPECT_THROW((void)bytes_of(DType::float64, {std::int64_t{1} << 31, std::int64_t{1} << 31}), Error);
  EXPECT_THROW((void)bytes_of(DType::int4, {most, 4}), Error);
  EXPECT_EQ(bytes_of(DType::int8, {std::int64_t{1} << 50}), std::int64_t{1} << 50);
  EXPECT_EQ(bytes_of(DType::float64, {most, most, 0}), 0);
  EXPECT_EQ(bytes_of(DType::float64, {0, most, most}), 0);
}

}  // namespace
}  // namespace stowage
