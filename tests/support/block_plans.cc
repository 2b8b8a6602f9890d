#include "block_plans.h"

#include <string>
#include <utility>
#include <variant>

#include "onnx_models.h"
#include "stowage/error.h"
#include "stream/axes.h"

namespace stowage::testing {
namespace {

Network parsed(const onnx::ModelProto& model) {
  return parse_network(model.SerializeAsString(), "m.onnx", {.constants = true});
}

/// A convolution to more channels, one for each channel, perhaps a norm over each, and one back; of several images.
Network channels(std::int64_t images, std::int64_t narrow, std::int64_t wide, std::int64_t size,
                 bool is_normed) {
  OnnxParts parts{.inputs = {tensor_value("x", {images, narrow, size, size})},
                  .outputs = {tensor_value("z", {images, narrow, size, size})}};
  parts.initializers = {zeros("w0", {wide, narrow, 1, 1}), zeros("b0", {wide}), zeros("w1", {wide, 1, 3, 3}),
                        zeros("w2", {narrow, wide, 1, 1})};
  parts.nodes = {
      node("Conv", {"x", "w0", "b0"}, {"a"}),
      node("Relu", {"a"}, {"b"}),
      node("Conv", {"b", "w1"}, {"c"}, {attribute("group", wide), attribute("pads", Shape{1, 1, 1, 1})}),
      node("Relu", {"c"}, {"d"}),
  };
  if (is_normed) {
    parts.initializers.insert(parts.initializers.end(), {zeros("s", {wide}), zeros("t", {wide})});
    parts.nodes.push_back(node("InstanceNormalization", {"d", "s", "t"}, {"n"}));
  }
  parts.nodes.push_back(node("Conv", {is_normed ? "n" : "d", "w2"}, {"e"}));
  parts.nodes.push_back(node("Add", {"x", "e"}, {"z"}));
  return parsed(onnx_model(parts));
}

}  // namespace

Network attention(std::int64_t tokens, std::int64_t heads, std::int64_t depth) {
  const std::int64_t width = heads * depth;
  const auto transposed = [](const std::string& from, const std::string& to, const Shape& order) {
    return node("Transpose", {from}, {to}, {attribute("perm", order)});
  };
  OnnxParts parts{.inputs = {tensor_value("x", {1, tokens, width})},
                  .outputs = {tensor_value("z", {1, tokens, width})}};
  parts.initializers = {vector_of("apart", {1, tokens, heads, depth}),
                        vector_of("joined", {1, tokens, width})};
  for (const std::string name : {"q", "k", "v"}) {
    parts.initializers.push_back(zeros("w" + name, {width, width}));
    parts.initializers.push_back(zeros("b" + name, {width}));
    parts.nodes.push_back(node("MatMul", {"x", "w" + name}, {name + "0"}));
    parts.nodes.push_back(node("Add", {name + "0", "b" + name}, {name + "1"}));
    parts.nodes.push_back(node("Reshape", {name + "1", "apart"}, {name + "2"}));
    parts.nodes.push_back(transposed(name + "2", name, name == "k" ? Shape{0, 2, 3, 1} : Shape{0, 2, 1, 3}));
  }
  parts.initializers.push_back(zeros("w", {width, width}));
  parts.nodes.push_back(node("MatMul", {"q", "k"}, {"scores"}));
  parts.nodes.push_back(node("Softmax", {"scores"}, {"shares"}));
  parts.nodes.push_back(node("MatMul", {"shares", "v"}, {"mixed"}));
  parts.nodes.push_back(transposed("mixed", "turned", {0, 2, 1, 3}));
  parts.nodes.push_back(node("Reshape", {"turned", "joined"}, {"together"}));
  parts.nodes.push_back(node("MatMul", {"together", "w"}, {"y"}));
  parts.nodes.push_back(node("Add", {"x", "y"}, {"z"}));
  return parsed(onnx_model(parts));
}

Network random_network(Random& random) {
  if (random() % 2 == 0) return attention(pick(random, 1, 4), pick(random, 1, 3), pick(random, 1, 2));
  return channels(pick(random, 1, 2), pick(random, 1, 3), pick(random, 2, 4), pick(random, 2, 4), false);
}

Network random_normed_network(Random& random) {
  return channels(pick(random, 1, 2), pick(random, 1, 3), pick(random, 2, 4), pick(random, 2, 4), true);
}

model::Splits random_splits(const Graph& graph, Random& random) {
  model::Splits splits;
  const auto& operators = graph.subgraphs[0].operators;
  const bool is_even = random() % 2 == 0;
  for (std::size_t o = 0; o < operators.size(); ++o) {
    std::vector<std::size_t> axes;
    for (const RowAxis& along : operators[o].row_axes) {
      if (along.splits) axes.push_back(along.axis);
    }
    const auto output = operators[o].outputs.at(0);
    if (axes.empty() || graph.tensors[*output].kind != TensorKind::temporary || random() % 3 == 0) continue;
    model::Blocks blocks{.axis = axes[random() % axes.size()]};
    const std::int64_t extent = (*graph.tensors[*output].shape)[blocks.axis];
    blocks.bounds.push_back(0);
    for (std::int64_t r = 1; r < extent; ++r) {
      if (is_even ? extent % 2 == 0 && r == extent / 2 : random() % 2 == 0) blocks.bounds.push_back(r);
    }
    blocks.bounds.push_back(extent);
    splits.emplace(o, std::move(blocks));
  }
  return splits;
}

std::optional<model::SplitNetwork> try_split(const Graph& graph, const model::Splits& splits) {
  try {
    return model::split(graph, splits);
  } catch (const Error&) {
    return std::nullopt;
  }
}

Plan plan_of_blocks(const model::SplitNetwork& split, const StreamedOptions& options) {
  Network network;
  network.input.content = model::stored(split);
  Plan plan = streamed_plan(network, stream::axes_of(network.graph(), {}), options);
  for (Step& step : plan.clocks[0].steps) {
    if (auto* const run = std::get_if<Run>(&step)) {
      run->block = split.operators[run->path[1]].block;
      run->path[1] = split.operators[run->path[1]].of;
    }
  }
  std::size_t own = 0;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const auto& [of, block] = split.tensors[t];
    if (!block) ++own;
    if (!block) continue;
    for (View view : plan.tensors[t].views) {
      view.block = block;
      plan.tensors[of].views.push_back(view);
    }
  }
  plan.tensors.resize(own);
  return plan;
}

}  // namespace stowage::testing
