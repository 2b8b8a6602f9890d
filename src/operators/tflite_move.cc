// Rules of operators that rearrange, join or cut tensors.

#include <algorithm>
#include <set>

#include "operators/slices.h"
#include "operators/tflite_shapes.h"

namespace stowage::operators::tflite_shapes {
void transpose(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const auto order = node.integers(1);
  if (dims == nullptr) return;
  if (!order) {
    node.set_dims(0, Dims(dims->size()));
    return;
  }
  const std::vector<std::size_t> axes = axes_in(*order, dims->size());
  if (axes.size() != dims->size() || std::set(axes.begin(), axes.end()).size() != dims->size())
    misfit("the order is none of ", dims->size(), " dimensions");
  Dims result;
  for (const std::size_t axis : axes) result.push_back((*dims)[axis]);
  node.set_dims(0, result);
}

void broadcast_to(NodeContext& node) {
  const auto target = node.integers(1);
  if (!target) return;
  const Dims wanted(target->begin(), target->end());
  if (const Dims* const dims = node.dims(0); dims != nullptr && broadcast_dims(dims, &wanted) != wanted)
    misfit("cannot broadcast to the shape that is asked for");
  node.set_dims(0, wanted);
}

/// The shape that two shapes broadcast to.
void broadcast_args(NodeContext& node) {
  const Dims* const a = node.dims(0, 1);
  const Dims* const b = node.dims(1, 1);
  const bool is_known = a != nullptr && b != nullptr && a->front() && b->front();
  node.set_dims(0, Dims{is_known ? Dim(std::max(*a->front(), *b->front())) : Dim()});
}

void pack(NodeContext& node) {
  if (!node.has_attribute("values_count") || node.inputs() == 0) return;
  std::optional<Dims> result;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const Dims* const dims = node.dims(i);
    if (dims == nullptr) continue;
    if (!result) result = *dims;
    if (dims->size() != result->size())
      misfit("cannot pack tensors of ", result->size(), " and ", dims->size(), " dimensions");
    for (std::size_t d = 0; d < dims->size(); ++d) (*result)[d] = same_dim((*result)[d], (*dims)[d]);
  }
  if (!result) return;
  const std::size_t axis = axis_in(node.integer("axis", 0), result->size() + 1);
  result->insert(result->begin() + static_cast<std::ptrdiff_t>(axis),
                 static_cast<std::int64_t>(node.inputs()));
  node.set_dims(0, result);
}

void unpack(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  if (!node.has_attribute("num") || dims == nullptr) return;
  const std::size_t axis = axis_in(node.integer("axis", 0), dims->size());
  (void)same_dim((*dims)[axis], static_cast<std::int64_t>(node.outputs().size()));
  Dims result = *dims;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
  for (std::size_t i = 0; i < node.outputs().size(); ++i) node.set_dims(i, result);
}

namespace {

void set_parts(NodeContext& node, const Dims* dims, const std::optional<SplitAxis>& split) {
  if (dims == nullptr) return;
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    Dims part = split ? *dims : Dims(dims->size());
    if (split) part[split->axis] = split->extents[i];
    node.set_dims(i, part);
  }
}

/// The axes that a slice leaves; if it is unknown, those that are known anyway.
void set_slice(NodeContext& node, const std::optional<std::vector<SlicedAxis>>& axes) {
  if (!axes) return;
  Dims result;
  for (const SlicedAxis& axis : *axes) {
    if (!axis.is_shrunk) result.push_back(axis.extent);
  }
  node.set_dims(0, result);
}

}  // namespace

void split(NodeContext& node) { set_parts(node, node.dims(1), split_of(node)); }
void split_v(NodeContext& node) { set_parts(node, node.dims(0), split_v_of(node)); }
void slice(NodeContext& node) { set_slice(node, slice_of(node)); }
void strided_slice(NodeContext& node) { set_slice(node, strided_slice_of(node)); }

/// Before and behind each dimension, one after the other.
void pad(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const auto pads = node.integers(1);
  if (dims == nullptr) return;
  if (pads && pads->size() != 2 * dims->size())
    misfit("there are ", pads->size(), " pads for ", dims->size(), " dimensions");
  Dims result(dims->size());
  for (std::size_t d = 0; d < dims->size() && pads; ++d)
    result[d] = sum_of((*dims)[d], Dim(sum_of((*pads)[2 * d], (*pads)[2 * d + 1])));
  node.set_dims(0, result);
}

/// Elements of the input lie so far apart.
void dilate(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const auto steps = node.integers(1);
  if (dims == nullptr) return;
  if (steps && steps->size() != dims->size())
    misfit("there are ", steps->size(), " dilations for ", dims->size(), " dimensions");
  Dims result(dims->size());
  for (std::size_t d = 0; d < dims->size() && steps; ++d) {
    const Dim gaps = (*dims)[d] ? Dim(std::max<std::int64_t>(*(*dims)[d] - 1, 0)) : Dim();
    result[d] = (*dims)[d] == 0 ? Dim(0) : sum_of(product_of(gaps, Dim((*steps)[d])), Dim(1));
  }
  node.set_dims(0, result);
}

}  // namespace stowage::operators::tflite_shapes
