// For each operator that only moves data, reads its axis, starts, sizes or order from attributes or known
// inputs, depending on its operator set; CopyFinder (copies.cc) does the rest. If one of them is unknown
// before the network runs, the operator must copy.
//
// Cost: operands * dimensions. Source: the document of docs/free-list.md, paragraphs 150 to 165, the ONNX
// operator specification with its older versions, and the public schema of TFLite. TFLite's kernels decide
// where the schema is silent: a shrunk axis of a strided slice has extent 1 whatever its end.

#include "operators/copy_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

namespace stowage::operators {

void find_copies(const Facts& facts, const Graph& graph, Operator& op, const NodeContext& node,
                 const CopyFinder::Objection& objection) {
  std::string name(facts.called.empty() ? std::string_view(op.type) : facts.called);
  for (char& c : name) c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  CopyFinder finder(graph, op, name, objection);
  facts.copies({graph, node, op, name, finder});
}

}  // namespace stowage::operators

namespace stowage::operators::copies {

void whole(const CopyCall& it) { it.finder.pass_whole(); }

void if_equal(const CopyCall& it) { it.finder.pass_if_equal(); }

/// Passes its input on, unless old ones lack `is_test` or new ones may be in training mode.
void dropout(const CopyCall& it) {
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

void transpose(const CopyCall& it) {
  auto order = it.node.integer_list("perm");
  if (!order) {
    const auto shape = it.finder.input_shape(0);
    if (!shape) return;
    order.emplace();
    for (std::size_t d = shape->size(); d-- > 0;) order->push_back(static_cast<std::int64_t>(d));
  }
  it.finder.transpose(*order);
}

void concat(const CopyCall& it) {
  constexpr int first_without_default = 4;
  if (it.node.version() >= first_without_default && !it.node.has_attribute("axis")) {
    it.finder.refuse("concat without an axis");
    return;
  }
  it.finder.concatenate(it.node.integer("axis", 1));
}

namespace {

/// Parts of equal extents, except perhaps the last.
Shape even_sizes(std::int64_t extent, std::size_t parts) {
  const auto count = static_cast<std::int64_t>(parts);
  const std::int64_t most = extent / count + (extent % count == 0 ? 0 : 1);
  Shape sizes;
  for (std::int64_t rest = extent; sizes.size() < parts; rest -= sizes.back())
    sizes.push_back(std::min(most, rest));
  return sizes;
}

}  // namespace

void split(const CopyCall& it) {
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

namespace {

/// A list that is an attribute before operator set `version`, and an input from then on.
std::optional<Shape> list_of(const CopyCall& it, std::string_view name, std::size_t input, int version) {
  return it.node.version() < version ? it.node.integer_list(name) : it.node.integers(input);
}

struct SliceLists {
  Shape starts{};
  Shape axes{};
  Shape steps{};
};

/// The lists of a slice, with defaults; ends are not needed, because the shape of its output is known.
std::optional<SliceLists> slice_lists(const CopyCall& it) {
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

}  // namespace

void slice(const CopyCall& it) {
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

void gather(const CopyCall& it) {
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
void cast(const CopyCall& it) {
  const auto dtype = [&](const auto& operands) {
    return operands.empty() || !operands[0] ? DType::unknown : it.graph.tensors[*operands[0]].dtype;
  };
  if (dtype(it.op.inputs) != DType::unknown && dtype(it.op.inputs) == dtype(it.op.outputs)) whole(it);
}

// As TFLite has them

namespace {

/// Whether it has the options of its kind, which have this attribute; refuses others.
bool has_options(const CopyCall& it, std::string_view own) {
  if (it.node.has_attribute(own)) return true;
  it.finder.refuse(it.name + " without the options that name its axis");
  return false;
}

bool expect_entries(const CopyCall& it, const Shape& entries, std::size_t expected, bool is_exact) {
  if (entries.size() == expected || (!is_exact && entries.size() < expected)) return true;
  it.finder.refuse(fmt::format("{} with {} entries for {} dimensions", it.name, entries.size(), expected));
  return false;
}

/// The known integers of an input; refuses others.
std::optional<Shape> constant(const CopyCall& it, std::size_t input, std::string_view what) {
  auto numbers = it.node.integers(input);
  if (!numbers) it.finder.refuse(fmt::format("{} without constant {}", it.name, what));
  return numbers;
}

std::optional<std::int64_t> constant_axis(const CopyCall& it, std::size_t input) {
  const auto axis = constant(it, input, "axis");
  if (!axis) return std::nullopt;
  if (axis->size() == 1) return axis->front();
  it.finder.refuse(fmt::format("{} on {} axes", it.name, axis->size()));
  return std::nullopt;
}

struct Stride {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t stride = 1;
};

/// Start and extent of a strided slice on a dimension of that many elements.
std::optional<std::pair<std::int64_t, std::int64_t>> range_on(const CopyCall& call, std::size_t d,
                                                              const Stride& it, std::int64_t elements) {
  const auto is_set = [&](std::string_view mask) {
    return d < 32 && ((static_cast<std::uint32_t>(call.node.integer(mask, 0)) >> d) & 1U) != 0;
  };
  const auto from_front = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + elements : at, 0, elements);
  };
  const bool is_shrunk = is_set("shrink_axis_mask");
  const bool starts_at_front = is_set("begin_mask");
  if (is_shrunk && !starts_at_front) return std::pair{from_front(it.begin), std::int64_t{1}};
  const std::int64_t start = starts_at_front ? 0 : from_front(it.begin);
  const std::int64_t end = is_set("end_mask") ? elements : from_front(it.end);
  const std::int64_t extent = std::max<std::int64_t>(end - start, 0);
  if (!is_shrunk && (it.stride == 1 || (it.stride > 1 && extent <= it.stride)))
    return std::pair{start, std::min(extent, it.stride == 1 ? extent : 1)};
  call.finder.refuse(is_shrunk ? fmt::format("strided slice that shrinks axis {} and masks its begin", d)
                               : fmt::format("strided slice by steps of {} on axis {}", it.stride, d));
  return std::nullopt;
}

}  // namespace

void transpose_by_input(const CopyCall& it) {
  if (const auto order = constant(it, 1, "order")) it.finder.transpose(*order);
}

/// One with a fused activation computes.
void concat_alone(const CopyCall& it) {
  if (!has_options(it, "fused_activation_function")) return;
  const std::int64_t activation = it.node.integer("fused_activation_function", 0);
  if (activation == 0) {
    it.finder.concatenate(it.node.integer("axis", 0));
  } else {
    it.finder.refuse(
        fmt::format("fused activation {}", it.node.text("activation", std::to_string(activation))));
  }
}

void pack(const CopyCall& it) {
  if (has_options(it, "values_count")) it.finder.stack(it.node.integer("axis", 0));
}

void unpack(const CopyCall& it) {
  if (has_options(it, "num")) it.finder.unstack(it.node.integer("axis", 0));
}

void split_evenly(const CopyCall& it) {
  if (const auto axis = constant_axis(it, 0)) it.finder.split(1, *axis, std::nullopt);
}

/// One of the sizes may be -1: the remaining extent.
void split_by_sizes(const CopyCall& it) {
  const auto axis = constant_axis(it, 2);
  auto sizes = axis ? constant(it, 1, "sizes") : std::nullopt;
  const auto shape = sizes ? it.finder.input_shape(0) : std::nullopt;
  const auto at = shape ? it.finder.axis_of(*axis, shape->size()) : std::nullopt;
  if (!at) return;
  const auto open = std::ranges::find(*sizes, -1);
  if (open != sizes->end()) {
    *open = (*shape)[*at];
    for (auto size = sizes->begin(); size != sizes->end(); ++size)
      if (size != open && *size >= 0) *open -= std::min(*size, *open);
  }
  it.finder.split(0, *axis, sizes);
}

void slice_by_sizes(const CopyCall& it) {
  const auto begin = constant(it, 1, "begin");
  const auto size = begin ? constant(it, 2, "size") : std::nullopt;
  const auto shape = size ? it.finder.input_shape(0) : std::nullopt;
  if (!shape || !expect_entries(it, *begin, shape->size(), true) ||
      !expect_entries(it, *size, shape->size(), true))
    return;
  Region region{.start = *begin, .extent = *size};
  for (std::size_t d = 0; d < shape->size(); ++d) {
    if (region.extent[d] == -1 && region.start[d] >= 0) region.extent[d] = (*shape)[d] - region.start[d];
  }
  it.finder.take(region);
}

void strided_slice(const CopyCall& it) {
  if (!has_options(it, "begin_mask")) return;
  const bool is_plain = it.node.integer("ellipsis_mask", 0) == 0 &&
                        it.node.integer("new_axis_mask", 0) == 0 && it.node.integer("offset", 0) == 0;
  if (!is_plain) {
    it.finder.refuse("strided slice with an ellipsis, a new axis or an end that counts from the begin");
    return;
  }
  const auto begin = constant(it, 1, "begin");
  const auto end = begin ? constant(it, 2, "end") : std::nullopt;
  const auto strides = end ? constant(it, 3, "strides") : std::nullopt;
  const auto shape = strides ? it.finder.input_shape(0) : std::nullopt;
  if (!shape || !expect_entries(it, *begin, shape->size(), false) ||
      !expect_entries(it, *end, begin->size(), true) || !expect_entries(it, *strides, begin->size(), true))
    return;
  Region region{.start = Shape(shape->size(), 0), .extent = *shape};
  for (std::size_t d = 0; d < begin->size(); ++d) {
    const auto range = range_on(it, d, {(*begin)[d], (*end)[d], (*strides)[d]}, (*shape)[d]);
    if (!range) return;
    region.start[d] = range->first;
    region.extent[d] = range->second;
  }
  it.finder.take(region);
}

void gather_one(const CopyCall& it) {
  const auto shape = has_options(it, "batch_dims") ? it.finder.input_shape(1) : std::nullopt;
  if (!shape) return;
  const std::int64_t batches = it.node.integer("batch_dims", 0);
  const Bytes indices = bytes_of(DType::int8, *shape);
  if (indices != 1 || batches != 0) {
    it.finder.refuse(fmt::format("gather at {} indices in {} batch dimensions", indices, batches));
  } else if (const auto index = constant(it, 1, "index")) {
    it.finder.take_index(it.node.integer("axis", 0), index->front());
  }
}

}  // namespace stowage::operators::copies
