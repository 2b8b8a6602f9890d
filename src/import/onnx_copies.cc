// For each operator that only moves data, reads its axis, starts, sizes or order from attributes or
// known inputs, depending on its operator set; CopyFinder (copies.cc) does the rest. If one of them is
// unknown before the network runs, the operator must copy.
//
// Cost: operands * dimensions. Source: the document of docs/free-list.md, paragraphs 150 to 165, and the ONNX
// operator specification with its older versions.

#include "import/onnx_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "import/copies.h"
#include "import/onnx_attributes.h"
#include "operators/context.h"

namespace stowage::import {
namespace {

using operators::NodeContext;

/// An operator under inspection.
struct NodeCopy {
  const Graph& graph;
  const NodeContext& node;
  const Operator& op;
  CopyFinder& finder;

  [[nodiscard]] bool has(std::size_t input) const {
    return input < op.inputs.size() && op.inputs[input].has_value();
  }
};

void whole(const NodeCopy& it) { it.finder.pass_whole(); }

void if_equal(const NodeCopy& it) { it.finder.pass_if_equal(); }

/// Passes its input on, unless old ones lack `is_test` or new ones may be in training mode.
void pass_dropout(const NodeCopy& it) {
  constexpr int first_without_attribute = 7;
  constexpr std::size_t training_mode = 2;
  const auto is_known_false = [&] { return it.node.scalar(training_mode) == 0; };
  if (it.node.version() < first_without_attribute && it.node.integer("is_test", 0) == 0) {
    it.finder.refuse("dropout that is not told to be at test");
  } else if (it.has(training_mode) && !is_known_false()) {
    it.finder.refuse("dropout whose training mode is not known to be false");
  } else {
    it.finder.pass_whole();
  }
}

void pass_transpose(const NodeCopy& it) {
  auto order = it.node.integer_list("perm");
  if (!order) {
    const auto shape = it.finder.input_shape(0);
    if (!shape) return;
    order.emplace();
    for (std::size_t d = shape->size(); d-- > 0;) order->push_back(static_cast<std::int64_t>(d));
  }
  it.finder.transpose(*order);
}

void concat(const NodeCopy& it) {
  constexpr int first_without_default = 4;
  if (it.node.version() >= first_without_default && !it.node.has_attribute("axis")) {
    it.finder.refuse("concat without an axis");
    return;
  }
  it.finder.concatenate(it.node.integer("axis", 1));
}

/// Parts of equal extents, except perhaps the last.
Shape even_sizes(std::int64_t extent, std::size_t parts) {
  const auto count = static_cast<std::int64_t>(parts);
  const std::int64_t most = extent / count + (extent % count == 0 ? 0 : 1);
  Shape sizes;
  for (std::int64_t rest = extent; sizes.size() < parts; rest -= sizes.back())
    sizes.push_back(std::min(most, rest));
  return sizes;
}

void pass_split(const NodeCopy& it) {
  constexpr int first_with_default = 2;
  if (it.node.version() < first_with_default && !it.node.has_attribute("axis")) {
    it.finder.refuse("split without an axis");
    return;
  }
  std::optional<Shape> sizes = it.node.integer_list("split");
  if (it.has(1)) sizes = it.node.integers(1);
  const std::int64_t axis = it.node.integer("axis", 0);
  const bool is_one_missing =
      !std::ranges::all_of(it.op.outputs, [](const auto& output) { return output.has_value(); });
  if (is_one_missing && !sizes && !it.has(1)) {  // otherwise the outputs' shapes are enough
    const auto shape = it.finder.input_shape(0);
    const auto at = shape ? it.finder.axis_of(axis, shape->size()) : std::nullopt;
    if (!at) return;
    sizes = even_sizes((*shape)[*at], it.op.outputs.size());
  }
  it.finder.split(0, axis, sizes);
}

/// A list that is an attribute before operator set `version`, and an input from then on.
std::optional<Shape> list_of(const NodeCopy& it, std::string_view name, std::size_t input, int version) {
  return it.node.version() < version ? it.node.integer_list(name) : it.node.integers(input);
}

struct SliceLists {
  Shape starts{};
  Shape axes{};
  Shape steps{};
};

/// The lists of a slice, with defaults; ends are not needed, because the shape of its output is known.
std::optional<SliceLists> slice_lists(const NodeCopy& it) {
  constexpr int first_with_inputs = 10;
  constexpr std::size_t axes_input = 3;
  constexpr std::size_t steps_input = 4;
  const auto starts = list_of(it, "starts", 1, first_with_inputs);
  const auto axes = list_of(it, "axes", axes_input, first_with_inputs);
  const auto steps = it.node.integers(steps_input);
  std::string problem;
  if (!starts) problem = "slice from a start that is not constant";
  if (!axes && it.has(axes_input)) problem = "slice on an axis that is not constant";
  if (!steps && it.has(steps_input)) problem = "slice by a step that is not constant";
  if (!problem.empty()) {
    it.finder.refuse(problem);
    return std::nullopt;
  }
  Shape every(starts->size());
  std::iota(every.begin(), every.end(), 0);
  SliceLists lists{*starts, axes.value_or(every), steps.value_or(Shape(starts->size(), 1))};
  if (lists.axes.size() == starts->size() && lists.steps.size() == starts->size()) return lists;
  it.finder.refuse(fmt::format("slice with {} starts, {} axes and {} steps", starts->size(),
                               lists.axes.size(), lists.steps.size()));
  return std::nullopt;
}

void pass_slice(const NodeCopy& it) {
  const auto from = it.finder.input_shape(0);
  const auto to = it.finder.output_shape(0);
  const auto lists = from && to ? slice_lists(it) : std::nullopt;
  if (!lists) return;
  Region region{.start = Shape(from->size(), 0), .extent = *to};
  std::vector<bool> is_sliced(from->size(), false);
  for (std::size_t i = 0; i < lists->starts.size(); ++i) {
    const auto axis = it.finder.axis_of(lists->axes[i], from->size());
    if (!axis) return;
    if (is_sliced[*axis] || to->size() != from->size()) {
      it.finder.refuse(fmt::format("slice on axis {} twice, or to another rank", *axis));
      return;
    }
    is_sliced[*axis] = true;
    const std::int64_t step = lists->steps[i];
    if (step != 1 && (*to)[*axis] > 1) {
      it.finder.refuse(fmt::format("slice by steps of {} on axis {}", step, *axis));
      return;
    }
    const std::int64_t extent = (*from)[*axis];
    const std::int64_t start = lists->starts[i] < 0 ? lists->starts[i] + extent : lists->starts[i];
    const std::int64_t last = step < 0 ? extent - 1 : extent;
    region.start[*axis] = std::clamp<std::int64_t>(start, 0, std::max<std::int64_t>(last, 0));
  }
  it.finder.take(region);
}

void pass_gather(const NodeCopy& it) {
  const auto indices = it.node.integers(1);
  const auto shape = it.finder.input_shape(0);
  if (!shape) return;
  if (!indices || indices->size() != 1) {
    it.finder.refuse(indices ? fmt::format("gather at {} indices", indices->size())
                             : "gather at an index that is not constant");
    return;
  }
  const std::int64_t axis = it.node.integer("axis", 0);
  const auto at = it.finder.axis_of(axis, shape->size());
  if (!at) return;
  const std::int64_t index = indices->front();
  it.finder.take_index(axis, index < 0 ? index + (*shape)[*at] : index);
}

/// A cast to another type computes, so it does not move data.
void pass_cast(const NodeCopy& it) {
  const auto dtype = [&](const auto& operands) {
    return operands.empty() || !operands[0] ? DType::unknown : it.graph.tensors[*operands[0]].dtype;
  };
  if (dtype(it.op.inputs) != DType::unknown && dtype(it.op.inputs) == dtype(it.op.outputs)) whole(it);
}

using CopyRule = void (*)(const NodeCopy& it);

const std::unordered_map<std::string_view, CopyRule>& copy_rules() {
  static const std::unordered_map<std::string_view, CopyRule> table{
      {"Reshape", whole},    {"Flatten", whole},      {"Squeeze", whole},
      {"Unsqueeze", whole},  {"Identity", whole},     {"Dropout", pass_dropout},
      {"Cast", pass_cast},   {"CastLike", pass_cast}, {"Transpose", pass_transpose},
      {"Expand", if_equal},  {"Tile", if_equal},      {"Concat", concat},
      {"Split", pass_split}, {"Slice", pass_slice},   {"Gather", pass_gather},
  };
  return table;
}

class CopySearch {
 public:
  CopySearch(OnnxGraph& model, const Versions& versions, const std::vector<std::optional<Value>>& values)
      : model_(model), versions_(versions), values_(values) {}

  /// Folded operators and their bodies have no sizes.
  void search(std::size_t subgraph) {
    std::vector<Operator>& operators = model_.graph.subgraphs[subgraph].operators;
    for (std::size_t o = 0; o < operators.size(); ++o) {
      if (operators[o].folded) continue;
      const auto rule = copy_rules().find(operators[o].type);
      if (rule != copy_rules().end()) apply(rule->second, operators[o], *model_.nodes[subgraph][o]);
      for (const std::size_t body : operators[o].bodies) search(body);
    }
  }

 private:
  void apply(CopyRule rule, Operator& op, const wire::NodeProto& node) {
    std::string name = op.type;
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    CopyFinder finder(model_.graph, op, name);
    std::vector<const Value*> values;
    for (const auto& input : op.inputs)
      values.push_back(input && values_[*input] ? &*values_[*input] : nullptr);
    const auto version = versions_.find("");
    const NodeContext context(views_of(node), version == versions_.end() ? 0 : version->second,
                              op.outputs.size(), {}, std::move(values));
    rule({model_.graph, context, op, finder});
  }

  OnnxGraph& model_;
  const Versions& versions_;
  const std::vector<std::optional<Value>>& values_;
};

}  // namespace

void find_copies(OnnxGraph& model, const Versions& versions,
                 const std::vector<std::optional<Value>>& values) {
  CopySearch(model, versions, values).search(0);
}

std::vector<std::string_view> types_with_copies() {
  std::vector<std::string_view> types;
  for (const auto& rule : copy_rules()) types.push_back(rule.first);
  return types;
}

}  // namespace stowage::import
