// Rules of operators that look elements up, or that make tensors of a shape that is a value.

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "operators/tflite_shapes.h"

namespace stowage::operators::tflite_shapes {
namespace {

Dims joined(const Dims& first, std::size_t first_begin, std::size_t first_end, const Dims& then,
            std::size_t then_begin) {
  Dims result(first.begin() + static_cast<std::ptrdiff_t>(first_begin),
              first.begin() + static_cast<std::ptrdiff_t>(first_end));
  result.insert(result.end(), then.begin() + static_cast<std::ptrdiff_t>(then_begin), then.end());
  return result;
}

void shaped_by(NodeContext& node, std::size_t input) {
  if (const auto shape = node.integers(input)) {
    for (const std::int64_t size : *shape)
      if (size < 0) misfit("the shape has dimension ", size);
    node.set_dims(0, Dims(shape->begin(), shape->end()));
  } else if (const Dims* const dims = node.dims(input);
             dims != nullptr && dims->size() == 1 && dims->front()) {
    constexpr std::int64_t highest_rank = 1000;
    if (*dims->front() <= highest_rank) node.set_dims(0, Dims(static_cast<std::size_t>(*dims->front())));
  }
}

}  // namespace

void shaped_by_first(NodeContext& node) { shaped_by(node, 0); }
void shaped_by_second(NodeContext& node) { shaped_by(node, 1); }
void shaped_by_third(NodeContext& node) { shaped_by(node, 2); }

/// From a start by steps up to a limit.
void range(NodeContext& node) {
  node.set_dims(0, Dims{Dim()});
  const Value* const start = node.value(0);
  const Value* const limit = node.value(1);
  const Value* const step = node.value(2);
  for (const Value* const it : {start, limit, step}) {
    if (it == nullptr || it->size() != 1) return;
  }
  if (start->is_real()) {
    if (step->reals[0] == 0) misfit("the step is 0");
    const double count = std::ceil(std::abs((limit->reals[0] - start->reals[0]) / step->reals[0]));
    const bool is_empty = (limit->reals[0] - start->reals[0]) * step->reals[0] < 0;
    if (!(count < static_cast<double>(largest_value))) misfit("the range has no end");
    node.set_dims(0, Dims{is_empty ? 0 : static_cast<std::int64_t>(count)});
    return;
  }
  for (const Value* const it : {start, limit, step}) {
    if (it->integers[0] < -largest_value || it->integers[0] > largest_value) return;
  }
  const std::int64_t by = step->integers[0];
  if (by == 0) misfit("the step is 0");
  const std::int64_t way = (limit->integers[0] - start->integers[0]) * (by > 0 ? 1 : -1);
  node.set_dims(0, Dims{way <= 0 ? 0 : (way - 1) / std::abs(by) + 1});
}

/// A row of the second input for each element of the first.
void embedding_lookup(NodeContext& node) {
  const Dims* const lookup = node.dims(0, 1);
  const Dims* const values = node.dims(1);
  if (lookup == nullptr || values == nullptr || values->empty()) return;
  node.set_dims(0, joined(*lookup, 0, 1, *values, 1));
}

void hashtable_lookup(NodeContext& node) {
  const Dims* const lookup = node.dims(0, 1);
  const Dims* const values = node.dims(2);
  if (lookup == nullptr || values == nullptr || values->empty()) return;
  node.set_dims(0, joined(*lookup, 0, 1, *values, 1));
  node.set_dims(1, *lookup);
}

void hashtable_size(NodeContext& node) { node.set_dims(0, Dims{1}); }

/// There are as many segments as the greatest number of one says.
void segment_sum(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  if (dims == nullptr || dims->empty()) return;
  Dims result = *dims;
  result.front().reset();
  if (const auto segments = node.integers(1))
    result.front() = segments->empty() ? 0 : sum_of(std::ranges::max(*segments), 1);
  node.set_dims(0, result);
}

void unsorted_segment(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const Dims* const segments = node.dims(1);
  if (dims == nullptr || segments == nullptr) return;
  if (segments->size() > dims->size())
    misfit("there are segments of ", segments->size(), " dimensions for ", dims->size());
  node.set_dims(0, joined(Dims{node.scalar(2)}, 0, 1, *dims, segments->size()));
}

void matrix_diagonal(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  if (dims == nullptr) return;
  if (dims->empty()) misfit("the input has no axis");
  Dims result = *dims;
  result.push_back(dims->back());
  node.set_dims(0, result);
}

void multinomial(NodeContext& node) {
  const Dims* const dims = node.dims(0, 2);
  node.set_dims(0, Dims{dims == nullptr ? Dim() : dims->front(), node.scalar(1)});
}

/// Boxes, classes and scores of as many detections as the options allow, and their number.
void detections(NodeContext& node) {
  if (!node.has_attribute("max_detections")) return;
  const Dim most =
      product_of(node.integer("max_detections", 0), node.integer("max_classes_per_detection", 1));
  node.set_dims(0, Dims{1, most, 4});
  node.set_dims(1, Dims{1, most});
  node.set_dims(2, Dims{1, most});
  node.set_dims(3, Dims{1});
}

}  // namespace stowage::operators::tflite_shapes
