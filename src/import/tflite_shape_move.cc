// Rules of operators that rearrange, join or cut tensors.

#include <algorithm>
#include <set>

#include "import/tflite_shape_rules.h"

namespace stowage::import::tflite_rules {
namespace {

/// The shape that a reshape makes, from its input or, in older files, its options. There [0] stands for a number.
std::optional<Shape> target_of(const TfliteNode& node) {
  if (auto target = node.integers(1)) return target;
  const auto* const options = node.source().builtin_options_as_ReshapeOptions();
  if (node.has(1) || options == nullptr || options->new_shape() == nullptr) return std::nullopt;
  Shape shape(options->new_shape()->begin(), options->new_shape()->end());
  return shape == Shape{0} ? Shape{} : shape;
}

}  // namespace

/// -1 stands for what the others leave.
void reshape(TfliteNode& node) {
  const auto target = target_of(node);
  if (!target) return;
  Dims result(target->begin(), target->end());
  const Dim whole = node.elements(0);
  std::int64_t others = 1;
  auto rest = result.end();
  for (auto size = result.begin(); size != result.end(); ++size) {
    if (**size == -1) {
      if (rest != result.end()) misfit("the shape has -1 more than once");
      rest = size;
    } else if (**size < 0) {
      misfit("the shape has dimension ", **size);
    } else {
      others = product_of(others, **size);
    }
  }
  if (rest != result.end()) *rest = quotient(whole, others);
  if (whole && (rest == result.end() ? *whole != others : *rest && product_of(**rest, others) != *whole))
    misfit("cannot reshape ", *whole, " elements into parts of ", others);
  node.set(0, result);
}

/// Without a list of axes, all of extent 1 go.
void squeeze(TfliteNode& node) {
  const auto* const options = node.source().builtin_options_as_SqueezeOptions();
  const Dims* const dims = node.dims(0);
  if (dims == nullptr) return;
  Shape given;
  if (options != nullptr && options->squeeze_dims() != nullptr)
    given.assign(options->squeeze_dims()->begin(), options->squeeze_dims()->end());
  const std::vector<std::size_t> axes = axes_in(given, dims->size());
  Dims result;
  for (std::size_t d = 0; d < dims->size(); ++d) {
    const Dim& size = (*dims)[d];
    if (given.empty() && !size) return;  // even the rank depends on it
    const bool goes = given.empty() ? *size == 1 : std::ranges::find(axes, d) != axes.end();
    if (!goes) result.push_back(size);
    if (goes && size.value_or(1) != 1) misfit("cannot take away dimension ", *size);
  }
  node.set(0, result);
}

void expand_dims(TfliteNode& node) {
  const Dims* const dims = node.dims(0);
  const Dim axis = node.scalar(1);
  if (dims == nullptr || !axis) return;
  Dims result = *dims;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis_in(*axis, dims->size() + 1)), 1);
  node.set(0, result);
}

void transpose(TfliteNode& node) {
  const Dims* const dims = node.dims(0);
  const auto order = node.integers(1);
  if (dims == nullptr) return;
  if (!order) {
    node.set(0, Dims(dims->size()));
    return;
  }
  const std::vector<std::size_t> axes = axes_in(*order, dims->size());
  if (axes.size() != dims->size() || std::set(axes.begin(), axes.end()).size() != dims->size())
    misfit("the order is none of ", dims->size(), " dimensions");
  Dims result;
  for (const std::size_t axis : axes) result.push_back((*dims)[axis]);
  node.set(0, result);
}

void broadcast_to(TfliteNode& node) {
  const auto target = node.integers(1);
  if (!target) return;
  const Dims wanted(target->begin(), target->end());
  if (const Dims* const dims = node.dims(0); dims != nullptr && broadcast_dims(dims, &wanted) != wanted)
    misfit("cannot broadcast to the shape that is asked for");
  node.set(0, wanted);
}

/// The shape that two shapes broadcast to.
void broadcast_args(TfliteNode& node) {
  const Dims* const a = node.dims(0, 1);
  const Dims* const b = node.dims(1, 1);
  const bool is_known = a != nullptr && b != nullptr && a->front() && b->front();
  node.set(0, Dims{is_known ? Dim(std::max(*a->front(), *b->front())) : Dim()});
}

void tile(TfliteNode& node) {
  const Dims* const dims = node.dims(0);
  const auto repeats = node.integers(1);
  if (dims == nullptr) return;
  if (repeats && repeats->size() != dims->size())
    misfit("there are ", repeats->size(), " repeats for ", dims->size(), " dimensions");
  Dims result(dims->size());
  for (std::size_t d = 0; d < dims->size() && repeats; ++d)
    result[d] = product_of((*dims)[d], Dim((*repeats)[d]));
  node.set(0, result);
}

void concatenate(TfliteNode& node) {
  const auto* const options = node.source().builtin_options_as_ConcatenationOptions();
  if (options == nullptr || node.inputs() == 0) return;
  std::optional<Dims> result;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const Dims* const dims = node.dims(i);
    if (dims == nullptr) return;
    const std::size_t axis = axis_in(options->axis(), dims->size());
    if (!result) {
      result = *dims;
      continue;
    }
    if (dims->size() != result->size())
      misfit("cannot join tensors of ", result->size(), " and ", dims->size(), " dimensions");
    for (std::size_t d = 0; d < dims->size(); ++d)
      (*result)[d] = d == axis ? sum_of((*result)[d], (*dims)[d]) : same_dim((*result)[d], (*dims)[d]);
  }
  node.set(0, result);
}

void pack(TfliteNode& node) {
  const auto* const options = node.source().builtin_options_as_PackOptions();
  if (options == nullptr || node.inputs() == 0) return;
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
  const std::size_t axis = axis_in(options->axis(), result->size() + 1);
  result->insert(result->begin() + static_cast<std::ptrdiff_t>(axis),
                 static_cast<std::int64_t>(node.inputs()));
  node.set(0, result);
}

void unpack(TfliteNode& node) {
  const auto* const options = node.source().builtin_options_as_UnpackOptions();
  const Dims* const dims = node.dims(0);
  if (options == nullptr || dims == nullptr) return;
  const std::size_t axis = axis_in(options->axis(), dims->size());
  (void)same_dim((*dims)[axis], static_cast<std::int64_t>(node.outputs().size()));
  Dims result = *dims;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
  for (std::size_t i = 0; i < node.outputs().size(); ++i) node.set(i, result);
}

namespace {

void set_parts(TfliteNode& node, const Dims* dims, const std::optional<SplitAxis>& split) {
  if (dims == nullptr) return;
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    Dims part = split ? *dims : Dims(dims->size());
    if (split) part[split->axis] = split->extents[i];
    node.set(i, part);
  }
}

/// The axes that a slice leaves; if it is unknown, those that are known anyway.
void set_slice(TfliteNode& node, const std::optional<std::vector<SlicedAxis>>& axes) {
  if (!axes) return;
  Dims result;
  for (const SlicedAxis& axis : *axes) {
    if (!axis.is_shrunk) result.push_back(axis.extent);
  }
  node.set(0, result);
}

}  // namespace

void split(TfliteNode& node) { set_parts(node, node.dims(1), split_of(node)); }
void split_v(TfliteNode& node) { set_parts(node, node.dims(0), split_v_of(node)); }
void slice(TfliteNode& node) { set_slice(node, slice_of(node)); }
void strided_slice(TfliteNode& node) { set_slice(node, strided_slice_of(node)); }

/// Before and behind each dimension, one after the other.
void pad(TfliteNode& node) {
  const Dims* const dims = node.dims(0);
  const auto pads = node.integers(1);
  if (dims == nullptr) return;
  if (pads && pads->size() != 2 * dims->size())
    misfit("there are ", pads->size(), " pads for ", dims->size(), " dimensions");
  Dims result(dims->size());
  for (std::size_t d = 0; d < dims->size() && pads; ++d)
    result[d] = sum_of((*dims)[d], Dim(sum_of((*pads)[2 * d], (*pads)[2 * d + 1])));
  node.set(0, result);
}

/// Elements of the input lie so far apart.
void dilate(TfliteNode& node) {
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
  node.set(0, result);
}

}  // namespace stowage::import::tflite_rules
