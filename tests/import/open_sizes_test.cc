// Plans that hold for ranges of sizes: which extents are open, which copies stay, and what the options may say.
// A small machine runs the network at smaller sizes in the planned offsets, byte by byte.

#include "stowage/open_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "copies.h"
#include "import/open_merge.h"
#include "import/open_sizes.h"
#include "import/turning_sizes.h"
#include "model/motions.h"
#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/offset_functions.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::expect_message;
using testing::Names;
using testing::node;
using testing::NodeAttributes;
using testing::onnx_model;
using testing::read_model;
using testing::scalar;
using testing::show_copies;
using testing::tensor_value;
using testing::untyped_value;
using testing::vector_of;
using testing::writer_of;
using Type = onnx::TensorProto;

NodeAttributes axis(std::int64_t number) { return {attribute("axis", number)}; }

// The machine

/// Where the bytes of a value were computed: the tensor, and the byte in it.
using Origin = std::pair<TensorId, Bytes>;

/// Runs a network of one subgraph at other sizes than it was planned for. `planned` has the largest sizes.
class SmallerRun {
 public:
  SmallerRun(const Graph& planned, const Plan& plan, const Graph& real)
      : planned_(planned), plan_(plan), real_(real) {}

  /// The first tensor that is overwritten before it is read; empty if there is none.
  std::string fault() {
    for (const TensorId input : real_.subgraphs[0].inputs) write(input, origins_of(input));
    const std::vector<std::size_t> order = topological_orders(planned_)[0];
    for (const std::size_t o : order) {
      const Operator& op = real_.subgraphs.at(0).operators.at(o);
      if (op.folded) continue;
      for (const auto& input : op.inputs) {
        if (input && !is_intact(*input)) return describe(real_, *input);
      }
      run(planned_.subgraphs.at(0).operators.at(o), op);
    }
    for (const TensorId output : real_.subgraphs[0].outputs) {
      if (!is_intact(output)) return describe(real_, output);
    }
    return "";
  }

 private:
  [[nodiscard]] std::optional<Bytes> address(TensorId t) const {
    const std::vector<View>& views = plan_.tensors.at(t).views;
    if (views.empty()) return std::nullopt;
    return plan_.places[views[0].buffer].offset + views[0].offset;
  }

  [[nodiscard]] std::vector<Origin> origins_of(TensorId t) const {
    std::vector<Origin> origins;
    for (Bytes b = 0; b < real_.tensors.at(t).bytes; ++b) origins.emplace_back(t, b);
    return origins;
  }

  void run(const Operator& planned, const Operator& op) {
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i]) continue;
      std::vector<Origin> origins = origins_of(*op.outputs[i]);
      std::vector<bool> stays(origins.size(), false);
      for (const ByteCopy& copy : op.copies) {
        if (copy.output != i) continue;
        const bool is_removed = std::ranges::any_of(planned.copies, [&](const ByteCopy& it) {
          const auto from = address(planned.inputs.at(it.input).value());
          const auto to = address(planned.outputs.at(it.output).value());
          return it.input == copy.input && it.output == copy.output && from && to &&
                 *from + it.from == *to + it.to;
        });
        for (Bytes b = 0; b < copy.size; ++b) {
          const std::vector<Origin>& values = values_[op.inputs.at(copy.input).value()];
          if (!values.empty())
            origins.at(static_cast<std::size_t>(copy.to + b)) =
                values.at(static_cast<std::size_t>(copy.from + b));
          stays.at(static_cast<std::size_t>(copy.to + b)) = is_removed;
        }
      }
      write(*op.outputs[i], origins, stays);
    }
  }

  void write(TensorId t, const std::vector<Origin>& origins, const std::vector<bool>& stays = {}) {
    values_[t] = origins;
    const auto at = address(t);
    if (!at) return;
    for (std::size_t b = 0; b < origins.size(); ++b) {
      if (stays.empty() || !stays[b]) memory_[*at + static_cast<Bytes>(b)] = origins[b];
    }
  }

  [[nodiscard]] bool is_intact(TensorId t) const {
    const auto at = address(t);
    const auto values = values_.find(t);
    if (!at || values == values_.end()) return true;
    for (std::size_t b = 0; b < values->second.size(); ++b) {
      const auto byte = memory_.find(*at + static_cast<Bytes>(b));
      if (byte == memory_.end() || byte->second != values->second[b]) return false;
    }
    return true;
  }

  const Graph& planned_;
  const Plan& plan_;
  const Graph& real_;
  std::map<TensorId, std::vector<Origin>> values_{};
  std::map<Bytes, Origin> memory_{};
};

// Where an open size comes from, and what reads it

/// Makes "a", of at most 64 rows.
struct Opening {
  std::string name;
  std::vector<onnx::NodeProto> nodes;
  std::vector<onnx::ValueInfoProto> inputs;
  Shape shape{};  ///< The largest; empty: the symbolic dimension "n" is given.
  std::vector<onnx::TensorProto> initializers{};
  std::size_t open_axis = 0;
};

void PrintTo(const Opening& it, std::ostream* out) { *out << it.name; }

onnx::ValueInfoProto sizes_value(const std::string& name, std::int64_t count) {
  return tensor_value(name, {count}, Type::INT64);
}

std::vector<Opening> openings() {
  const auto rows = [](std::int64_t count) { return tensor_value("x", {count, 16}); };
  return {
      {"Compress",
       {node("Compress", {"x", "which"}, {"a"}, axis(0))},
       {rows(64), tensor_value("which", {64}, Type::BOOL)},
       {64, 16}},
      {"NonZero", {node("NonZero", {"x"}, {"a"})}, {rows(4)}, {2, 64}, {}, 1},
      {"TopK", {node("TopK", {"x", "k"}, {"a", ""}, axis(0))}, {rows(64), sizes_value("k", 1)}, {64, 16}},
      {"Range",
       {node("Range", {"zero", "limit", "one"}, {"a"})},
       {tensor_value("limit", {}, Type::INT64)},
       {64},
       {scalar("zero", 0), scalar("one", 1)}},
      {"Unique", {node("Unique", {"x"}, {"a"})}, {rows(4)}, {64}},
      {"Expand", {node("Expand", {"x", "s"}, {"a"})}, {rows(1), sizes_value("s", 2)}, {64, 16}},
      {"Pad", {node("Pad", {"x", "s"}, {"a"})}, {rows(4), sizes_value("s", 4)}, {64, 16}},
      {"Tile", {node("Tile", {"x", "s"}, {"a"})}, {rows(1), sizes_value("s", 2)}, {64, 16}},
      {"ConstantOfShape", {node("ConstantOfShape", {"s"}, {"a"})}, {sizes_value("s", 2)}, {64, 16}},
      {"Slice",
       {node("Slice", {"x", "zero", "s", "zero"}, {"a"})},
       {rows(64), sizes_value("s", 1)},
       {64, 16},
       {vector_of("zero", {0})}},
      {"dimension", {node("Relu", {"x"}, {"a"})}, {tensor_value("x", {"n", 16})}},
      {"columns", {node("Relu", {"x"}, {"a"})}, {tensor_value("x", {2, "n"})}, {}, {}, 1},
  };
}

class OpenSizes : public ::testing::TestWithParam<Opening> {
 protected:
  /// Behind "a": readers of its parts, and a tensor that takes the place of a part that has died.
  static onnx::ModelProto model(const std::vector<onnx::NodeProto>& readers, const Names& outputs) {
    testing::OnnxParts parts;
    const Opening& from = GetParam();
    parts.nodes = from.nodes;
    parts.nodes.insert(parts.nodes.end(), readers.begin(), readers.end());
    parts.inputs = from.inputs;
    parts.initializers = from.initializers;
    parts.initializers.push_back(scalar("last", -1));
    parts.initializers.push_back(vector_of("from", {-3}));
    parts.initializers.push_back(vector_of("to", {1000}));
    parts.initializers.push_back(vector_of("along", {static_cast<std::int64_t>(from.open_axis)}));
    for (const std::string& output : outputs) parts.outputs.push_back(untyped_value(output));
    return onnx_model(parts);
  }

  /// The options for this size of the open axis, as the largest or exactly.
  static ImportOptions options(std::int64_t size, bool is_exact) {
    const Opening& from = GetParam();
    const GivenSize given = is_exact             ? GivenSize(size, size)
                            : from.shape.empty() ? GivenSize(1, size)
                                                 : GivenSize(size);
    if (from.shape.empty()) return {.dims = {{"n", given}}};
    GivenShape shape(from.shape.begin(), from.shape.end());
    shape[from.open_axis] = given;
    return {.shapes = {{"a", shape}}};
  }

  static void expect_sound(const onnx::ModelProto& model) {
    Input input{.content = read_model(model, options(64, false))};
    const Graph planned = std::get<Graph>(input.content);
    EXPECT_FALSE(testing::tensor_named(planned, "a").open.empty());
    const PlanResult result = make_plan(std::move(input), {.order = Order::keep});
    for (const std::int64_t size : {64, 63, 40, 32, 22, 8, 5, 4}) {
      const Graph real = read_model(model, options(size, true));
      const bool is_moving = model::has_views_that_move(result.plan);
      const Plan there = is_moving ? plan_at(result.plan, graph_at(planned, real)) : result.plan;
      EXPECT_EQ(SmallerRun(is_moving ? real : planned, there, real).fault(), "") << "at " << size;
    }
  }
};

TEST_P(OpenSizes, BeforeAConcat) {
  const auto along = static_cast<std::int64_t>(GetParam().open_axis);
  expect_sound(model(
      {node("Neg", {"a"}, {"b"}), node("Concat", {"a", "b"}, {"c"}, axis(along)), node("Neg", {"c"}, {"y"})},
      {"y"}));
}

TEST_P(OpenSizes, BeforeASplit) {
  const auto along = static_cast<std::int64_t>(GetParam().open_axis);
  onnx::ModelProto halves =
      model({node("Concat", {"a", "a"}, {"twice"}, axis(along)), node("Neg", {"twice"}, {"t"}),
             node("Split", {"t"}, {"left", "right"}, axis(along)), node("Neg", {"left"}, {"l"}),
             node("Exp", {"l"}, {"e"}), node("Neg", {"right"}, {"r"})},
            {"e", "r"});
  expect_sound(halves);
}

TEST_P(OpenSizes, BeforeASlice) {
  expect_sound(model({node("Neg", {"a"}, {"b"}), node("Slice", {"b", "from", "to", "along"}, {"c"}),
                      node("Neg", {"c"}, {"y"})},
                     {"y"}));
}

TEST_P(OpenSizes, BeforeAGather) {
  const auto along = static_cast<std::int64_t>(GetParam().open_axis);
  expect_sound(model({node("Neg", {"a"}, {"b"}), node("Gather", {"b", "last"}, {"c"}, axis(along)),
                      node("Neg", {"c"}, {"y"})},
                     {"y"}));
}

INSTANTIATE_TEST_SUITE_P(Onnx, OpenSizes, ::testing::ValuesIn(openings()),
                         [](const auto& it) { return it.param.name; });

// What is open

onnx::ModelProto joined(const std::vector<onnx::ValueInfoProto>& inputs) {
  return onnx_model({.nodes = {node("Concat", {"a", "b"}, {"c"}, axis(0)), node("Relu", {"c"}, {"y"})},
                     .inputs = inputs,
                     .outputs = {untyped_value("y")}});
}

TEST(OpenSizesOfInputs, AreRangesOnlyIfTheUserSaysSo) {
  const onnx::ModelProto model = joined({tensor_value("a", {"n", 4}), tensor_value("b", {2, 4})});
  const Graph exact = read_model(model, {.dims = {{"n", 8}}});
  EXPECT_TRUE(testing::tensor_named(exact, "a").open.empty());
  EXPECT_EQ(show_copies(writer_of(exact, "c")), "0 > 0: 128, 1 > 0@128: 32");
  const Graph range = read_model(model, {.dims = {{"n", {1, 8}}}});
  const Tensor& a = testing::tensor_named(range, "a");
  ASSERT_EQ(a.open.size(), 1U);
  EXPECT_EQ(a.open[0].axis, 0U);
  EXPECT_EQ(a.bytes, 128);
  EXPECT_NE(testing::tensor_named(range, "c").open[0].symbol, a.open[0].symbol);
  EXPECT_EQ(testing::tensor_named(range, "c").open, testing::tensor_named(range, "y").open);
  EXPECT_EQ(show_copies(writer_of(range, "c")), "0 > 0: 128, 1 > 0@128: 32");  // whole tensors, joined
}

/// Of what a run decides no place is known before.
TEST(OpenSizesOfInputs, CopyBehindWhatARunDecides) {
  const onnx::ModelProto model = onnx_model(
      {.nodes = {node("NonZero", {"x"}, {"found"}), node("Relu", {"y"}, {"a"}), node("Relu", {"z"}, {"b"}),
                 node("Concat", {"a", "b"}, {"c"}, axis(0)), node("Relu", {"c"}, {"r"})},
       .inputs = {tensor_value("x", {4}), tensor_value("y", {"n", 4}), tensor_value("z", {2, 4})},
       .outputs = {untyped_value("r"), untyped_value("found")}});
  const Graph graph =
      read_model(model, {.dims = {{"n", {1, 8}}}, .shapes = {{"found", {GivenSize(1), GivenSize(4)}}}});
  EXPECT_EQ(show_copies(writer_of(graph, "c")),
            "must copy: byte 128 of output 0 lies behind an open extent, of axis 0, and moves with it");
}

/// A slice from an open place is no whole tensor.
TEST(OpenSizesOfInputs, CopyWhatIsNoWholeTensor) {
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Relu", {"x"}, {"r"}), node("Shape", {"x"}, {"s"}),
                            node("Slice", {"s", "zero", "one"}, {"n"}), node("Div", {"n", "two"}, {"half"}),
                            node("Slice", {"r", "half", "n", "zero"}, {"c"}), node("Relu", {"c"}, {"y"})},
                  .inputs = {tensor_value("x", {"n", 4})},
                  .outputs = {untyped_value("y")},
                  .initializers = {vector_of("zero", {0}), vector_of("one", {1}), vector_of("two", {2})}});
  const Graph graph = read_model(model, {.dims = {{"n", {2, 8, 2}}}});
  EXPECT_EQ(show_copies(writer_of(graph, "c")).substr(0, 9), "must copy");
}

TEST(OpenSizesOfInputs, KeepCopiesThatDoNotMove) {
  const Graph graph =
      read_model(joined({tensor_value("a", {2, 4}), tensor_value("b", {"n", 4})}), {.dims = {{"n", {1, 8}}}});
  EXPECT_EQ(show_copies(writer_of(graph, "c")), "0 > 0: 32, 1 > 0@32: 128");
}

/// At the largest sizes the slice takes all columns, at others the first ones of each row.
TEST(OpenSizesOfInputs, CopySlicesOfPartsOfRows) {
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Shape", {"z"}, {"end"}), node("Relu", {"x"}, {"r"}),
                            node("Slice", {"r", "begin", "end", "axes"}, {"y"})},
                  .inputs = {tensor_value("x", {"n", 4}), tensor_value("z", {"m"})},
                  .outputs = {untyped_value("y")},
                  .initializers = {vector_of("begin", {0}), vector_of("axes", {1})}});
  const Graph exact = read_model(model, {.dims = {{"n", 4}, {"m", 8}}});
  EXPECT_EQ(show_copies(writer_of(exact, "y")), "0 > 0: 64");
  const Graph range = read_model(model, {.dims = {{"n", {1, 4}}, {"m", {1, 8}}}});
  EXPECT_EQ(show_copies(writer_of(range, "y")).substr(0, 9), "must copy");
  const Graph rows = read_model(model, {.dims = {{"n", {1, 4}}, {"m", {4, 8}}}});
  EXPECT_EQ(show_copies(writer_of(rows, "y")), "0 > 0: 64");
}

TEST(OpenSizesOfInputs, KeepIndependentSizesApart) {
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Add", {"a", "b"}, {"s"}), node("Relu", {"c"}, {"t"})},
                  .inputs = {tensor_value("a", {"n"}), tensor_value("b", {"m"}), tensor_value("c", {"k"})},
                  .outputs = {untyped_value("s"), untyped_value("t")}});
  const Graph graph = read_model(model, {.dims = {{"n", {2, 64}}, {"m", {2, 64}}, {"k", {2, 64}}}});
  const auto symbol = [&](const std::string& name) {
    return testing::tensor_named(graph, name).open.at(0).symbol;
  };
  EXPECT_EQ(symbol("a"), symbol("s"));
  EXPECT_EQ(symbol("b"), symbol("s"));
  EXPECT_NE(symbol("c"), symbol("s"));
}

/// The smaller of two sizes, of which one is usually the smaller.
TEST(OpenSizesOfInputs, KeepAMinimumApart) {
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Shape", {"b"}, {"m"}), node("Slice", {"a", "zero", "m", "zero"}, {"s"})},
                  .inputs = {tensor_value("a", {"n"}), tensor_value("b", {"m"})},
                  .outputs = {untyped_value("s")},
                  .initializers = {vector_of("zero", {0})}});
  const Graph graph = read_model(model, {.dims = {{"n", {0, 4}}, {"m", {0, 8}}}});
  const auto symbol = [&](const std::string& name) {
    return testing::tensor_named(graph, name).open.at(0).symbol;
  };
  EXPECT_EQ(testing::tensor_named(graph, "s").shape, Shape{4});
  EXPECT_NE(symbol("a"), symbol("s"));
  EXPECT_NE(symbol("b"), symbol("s"));
}

/// What the network computes may be nothing, and only then the minimum differs.
TEST(OpenSizesOfInputs, KeepAMinimumThatIsNothingApart) {
  const onnx::ModelProto model = onnx_model(
      {.nodes = {node("Compress", {"x", "m"}, {"some"}, axis(0)), node("Shape", {"some"}, {"n"}),
                 node("Slice", {"a", "zero", "n", "zero"}, {"s"})},
       .inputs = {tensor_value("x", {"d"}), tensor_value("m", {"d"}, Type::BOOL), tensor_value("a", {"k"})},
       .outputs = {untyped_value("s"), untyped_value("some")},
       .initializers = {vector_of("zero", {0})}});
  const Graph graph =
      read_model(model, {.dims = {{"d", {40, 80}}, {"k", {0, 1}}}, .shapes = {{"some", {80}}}});
  EXPECT_NE(testing::tensor_named(graph, "s").open.at(0).symbol,
            testing::tensor_named(graph, "a").open.at(0).symbol);
}

/// A detector takes multiples of 4 alone.
TEST(OpenSizesOfInputs, HaveSteps) {
  const onnx::ModelProto model = onnx_model({.nodes = {node("Reshape", {"x", "s"}, {"y"})},
                                             .inputs = {tensor_value("x", {"n"})},
                                             .outputs = {untyped_value("y")},
                                             .initializers = {vector_of("s", {-1, 4})}});
  const Graph graph = read_model(model, {.dims = {{"n", {8, 400, 4}}}});
  EXPECT_EQ(testing::tensor_named(graph, "y").shape, (Shape{100, 4}));
  EXPECT_EQ(testing::tensor_named(graph, "y").open.size(), 1U);
  expect_message(testing::usage_error_of_model(model, {.dims = {{"n", {8, 401, 4}}}}),
                 {"--dim 'n'", "401 is not whole steps of 4 from 8"});
}

/// Each axis without a name has a size of its own.
TEST(OpenSizesOfInputs, HaveNamesByTheirPlaces) {
  const onnx::ModelProto model = onnx_model({.nodes = {node("MatMul", {"x", "w"}, {"y"})},
                                             .inputs = {tensor_value("x", {"?", "n", 4})},
                                             .outputs = {untyped_value("y")},
                                             .initializers = {testing::zeros("w", {4, 2})}});
  const Graph graph = read_model(model, {.dims = {{"x[0]", {1, 8}}, {"n", 3}}});
  EXPECT_EQ(testing::tensor_named(graph, "y").shape, (Shape{8, 3, 2}));
  EXPECT_EQ(testing::tensor_named(graph, "y").open.size(), 1U);
  expect_message(testing::usage_error_of_model(model, {.dims = {{"x[1]", 3}}}), {"--dim", "'x[1]'"});
  try {
    (void)read_model(model, {});
    FAIL();
  } catch (const OpenSizesError& open) {
    ASSERT_EQ(open.sizes().size(), 2U);
    EXPECT_EQ(open.sizes()[0].name, "x[0]");
    EXPECT_EQ(open.sizes()[1].name, "n");
    EXPECT_EQ(open.sizes()[1].places.at(0).axis, 1U);
    EXPECT_EQ(open.file(), "x.onnx");
  }
}

/// PaddlePaddle's exporter writes `?` for each axis that it does not know.
TEST(OpenSizesOfInputs, AreApartIfTheirNameIsAQuestionMark) {
  onnx::ModelProto model = onnx_model({.nodes = {node("Relu", {"x"}, {"y"})},
                                       .inputs = {tensor_value("x", {1, "h", "w"})},
                                       .outputs = {untyped_value("y")}});
  auto& shape =
      *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const int axis : {1, 2}) shape.mutable_dim(axis)->set_dim_param("?");
  const Graph graph = read_model(model, {.dims = {{"x[1]", 48}, {"x[2]", {64, 192}}}});
  EXPECT_EQ(testing::tensor_named(graph, "y").shape, (Shape{1, 48, 192}));
  EXPECT_EQ(testing::tensor_named(graph, "y").open.size(), 1U);
}

/// Shapes that are computed in the network are no constants then, but what they say of other axes is.
TEST(OpenSizesOfInputs, ComputeShapesInEachRun) {
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "one"}, {"width"}, axis(0)),
                            node("Reshape", {"x", "s"}, {"y"}), node("Reshape", {"x", "width"}, {"z"})},
                  .inputs = {tensor_value("x", {"n", 4})},
                  .outputs = {untyped_value("y"), untyped_value("width")},
                  .initializers = {vector_of("one", {1})}});
  onnx::ModelProto without_z = model;
  without_z.mutable_graph()->mutable_node()->RemoveLast();
  const Graph exact = read_model(without_z, {.dims = {{"n", 8}}});
  EXPECT_TRUE(writer_of(exact, "s").folded);
  const Graph range = read_model(without_z, {.dims = {{"n", {1, 8}}}});
  EXPECT_FALSE(writer_of(range, "s").folded);
  EXPECT_TRUE(writer_of(range, "width").folded);
}

TEST(OpenSizesOfInputs, NameWhatIsLargestElsewhere) {
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Shape", {"x"}, {"n"}), node("Sub", {"all", "n"}, {"rest"}),
                            node("ConstantOfShape", {"rest"}, {"y"})},
                  .inputs = {tensor_value("x", {"n"})},
                  .outputs = {untyped_value("y")},
                  .initializers = {vector_of("all", {448})}});
  expect_message(testing::error_of_model(model, {.dims = {{"n", {1, 64}}}}),
                 {"tensor 'y'", "[384] at the largest of the given sizes", "at smaller ones"});
}

TEST(OpenSizesOfInputs, SayThatNoOtherSizeFits) {
  const onnx::ModelProto model = onnx_model({.nodes = {node("Add", {"x", "w"}, {"y"})},
                                             .inputs = {tensor_value("x", {"n"}), tensor_value("w", {7})},
                                             .outputs = {untyped_value("y")}});
  EXPECT_EQ(testing::error_of_model(model, {.dims = {{"n", 7}}}), "");
  expect_message(testing::error_of_model(model, {.dims = {{"n", {5, 7}}}}),
                 {"accepts only the largest", "N..N"});
}

/// A range of which only the largest size is possible is refused though another one has many.
TEST(OpenSizesOfInputs, SayWhichRangeHasOneSizeOnly) {
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Add", {"x", "w"}, {"y"}), node("Relu", {"v"}, {"z"})},
                  .inputs = {tensor_value("x", {"n"}), tensor_value("w", {7}), tensor_value("v", {"m"})},
                  .outputs = {untyped_value("y"), untyped_value("z")}});
  EXPECT_EQ(testing::error_of_model(model, {.dims = {{"m", {1, 8}}, {"n", 7}}}), "");
  expect_message(testing::error_of_model(model, {.dims = {{"m", {1, 8}}, {"n", {5, 7}}}}),
                 {"accepts only the largest", "N..N"});
}

// Loops and branches

onnx::ModelProto growing_loop() {
  const onnx::GraphProto body = testing::onnx_graph(
      {.nodes = {node("Concat", {"old", "row"}, {"new"}, axis(0)), node("Identity", {"go"}, {"on"})},
       .inputs = {tensor_value("round", {}, Type::INT64), tensor_value("go", {}, Type::BOOL),
                  testing::value_of_any_shape("old")},
       .outputs = {untyped_value("on"), testing::value_of_any_shape("new")},
       .name = "body"});
  return onnx_model({.nodes = {node("Relu", {"x"}, {"row"}),
                               node("Loop", {"rounds", "", "x"}, {"last"}, {attribute("body", body)})},
                     .inputs = {tensor_value("x", {4, 100}), tensor_value("rounds", {}, Type::INT64)},
                     .outputs = {testing::value_of_any_shape("last")}});
}

TEST(OpenSizesOfLoops, AreThoseAfterTheLastRound) {
  const Graph graph = read_model(growing_loop(), {.shapes = {{"old", {12, 100}}}});
  EXPECT_EQ(testing::tensor_named(graph, "old").bytes, 4800);
  EXPECT_EQ(testing::tensor_named(graph, "last").bytes, 6400);
  for (const char* const name : {"old", "new", "last"})
    EXPECT_EQ(testing::tensor_named(graph, name).open.size(), 1U) << name;
}

TEST(OpenSizesOfLoops, AreNotBelowTheInitialValue) {
  expect_message(testing::error_of_model(growing_loop(), {.shapes = {{"old", {2, 100}}}}),
                 {"tensor 'old'", "at most float32[2,100]", "initial value, tensor 'x'", "float32[4,100]"});
}

TEST(OpenSizesOfLoops, AskForTheLargestBeforeARound) {
  expect_message(testing::error_of_model(growing_loop()),
                 {"give the largest before a round", "--shape old=N,..."});
}

TEST(OpenSizesOfBranches, AreNotBelowABranch) {
  const auto branch = [](const std::string& name, const Names& inputs) {
    return testing::onnx_graph({.nodes = {node("Concat", inputs, {name}, axis(0))},
                                .outputs = {testing::value_of_any_shape(name)},
                                .name = name});
  };
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("If", {"c"}, {"y"},
                                 {attribute("then_branch", branch("two", {"x", "x"})),
                                  attribute("else_branch", branch("three", {"x", "x", "x"}))})},
                  .inputs = {tensor_value("c", {}, Type::BOOL), tensor_value("x", {4})},
                  .outputs = {testing::value_of_any_shape("y")}});
  expect_message(testing::error_of_model(model, {.shapes = {{"y", {8}}}}),
                 {"tensor 'y'", "at most float32[8]", "tensor 'three'", "float32[12]"});
  EXPECT_EQ(testing::tensor_named(read_model(model, {.shapes = {{"y", {12}}}}), "y").open.size(), 1U);
}

// Options that say nothing, and messages

TEST(GivenSizes, HaveAnEffect) {
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Relu", {"x"}, {"r"}), node("NonZero", {"r"}, {"y"})},
                  .inputs = {tensor_value("x", {"n", 4})},
                  .outputs = {tensor_value("y", {2, "m"}, Type::INT64)},
                  .declared = {tensor_value("r", {"k", 4})}});
  const ImportOptions needed{.dims = {{"n", 8}, {"m", 32}}};
  EXPECT_EQ(testing::error_of_model(model, needed), "");
  ImportOptions more = needed;
  more.shapes = {{"r", {8, 4}}};
  expect_message(testing::usage_error_of_model(model, more),
                 {"--shape 'r'", "has no effect", "tensor 'r' is float32[8,4] without it"});
  more = needed;
  more.dims.emplace("k", 8);
  expect_message(testing::usage_error_of_model(model, more), {"--dim 'k'", "has no effect", "tensor 'r'"});
  more = needed;
  more.bounds = {{"r", 4096}};
  expect_message(testing::usage_error_of_model(model, more),
                 {"--bound 'r'", "has no effect", "float32[8,4]"});
  more = needed;
  more.dims.emplace("k", 4);
  expect_message(testing::error_of_model(model, more), {"tensor 'r'", "float32[8,4] by the model itself"});
}

/// What a branch rejects counts where sizes decide that it runs, though the condition is open for the range.
TEST(GivenSizes, AreRejectedByTheBranchThatTheyTake) {
  const auto branch = [](const std::vector<onnx::NodeProto>& nodes) {
    return testing::onnx_graph({.nodes = nodes, .outputs = {untyped_value("b")}});
  };
  const onnx::ModelProto model = onnx_model(
      {.nodes = {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "one"}, {"c"}),
                 node("Equal", {"c", "three"}, {"is_three"}),
                 node("If", {"is_three"}, {"y"},
                      {attribute("then_branch", branch({node("Relu", {"x"}, {"b"})})),
                       attribute("else_branch",
                                 branch({node("InstanceNormalization", {"x", "w", "w"}, {"b"})}))})},
       .inputs = {tensor_value("x", {1, "c", 4})},
       .outputs = {untyped_value("y")},
       .initializers = {scalar("one", 1), scalar("three", 3), testing::zeros("w", {4})}});
  const auto error = [&](std::int64_t least, std::int64_t most) {
    return testing::error_of_model(model, {.dims = {{"c", {least, most}}}});
  };
  for (const std::int64_t accepted : {3, 4}) EXPECT_EQ(error(accepted, accepted), "");
  EXPECT_EQ(error(1, 4), "");
  const std::vector<std::string> says{"InstanceNormalization", "is for 4 channels, but the data has 8"};
  expect_message(error(8, 8), says);
  expect_message(error(1, 8), says);
}

TEST(GivenSizes, OfARangeThatAreRejectedAreNamed) {
  const auto note = [](std::int64_t least, std::int64_t most, std::int64_t step) {
    const onnx::ModelProto model = onnx_model({.nodes = {node("Reshape", {"x", "s"}, {"y"})},
                                               .inputs = {tensor_value("x", {"n"})},
                                               .outputs = {untyped_value("y")},
                                               .initializers = {vector_of("s", {-1, 4})}});
    return parse_input(model.SerializeAsString(), "x.onnx", {.dims = {{"n", {least, most, step}}}}).note;
  };
  EXPECT_EQ(note(4, 64, 4), "");
  expect_message(note(4, 64, 1), {"rejects some sizes of the ranges, such as n=", "cannot",
                                  "the plan is for those that it takes"});
}

/// Of a model that makes two elements at n=777 and one at all others, and holds n * n against 777 * 777.
onnx::ModelProto exception_at_777() {
  return onnx_model(
      {.nodes = {node("Shape", {"x"}, {"n"}), node("Mul", {"n", "n"}, {"nn"}),
                 node("Equal", {"nn", "there"}, {"is"}), node("Where", {"is", "two", "one"}, {"count"}),
                 node("Expand", {"c", "count"}, {"y"}), node("Relu", {"y"}, {"z"}),
                 node("Relu", {"x"}, {"r"})},
       .inputs = {tensor_value("x", {"n"}), tensor_value("c", {1})},
       .outputs = {untyped_value("z"), untyped_value("r")},
       .initializers = {vector_of("there", {777 * 777}), vector_of("two", {2}), vector_of("one", {1})}});
}

TEST(GivenSizes, AreAllReadIfThatIsWanted) {
  const std::string model = exception_at_777().SerializeAsString();
  const auto read = [&](std::int64_t most, bool every_size) {
    return parse_input(model, "x.onnx", {.dims = {{"n", {1, most}}}, .every_size = every_size});
  };
  EXPECT_EQ(read(2000, false).note, "");  // no reading is at 777
  try {
    (void)read(2000, true);
    ADD_FAILURE() << "nothing is rejected";
  } catch (const Error& error) {
    expect_message(error.what(), {"'y'", "[1] at the largest", "[2] at smaller ones"});
  }
  EXPECT_EQ(read(776, true).note, "was read at each of 776 sizes");
  EXPECT_EQ(std::get<Graph>(read(776, true).content), std::get<Graph>(read(776, false).content));
  try {
    (void)read(100000, true);
    ADD_FAILURE() << "too many are read";
  } catch (const UsageError& error) {
    expect_message(error.what(), {"more than 65536 sizes", "smaller ranges or larger steps"});
  }
}

/// k is 1, but 2 where a number that is computed of n equals a constant.
std::string rare_factor(const std::vector<onnx::NodeProto>& nodes, std::int64_t constant) {
  testing::OnnxParts parts{.nodes = {node("Shape", {"x"}, {"n"})},
                           .inputs = {tensor_value("x", {"n"})},
                           .outputs = {untyped_value("y")},
                           .initializers = {vector_of("there", {constant}), vector_of("three", {3}),
                                            testing::reals("one", {1}), testing::reals("two", {2})}};
  for (const onnx::NodeProto& it : nodes) parts.nodes.push_back(it);
  parts.nodes.push_back(node("Equal", {"computed", "there"}, {"is"}));
  parts.nodes.push_back(node("Where", {"is", "two", "one"}, {"k"}));
  parts.nodes.push_back(node("Mul", {"x", "k"}, {"y"}));
  return onnx_model(parts).SerializeAsString();
}

TEST(GivenSizes, AtWhichTheModelSaysThatItChangesAreRead) {
  const auto kind_of_k = [](const std::string& model) {
    const Input read = parse_input(model, "x.onnx", {.dims = {{"n", {1, 2000}}}});
    return testing::tensor_named(std::get<Graph>(read.content), "k").kind;
  };
  EXPECT_EQ(kind_of_k(rare_factor({node("Identity", {"n"}, {"computed"})}, 777)), TensorKind::temporary);
  const std::vector<onnx::NodeProto> affine{node("Mul", {"n", "three"}, {"m"}),
                                            node("Sub", {"m", "three"}, {"computed"})};
  EXPECT_EQ(kind_of_k(rare_factor(affine, 3 * 777 - 3)), TensorKind::temporary);
  EXPECT_EQ(kind_of_k(rare_factor(affine, 3 * 777 - 2)), TensorKind::weight);  // at no size
  EXPECT_EQ(kind_of_k(rare_factor({node("Mul", {"n", "n"}, {"computed"})}, 777 * 777)), TensorKind::weight);
}

TEST(TurningSizes, AreWhereStraightLinesMeet) {
  import::Turns largest{{{false, 0, 1, 0, 1, 0}, {4001, 1555}}};
  const import::TurnsAt half{1000, {{{false, 0, 1, 0, 1, 0}, {2001, 1555}}}};
  const std::set<std::int64_t> sizes = import::turning_sizes({1, 2000}, largest, half);
  EXPECT_EQ(sizes, (std::set<std::int64_t>{776, 777, 778, 1554, 1555, 1556}));
  const std::set<std::int64_t> steps = import::turning_sizes({2, 2000, 2}, largest, half);
  EXPECT_EQ(steps, (std::set<std::int64_t>{776, 778, 1554, 1556}));
}

TEST(GivenSizes, OfAllThatAreReadSomeMayBeRejected) {
  const onnx::ModelProto model = onnx_model({.nodes = {node("Reshape", {"x", "s"}, {"y"})},
                                             .inputs = {tensor_value("x", {"n"})},
                                             .outputs = {untyped_value("y")},
                                             .initializers = {vector_of("s", {-1, 4})}});
  const Input read =
      parse_input(model.SerializeAsString(), "x.onnx", {.dims = {{"n", {1, 400}}}, .every_size = true});
  expect_message(read.note, {"was read at each of 400 sizes and rejects 300, such as n=1: "});
}

/// Readings may be given a few at a time: which extents are one symbol is the same.
TEST(OpenSizes, OfReadingsOneAfterTheOtherAreThoseOfAllAtOnce) {
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Concat", {"x", "y"}, {"z"}, axis(0)), node("Relu", {"z"}, {"r"}),
                            node("Add", {"x", "x"}, {"twice"})},
                  .inputs = {tensor_value("x", {"n", 4}), tensor_value("y", {"m", 4})},
                  .outputs = {untyped_value("r"), untyped_value("twice")}});
  const auto at = [&](std::int64_t n, std::int64_t m) {
    return std::get<Graph>(
        parse_input(model.SerializeAsString(), "x.onnx", {.dims = {{"n", {n, n}}, {"m", {m, m}}}}).content);
  };
  using import::reading_of;
  const std::vector<import::OtherReading> others{reading_of(at(8, 8)), reading_of(at(4, 4)),
                                                 reading_of(at(8, 4)), reading_of(at(5, 8))};
  Graph once = at(8, 8);
  import::hold_for_all(once, others);
  Graph turned = at(8, 8);
  for (const import::OtherReading& other : others) import::hold_for_all(turned, {&other, 1});
  EXPECT_EQ(turned, once);
  EXPECT_EQ(show_copies(once.subgraphs[0].operators[0]), "0 > 0: 128, 1 > 0@128: 128");
}

// Operators that are alike, of which one is inferred for all

Shape shape_in(const Graph& graph, const std::string& name) {
  return *testing::tensor_named(graph, name).shape;
}

TEST(AlikeOperators, DifferByTheirAttributes) {
  const Graph graph = read_model(onnx_model({.nodes = {node("Concat", {"x", "x"}, {"rows"}, axis(0)),
                                                       node("Concat", {"x", "x"}, {"columns"}, axis(1))},
                                             .inputs = {tensor_value("x", {"n", 4})},
                                             .outputs = {untyped_value("rows"), untyped_value("columns")}}),
                                 {.dims = {{"n", {1, 8}}}});
  EXPECT_EQ(shape_in(graph, "rows"), (Shape{16, 4}));
  EXPECT_EQ(shape_in(graph, "columns"), (Shape{8, 8}));
}

TEST(AlikeOperators, DifferByTheValuesOfInputs) {
  const Graph graph = read_model(
      onnx_model({.nodes = {node("Reshape", {"x", "two"}, {"y"}), node("Reshape", {"x", "four"}, {"z"})},
                  .inputs = {tensor_value("x", {"n", 4})},
                  .outputs = {untyped_value("y"), untyped_value("z")},
                  .initializers = {vector_of("two", {-1, 2}), vector_of("four", {-1, 4})}}),
      {.dims = {{"n", {1, 8}}}});
  EXPECT_EQ(shape_in(graph, "y"), (Shape{16, 2}));
  EXPECT_EQ(shape_in(graph, "z"), (Shape{8, 4}));
}

TEST(AlikeOperators, DifferByWhatTheFileAndTheUserSayOfResults) {
  const Graph graph = read_model(
      onnx_model({.nodes = {node("NonZero", {"x"}, {"declared"}), node("NonZero", {"x"}, {"given"})},
                  .inputs = {tensor_value("x", {"n", 4})},
                  .outputs = {tensor_value("declared", {2, 5}, Type::INT64), untyped_value("given")}}),
      {.dims = {{"n", {2, 8}}}, .shapes = {{"given", {2, {0, 7}}}}});
  EXPECT_EQ(shape_in(graph, "declared"), (Shape{2, 5}));
  EXPECT_EQ(shape_in(graph, "given"), (Shape{2, 7}));
  EXPECT_FALSE(is_open(testing::tensor_named(graph, "declared")));
  EXPECT_TRUE(is_open(testing::tensor_named(graph, "given")));
}

/// A runtime takes operands that do not fit in a branch which may not run, but not in the network itself.
TEST(AlikeOperators, DifferByWhetherTheyAlwaysRun) {
  const onnx::GraphProto slope =
      testing::onnx_graph({.nodes = {node("PRelu", {"x", "slope"}, {"s"})}, .outputs = {untyped_value("s")}});
  const onnx::GraphProto plain =
      testing::onnx_graph({.nodes = {node("Relu", {"x"}, {"r"})}, .outputs = {untyped_value("r")}});
  testing::OnnxParts parts{
      .nodes = {node("If", {"c"}, {"y"}, {attribute("then_branch", slope), attribute("else_branch", plain)})},
      .inputs = {tensor_value("c", {}, Type::BOOL), tensor_value("x", {"n", 4})},
      .outputs = {untyped_value("y")},
      .initializers = {testing::zeros("slope", {3})}};
  const ImportOptions options{.dims = {{"n", {1, 8}}}};
  EXPECT_EQ(shape_in(read_model(onnx_model(parts), options), "y"), (Shape{8, 4}));
  parts.nodes.push_back(node("PRelu", {"x", "slope"}, {"z"}));
  parts.outputs.push_back(untyped_value("z"));
  expect_message(testing::error_of_model(onnx_model(parts), options), {"PRelu", "expected 1 or 4"});
}

/// More sizes than are held in memory are read twice, and what was found at the others is forgotten.
TEST(OpenSizes, OfMoreReadingsThanAreHeldAreTheSame) {
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Concat", {"x", "y"}, {"z"}, axis(0)), node("Shape", {"z"}, {"s"}),
                            node("ConstantOfShape", {"s"}, {"c"}), node("Add", {"z", "c"}, {"r"})},
                  .inputs = {tensor_value("x", {"n", 4}), tensor_value("y", {"n", 4})},
                  .outputs = {untyped_value("r")}});
  const ImportOptions some{.dims = {{"n", {1, 600}}}};
  ImportOptions every = some;
  every.every_size = true;
  EXPECT_EQ(read_model(model, every), read_model(model, some));
}

TEST(GivenSizes, AreAskedForWithBothPromises) {
  const onnx::ModelProto model = onnx_model({.nodes = {node("NonZero", {"x"}, {"y"})},
                                             .inputs = {tensor_value("x", {"?", 4})},
                                             .outputs = {untyped_value("y")}});
  expect_message(testing::error_of_model(model), {"'x[0]' (axis 0 of 'x')", "--dim 'x[0]'=N (exactly N)",
                                                  "--dim 'x[0]'=..N (every size up to N)"});
  expect_message(testing::error_of_model(model, {.dims = {{"x[0]", 8}}}), {"tensor 'y'", "--shape y=2,N"});
  expect_message(
      testing::error_of_model(model, {.shapes = {{"x", {8, 4}}}}),
      {"tensor 'y'", "--shape y=2,N (at most N)", "--shape y=2,N..N (exactly N)", "--bound y=SIZE"});
}

TEST(GivenSizes, AreAskedForAllAtOnce) {
  testing::OnnxParts parts{.inputs = {tensor_value("x", {8, 8}), tensor_value("k", {1}, Type::INT64)},
                           .outputs = {untyped_value("m3")},
                           .initializers = {vector_of("zero", {0}), testing::zeros("w", {8, 8})}};
  std::string from = "x";
  for (const char* const number : {"0", "1", "2", "3"}) {
    const std::string slice = std::string("s") + number;
    const std::string product = std::string("m") + number;
    parts.nodes.push_back(node("Slice", {from, "zero", "k", "zero"}, {slice}));
    parts.nodes.push_back(node("MatMul", {slice, "w"}, {product}));
    from = product;
  }
  expect_message(testing::error_of_model(onnx_model(parts)),
                 {"tensor 's0'", "4 sizes are open", "--shape s1=N,8", "--shape s2=N,8", "--shape s3=N,8"});
}

TEST(GivenSizes, MayBeMinusOneInTheFile) {
  const onnx::ModelProto model = onnx_model({.nodes = {node("Relu", {"x"}, {"y"})},
                                             .inputs = {tensor_value("x", {-1, 4})},
                                             .outputs = {untyped_value("y")}});
  EXPECT_EQ(testing::tensor_named(read_model(model, {.shapes = {{"x", {3, 4}}}}), "y").bytes, 48);
}

TEST(ShapesOfReshape, KeepTheNumberOfElements) {
  const onnx::ModelProto model = onnx_model({.nodes = {node("Reshape", {"x", "s"}, {"y"})},
                                             .inputs = {tensor_value("x", {6, 8})},
                                             .outputs = {untyped_value("y")},
                                             .initializers = {vector_of("s", {3, 4})}});
  expect_message(testing::error_of_model(model), {"cannot reshape 48 elements into 12"});
}

}  // namespace
}  // namespace stowage
