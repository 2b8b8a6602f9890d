#pragma once

// Operators that only move elements. The output is looked at with dimensions in which the place of an element
// in the input is a sum, with one term for each dimension; the terms of a dimension are a list. A term of
// nowhere, below 0, means that the element is not of the input, but of a filling: so are slices,
// transpositions, padding, repetition and blocks all one loop.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tflite/operands.h"

namespace stowage::kernels {

constexpr std::int64_t nowhere = -1;

struct Remap {
  std::vector<std::vector<std::int64_t>> terms{};  ///< Per dimension of the output, in elements.
  std::int64_t begin = 0;                          ///< Added to all.

  /// A dimension of that extent whose elements are that far apart in the input.
  void add(std::int64_t extent, std::int64_t stride);
};

/// Writes the output from its beginning on. `filling` is one element, or null where there is none.
void move_elements(const Remap& remap, std::size_t element_bytes, const std::byte* input,
                   const std::byte* filling, std::byte* output);

/// A kernel that moves elements of input 0 to output 0; the filling is given, or zeros.
[[nodiscard]] Kernel remap_kernel(Remap remap, const Operands& operands, std::vector<std::byte> filling = {});

/// The bytes of the number that stands for 0 in a tensor.
[[nodiscard]] std::vector<std::byte> zero_of(const Argument& argument);

}  // namespace stowage::kernels
