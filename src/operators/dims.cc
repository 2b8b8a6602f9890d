#include "operators/dims.h"

#include <algorithm>

#include "base/checked.h"

namespace stowage::operators {

std::optional<Shape> concrete_shape(const std::optional<Dims>& dims) {
  if (!dims) return std::nullopt;
  Shape shape;
  shape.reserve(dims->size());
  for (const Dim& dimension : *dims) {
    if (!dimension) return std::nullopt;
    shape.push_back(*dimension);
  }
  return shape;
}

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  const auto sum = base::checked_add(a, b);
  if (!sum) misfit("dimension ", a, " + ", b, " overflows");
  return *sum;
}

std::int64_t product_of(std::int64_t a, std::int64_t b) {
  const auto product = base::checked_multiply(a, b);
  if (!product) misfit("dimension ", a, " * ", b, " overflows");
  return *product;
}

Dim sum_of(const Dim& a, const Dim& b) { return a && b ? Dim(sum_of(*a, *b)) : std::nullopt; }

Dim product_of(const Dim& a, const Dim& b) { return a && b ? Dim(product_of(*a, *b)) : std::nullopt; }

Dim product_of(const Dims& dims, std::size_t begin, std::size_t end) {
  Dim product = 1;
  for (std::size_t d = begin; d < end; ++d) product = product_of(product, dims[d]);
  return product;
}

Dim quotient(const Dim& whole, const Dim& parts) {
  return whole && parts && *parts > 0 ? Dim(*whole / *parts) : std::nullopt;
}

Dim dim_at(const Dims* dims, std::size_t at) {
  return dims == nullptr || at >= dims->size() ? std::nullopt : (*dims)[at];
}

Dim same_dim(const Dim& a, const Dim& b) {
  if (a && b && *a != *b) misfit("dimensions ", *a, " and ", *b, " differ");
  return a ? a : b;
}

std::size_t axis_in(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    misfit("axis ", axis, " does not exist in a tensor of rank ", rank);
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::vector<std::size_t> axes_in(const Shape& axes, std::size_t rank) {
  std::vector<std::size_t> result;
  result.reserve(axes.size());
  for (const std::int64_t axis : axes) result.push_back(axis_in(axis, rank));
  return result;
}

std::int64_t taken(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step == 0) misfit("the step is 0");
  const auto clamped = [&](std::int64_t at) {
    at = at < 0 ? std::max(at, -size - 1) + size : at;
    return step > 0 ? std::clamp<std::int64_t>(at, 0, size) : std::clamp<std::int64_t>(at, -1, size - 1);
  };
  const std::int64_t first = clamped(start);
  const std::int64_t last = clamped(end);
  if (step > 0) return first < last ? (last - first - 1) / step + 1 : 0;
  return first > last ? 1 - (first - last - 1) / std::max(step, -largest_value) : 0;
}

std::optional<Dims> common_dims(const std::optional<Dims>& a, const std::optional<Dims>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Dims common = *a;
  for (std::size_t d = 0; d < common.size(); ++d) {
    if (common[d] != (*b)[d]) common[d].reset();
  }
  return common;
}

std::optional<Dims> broadcast_dims(const Dims* a, const Dims* b) {
  if (a == nullptr || b == nullptr) return std::nullopt;
  const Dims& longer = a->size() < b->size() ? *b : *a;
  const Dims& shorter = a->size() < b->size() ? *a : *b;
  Dims result = longer;
  for (std::size_t d = 0; d < shorter.size(); ++d) {
    const Dim& own = shorter[shorter.size() - 1 - d];
    Dim& dimension = result[result.size() - 1 - d];
    if (own == 1) continue;
    if (dimension == 1) {
      dimension = own;
    } else if (dimension && own) {
      if (*own != *dimension) misfit("cannot broadcast ", *own, " and ", *dimension);
    } else if (own) {
      dimension = own;  // the other is this or 1
    }
  }
  return result;
}

}  // namespace stowage::operators
