#include "kernels/operands.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace stowage::kernels {

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const auto end = static_cast<std::int64_t>(rank);
  if (axis < -end || axis >= end) refuse("axis {} is not in a tensor of rank {}", axis, rank);
  return static_cast<std::size_t>(axis < 0 ? axis + end : axis);
}

Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<std::int64_t>(shape[d], 1);
  return strides;
}

std::int64_t count_of(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t count = 1;
  for (std::size_t d = begin; d < end; ++d) count *= shape[d];
  return count;
}

std::string show(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

}  // namespace stowage::kernels
