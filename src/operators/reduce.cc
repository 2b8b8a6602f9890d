// Rules of operators that reduce dimensions, or choose elements along one.

#include <algorithm>
#include <optional>
#include <string_view>

#include "operators/shapes.h"

namespace stowage::operators::shapes {
namespace {

/// Without these axes, or with 1 in their place.
Dims reduced(const Dims& dims, const std::vector<std::size_t>& axes, bool keeps) {
  Dims result;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const bool is_reduced = std::ranges::find(axes, d) != axes.end();
    if (!is_reduced) result.push_back(dims[d]);
    if (is_reduced && keeps) result.emplace_back(1);
  }
  return result;
}

/// The result of a reduction over the axes of an attribute or an input; over all, if there are none.
std::optional<Dims> reduction(const NodeContext& node) {
  const Dims* const dims = node.dims(0);
  if (dims == nullptr) return std::nullopt;
  const bool keeps = node.integer("keepdims", 1) != 0;
  auto axes = node.integer_list("axes");
  if (!axes && node.has(1)) {
    axes = node.integers(1);
    if (!axes) return keeps ? std::optional(Dims(dims->size())) : std::nullopt;
  }
  if (!axes || axes->empty()) {
    if (node.integer("noop_with_empty_axes", 0) != 0) return *dims;
    return keeps ? Dims(dims->size(), 1) : Dims();
  }
  return reduced(*dims, axes_in(*axes, dims->size()), keeps);
}

}  // namespace

void reduce(NodeContext& node) { node.set_output(0, node.elem_type(0), reduction(node)); }

/// Axes are an attribute, and the second input is a scale.
void quantized_reduce(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  std::optional<Dims> result;
  if (dims != nullptr) {
    const Shape axes = node.integer_list("axes").value_or(Shape());
    const bool keeps = node.integer("keepdims", 1) != 0;
    result = axes.empty() ? (keeps ? Dims(dims->size(), 1) : Dims())
                          : reduced(*dims, axes_in(axes, dims->size()), keeps);
  }
  node.set_output(0, node.elem_type(0), result);
}

void arg_reduce(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  std::optional<Dims> result;
  if (dims != nullptr)
    result =
        reduced(*dims, {axis_in(node.integer("axis", 0), dims->size())}, node.integer("keepdims", 1) != 0);
  node.set_output(0, element::int64, result);
}

/// Before operator set 10 the count is an attribute.
void top_k(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  if (dims) {
    const std::size_t axis = axis_in(node.integer("axis", -1), dims->size());
    Dim count = node.has(1) ? node.scalar(1) : std::nullopt;
    if (node.has_attribute("k")) count = node.integer("k", 0);
    if (count && (*count < 0 || ((*dims)[axis] && *count > *(*dims)[axis])))
      misfit("cannot take ", *count, " elements of an axis");
    (*dims)[axis] = count;
  }
  node.set_output(0, node.elem_type(0), dims);
  node.set_output(1, element::int64, dims);
}

/// Without reduction the loss of each element of the target.
void loss(NodeContext& node) {
  std::optional<Dims> dims;
  if (node.text("reduction", "mean") != "none") {
    dims = Dims();
  } else {
    dims = node.type(1).dims;
  }
  node.set_output(0, node.elem_type(0), dims);
  node.set_type(1, node.type(0));  // of a cross entropy: logarithms of probabilities
}

/// Vectors whose length depends on data.
void unique(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const bool has_axis = node.has_attribute("axis");
  std::optional<Dims> values;
  Dim count;
  if (!has_axis) {
    values = Dims(1);
    if (dims != nullptr) count = product_of(*dims, 0, dims->size());
  } else if (dims != nullptr) {
    const std::size_t axis = axis_in(node.integer("axis", 0), dims->size());
    values = *dims;
    count = (*dims)[axis];
    (*values)[axis].reset();
  }
  node.set_output(0, node.elem_type(0), values);
  node.set_output(1, element::int64, Dims(1));
  node.set_output(2, element::int64, Dims{count});
  node.set_output(3, element::int64, Dims(1));
}

void compress(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  Dim count;
  if (const auto condition = node.integers(1))
    count = std::ranges::count_if(*condition, [](std::int64_t it) { return it != 0; });
  if (!node.has_attribute("axis")) {
    dims = Dims{count};
  } else if (dims) {
    (*dims)[axis_in(node.integer("axis", 0), dims->size())] = count;
  }
  node.set_output(0, node.elem_type(0), dims);
}

void non_zero(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  Dims result(2);
  if (dims != nullptr) result[0] = static_cast<std::int64_t>(dims->size());
  node.set_output(0, element::int64, result);
}

/// Batch, class and box of each that is kept.
void non_max_suppression(NodeContext& node) { node.set_output(0, element::int64, Dims{std::nullopt, 3}); }

void shape_query(NodeContext& node) {
  Dims result(1);
  if (const Dims* const dims = node.dims(0)) {
    const auto rank = static_cast<std::int64_t>(dims->size());
    const auto clamped = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? std::max(at, -rank) + rank : at, 0, rank);
    };
    result[0] =
        std::max<std::int64_t>(clamped(node.integer("end", rank)) - clamped(node.integer("start", 0)), 0);
  }
  node.set_output(0, element::int64, result);
}

void whole_number(NodeContext& node) { node.set_shape(0, element::int64, {}); }

void truth(NodeContext& node) { node.set_shape(0, element::boolean, {}); }

}  // namespace stowage::operators::shapes
