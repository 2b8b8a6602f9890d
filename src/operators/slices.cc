#include "operators/slices.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace stowage::operators {
namespace {

bool has_bit(const NodeContext& node, std::string_view mask, std::size_t bit) {
  return bit < 32 && ((static_cast<std::uint32_t>(node.integer(mask, 0)) >> bit) & 1U) != 0;
}

/// One axis of a strided slice; `entry` counts the begins, ends and steps.
SlicedAxis sliced(const NodeContext& node, std::size_t entry, const Dim& size, std::int64_t begin,
                  std::int64_t end, std::int64_t step) {
  if (step == 0) misfit("the step of axis ", entry, " is 0");
  const bool is_forward = step > 0;
  SlicedAxis axis{.is_shrunk = has_bit(node, "shrink_axis_mask", entry), .step = step};
  if (!size) {
    if (axis.is_shrunk) axis.extent = 1;
    return axis;
  }
  const std::int64_t first = is_forward ? 0 : *size - 1;
  if (has_bit(node, "begin_mask", entry)) begin = first;
  axis.start = begin < 0 && !has_bit(node, "begin_mask", entry) ? sum_of(begin, *size) : begin;
  axis.start =
      std::clamp(axis.start, is_forward ? std::int64_t{0} : std::int64_t{-1}, is_forward ? *size : *size - 1);
  if (axis.is_shrunk) {
    axis.extent = 1;
    return axis;
  }
  if (node.integer("offset", 0) != 0) end = sum_of(axis.start, end);
  constexpr std::int64_t far = largest_value;
  if (has_bit(node, "end_mask", entry)) end = is_forward ? far : -far;
  // An axis without elements before its start has none at all.
  const bool is_before_all = axis.start < 0 || axis.start >= *size;
  axis.extent = is_before_all ? 0 : taken(*size, axis.start, end, step);
  return axis;
}

}  // namespace

std::optional<std::vector<SlicedAxis>> strided_slice_of(const NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const auto begin = node.integers(1);
  const auto end = node.integers(2);
  const auto steps = node.integers(3);
  if (!node.has_attribute("begin_mask") || dims == nullptr || !begin || !end || !steps) return std::nullopt;
  if (begin->size() != end->size() || begin->size() != steps->size())
    misfit("there are ", begin->size(), " begins, ", end->size(), " ends and ", steps->size(), " steps");
  std::size_t named = 0;  // axes of the input that have an entry
  for (std::size_t i = 0; i < begin->size(); ++i) {
    if (!has_bit(node, "ellipsis_mask", i) && !has_bit(node, "new_axis_mask", i)) ++named;
  }
  if (named > dims->size()) misfit("there are ", named, " begins for ", dims->size(), " dimensions");
  std::vector<SlicedAxis> axes;
  std::size_t next = 0;  // axis of the input
  const auto take_whole = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) axes.push_back({.extent = (*dims)[next++]});
  };
  bool had_ellipsis = false;
  for (std::size_t i = 0; i < begin->size(); ++i) {
    if (has_bit(node, "ellipsis_mask", i)) {
      if (std::exchange(had_ellipsis, true)) misfit("there are two ellipses");
      take_whole(dims->size() - named);
    } else if (has_bit(node, "new_axis_mask", i)) {
      axes.push_back({.is_new = true, .extent = 1});
    } else {
      axes.push_back(sliced(node, i, (*dims)[next], (*begin)[i], (*end)[i], (*steps)[i]));
      ++next;
    }
  }
  take_whole(dims->size() - next);
  return axes;
}

/// A size of -1 is the rest.
std::optional<std::vector<SlicedAxis>> slice_of(const NodeContext& node) {
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

std::optional<SplitAxis> split_of(const NodeContext& node) {
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
std::optional<SplitAxis> split_v_of(const NodeContext& node) {
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

}  // namespace stowage::operators
