#include "import/tflite_node.h"

#include <algorithm>

namespace stowage::import {

bool TfliteNode::has(std::size_t input) const { return input < inputs_.size() && inputs_[input] != nullptr; }

const Dims* TfliteNode::dims(std::size_t input) const {
  return has(input) && inputs_[input]->dims ? &*inputs_[input]->dims : nullptr;
}

const Dims* TfliteNode::dims(std::size_t input, std::size_t rank) const {
  const Dims* const it = dims(input);
  if (it != nullptr && it->size() != rank)
    misfit("input ", input, " has ", it->size(), " dimensions, expected ", rank);
  return it;
}

std::optional<Shape> TfliteNode::shape(std::size_t input) const {
  return has(input) ? concrete_shape(inputs_[input]->dims) : std::nullopt;
}

Dim TfliteNode::elements(std::size_t input) const {
  const Dims* const it = dims(input);
  return it == nullptr ? std::nullopt : product_of(*it, 0, it->size());
}

const Value* TfliteNode::value(std::size_t input) const {
  return has(input) && inputs_[input]->value ? &*inputs_[input]->value : nullptr;
}

std::optional<Shape> TfliteNode::integers(std::size_t input) const {
  const Value* const it = value(input);
  return it == nullptr || it->is_real() ? std::nullopt : std::optional(it->integers);
}

Dim TfliteNode::scalar(std::size_t input) const {
  const auto it = integers(input);
  return it && it->size() == 1 ? Dim(it->front()) : std::nullopt;
}

void TfliteNode::set(std::size_t output, const std::optional<Dims>& dims) {
  if (output < outputs_.size()) outputs_[output] = dims;
}

namespace {

bool has_bit(std::int32_t mask, std::size_t bit) {
  return bit < 32 && ((static_cast<std::uint32_t>(mask) >> bit) & 1U) != 0;
}

/// One axis of a strided slice; `entry` counts the begins, ends and steps.
SlicedAxis sliced(const tflite::StridedSliceOptions& options, std::size_t entry, const Dim& size,
                  std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (step == 0) misfit("the step of axis ", entry, " is 0");
  const bool is_forward = step > 0;
  SlicedAxis axis{.is_shrunk = has_bit(options.shrink_axis_mask(), entry), .step = step};
  if (!size) {
    if (axis.is_shrunk) axis.extent = 1;
    return axis;
  }
  const std::int64_t first = is_forward ? 0 : *size - 1;
  if (has_bit(options.begin_mask(), entry)) begin = first;
  axis.start = begin < 0 && !has_bit(options.begin_mask(), entry) ? sum_of(begin, *size) : begin;
  axis.start =
      std::clamp(axis.start, is_forward ? std::int64_t{0} : std::int64_t{-1}, is_forward ? *size : *size - 1);
  if (axis.is_shrunk) {
    axis.extent = 1;
    return axis;
  }
  if (options.offset()) end = sum_of(axis.start, end);
  constexpr std::int64_t far = largest_value;
  if (has_bit(options.end_mask(), entry)) end = is_forward ? far : -far;
  // An axis without elements before its start has none at all.
  const bool is_before_all = axis.start < 0 || axis.start >= *size;
  axis.extent = is_before_all ? 0 : taken(*size, axis.start, end, step);
  return axis;
}

}  // namespace

std::optional<std::vector<SlicedAxis>> strided_slice_of(const TfliteNode& node) {
  const auto* const options = node.source().builtin_options_as_StridedSliceOptions();
  const Dims* const dims = node.dims(0);
  const auto begin = node.integers(1);
  const auto end = node.integers(2);
  const auto steps = node.integers(3);
  if (options == nullptr || dims == nullptr || !begin || !end || !steps) return std::nullopt;
  if (begin->size() != end->size() || begin->size() != steps->size())
    misfit("there are ", begin->size(), " begins, ", end->size(), " ends and ", steps->size(), " steps");
  std::size_t named = 0;  // axes of the input that have an entry
  for (std::size_t i = 0; i < begin->size(); ++i) {
    if (!has_bit(options->ellipsis_mask(), i) && !has_bit(options->new_axis_mask(), i)) ++named;
  }
  if (named > dims->size()) misfit("there are ", named, " begins for ", dims->size(), " dimensions");
  std::vector<SlicedAxis> axes;
  std::size_t next = 0;  // axis of the input
  const auto take_whole = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) axes.push_back({.extent = (*dims)[next++]});
  };
  bool had_ellipsis = false;
  for (std::size_t i = 0; i < begin->size(); ++i) {
    if (has_bit(options->ellipsis_mask(), i)) {
      if (std::exchange(had_ellipsis, true)) misfit("there are two ellipses");
      take_whole(dims->size() - named);
    } else if (has_bit(options->new_axis_mask(), i)) {
      axes.push_back({.is_new = true, .extent = 1});
    } else {
      axes.push_back(sliced(*options, i, (*dims)[next], (*begin)[i], (*end)[i], (*steps)[i]));
      ++next;
    }
  }
  take_whole(dims->size() - next);
  return axes;
}

/// A size of -1 is the rest.
std::optional<std::vector<SlicedAxis>> slice_of(const TfliteNode& node) {
  const Dims* const dims = node.dims(0);
  const auto begin = node.integers(1);
  const auto size = node.integers(2);
  if (dims == nullptr || !begin || !size) return std::nullopt;
  if (begin->size() != dims->size() || size->size() != dims->size())
    misfit("there are ", begin->size(), " begins and ", size->size(), " sizes for ", dims->size(),
           " dimensions");
  std::vector<SlicedAxis> axes;
  for (std::size_t d = 0; d < dims->size(); ++d) {
    const Dim& whole = (*dims)[d];
    const std::int64_t start = (*begin)[d];
    if (start < 0) misfit("a slice begins at ", start);
    const Dim extent = (*size)[d] == -1 ? sum_of(whole, Dim(-start)) : Dim((*size)[d]);
    if (extent && (*extent < 0 || (whole && sum_of(start, *extent) > *whole)))
      misfit("cannot take ", (*size)[d], " from ", start, " on of dimension ", whole.value_or(-1));
    axes.push_back({.start = start, .extent = extent});
  }
  return axes;
}

std::optional<SplitAxis> split_of(const TfliteNode& node) {
  const Dims* const dims = node.dims(1);
  const Dim axis = node.scalar(0);
  const auto parts = static_cast<std::int64_t>(node.outputs().size());
  if (dims == nullptr || !axis || parts == 0) return std::nullopt;
  SplitAxis split{.axis = axis_in(*axis, dims->size())};
  const Dim& whole = (*dims)[split.axis];
  if (!whole) return std::nullopt;
  if (*whole % parts != 0) misfit("cannot split dimension ", *whole, " into ", parts, " equal parts");
  split.extents.assign(node.outputs().size(), *whole / parts);
  return split;
}

/// One of the sizes may be -1: the rest.
std::optional<SplitAxis> split_v_of(const TfliteNode& node) {
  const Dims* const dims = node.dims(0);
  const Dim axis = node.scalar(2);
  auto sizes = node.integers(1);
  if (dims == nullptr || !axis || !sizes) return std::nullopt;
  if (sizes->size() != node.outputs().size())
    misfit("there are ", sizes->size(), " sizes for ", node.outputs().size(), " outputs");
  SplitAxis split{.axis = axis_in(*axis, dims->size())};
  const Dim& whole = (*dims)[split.axis];
  const auto rest = std::ranges::find(*sizes, -1);
  std::int64_t others = 0;
  for (auto size = sizes->begin(); size != sizes->end(); ++size) {
    if (size == rest) continue;
    if (*size < 0) misfit("a part has size ", *size);
    others = sum_of(others, *size);
  }
  if (rest != sizes->end()) {
    if (!whole) return std::nullopt;
    *rest = *whole - others;
  }
  if ((rest != sizes->end() && *rest < 0) || (rest == sizes->end() && whole && others != *whole))
    misfit("the parts do not make up dimension ", whole.value_or(others));
  split.extents = *std::move(sizes);
  return split;
}

}  // namespace stowage::import
