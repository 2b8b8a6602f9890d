#pragma once

// Operators that only move elements. The place of an output element in the input is a sum with one term for
// each dimension of the output; the terms of a dimension are a list. A negative term means that the element
// is a fill value. So one loop serves slices, transpositions, padding, repetition and blocks.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tflite/operands.h"

namespace stowage::kernels {

constexpr std::int64_t nowhere = -1;

struct Remap {
  std::vector<std::vector<std::int64_t>> terms{};  ///< Per dimension of the output, in elements.
  std::int64_t begin = 0;                          ///< Added to all places.

  /// A dimension of that extent, with that stride in the input.
  void add(std::int64_t extent, std::int64_t stride);
};

/// Writes the whole output. `filling` is one element, or null if there is none.
void move_elements(const Remap& remap, std::size_t element_bytes, const std::byte* input,
                   const std::byte* filling, std::byte* output);

/// A kernel that moves elements of input 0 to output 0, with the given filling or zeros.
[[nodiscard]] Kernel remap_kernel(Remap remap, const Operands& operands, std::vector<std::byte> filling = {});

/// The bytes of the number that represents 0 in a tensor.
[[nodiscard]] std::vector<std::byte> zero_of(const Argument& argument);

}  // namespace stowage::kernels
