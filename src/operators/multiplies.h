#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/checked.h"
#include "operators/rows.h"

/// Every element of an output is a sum of as many products as its filter has weights. In a transposed
/// convolution this holds for every element of the input.
namespace stowage::operators {

inline std::int64_t element_count(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

/// The number of elements of a shape per index of one dimension.
inline std::int64_t count_for(const Shape& shape, std::size_t axis) {
  return axis < shape.size() && shape[axis] > 0 ? element_count(shape) / shape[axis] : 0;
}

inline std::optional<std::int64_t> products_of(const Shape& elements, std::int64_t each) {
  return base::checked_multiply(element_count(elements), each);
}

}  // namespace stowage::operators
