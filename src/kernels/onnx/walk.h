#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/onnx/operands.h"

/// A loop over the elements of an output in ascending order, with the places of elements of some inputs, in
/// rows that are as long as possible.
namespace stowage::kernels::onnx_ops {

template <std::size_t inputs>
struct Walk {
  Shape sizes{};                        ///< The last is the length of a row.
  std::array<Shape, inputs> strides{};  ///< In elements of each input; as many as sizes.

  [[nodiscard]] std::int64_t row() const { return sizes.back(); }
  [[nodiscard]] std::int64_t step(std::size_t i) const { return strides[i].back(); }
};

/// Merges dimensions that are contiguous in every input, and drops those of one element.
template <std::size_t inputs>
[[nodiscard]] Walk<inputs> merged(const Shape& sizes, const std::array<Shape, inputs>& strides) {
  Walk<inputs> walk;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    bool follows = !walk.sizes.empty();
    for (std::size_t i = 0; i < inputs && follows; ++i)
      follows = walk.strides[i].back() == strides[i][d] * sizes[d];
    if (follows) {
      walk.sizes.back() *= sizes[d];
    } else {
      walk.sizes.push_back(sizes[d]);
    }
    for (std::size_t i = 0; i < inputs; ++i) {
      if (follows) walk.strides[i].pop_back();
      walk.strides[i].push_back(strides[i][d]);
    }
  }
  if (walk.sizes.empty()) {
    walk.sizes = {1};
    for (Shape& own : walk.strides) own = {0};
  }
  return walk;
}

/// Strides of a broadcast input: 0 where it has one element and the output several. Refuses inputs that
/// cannot be broadcast.
[[nodiscard]] inline Shape broadcast_strides(const Shape& input, const Shape& output) {
  if (input.size() > output.size()) refuse("{} is not broadcast to {}", show(input), show(output));
  const Shape own = strides_of(input);
  const std::size_t missing = output.size() - input.size();
  Shape strides(output.size(), 0);
  for (std::size_t d = 0; d < input.size(); ++d) {
    if (input[d] == output[d + missing]) {
      strides[d + missing] = input[d] == 1 ? 0 : own[d];
    } else if (input[d] != 1) {
      refuse("{} is not broadcast to {}", show(input), show(output));
    }
  }
  return strides;
}

template <std::size_t inputs>
[[nodiscard]] Walk<inputs> broadcast(const std::array<Shape, inputs>& shapes, const Shape& output) {
  std::array<Shape, inputs> strides;
  for (std::size_t i = 0; i < inputs; ++i) strides[i] = broadcast_strides(shapes[i], output);
  return merged(output, strides);
}

/// Calls row(at, from) for every row: its first place in the output (`at`) and in the inputs (`from`).
template <std::size_t inputs, typename Row>
void for_each_row(const Walk<inputs>& walk, std::array<std::int64_t, inputs> from, const Row& row) {
  const std::size_t outer = walk.sizes.size() - 1;
  for (const std::int64_t size : walk.sizes) {
    if (size == 0) return;
  }
  Shape place(outer, 0);
  for (std::int64_t at = 0;; at += walk.row()) {
    row(at, from);
    std::size_t d = outer;
    for (; d > 0; --d) {
      const std::size_t axis = d - 1;
      ++place[axis];
      for (std::size_t i = 0; i < inputs; ++i) from[i] += walk.strides[i][axis];
      if (place[axis] < walk.sizes[axis]) break;
      for (std::size_t i = 0; i < inputs; ++i) from[i] -= walk.strides[i][axis] * place[axis];
      place[axis] = 0;
    }
    if (d == 0) return;
  }
}

template <std::size_t inputs, typename Row>
void for_each_row(const Walk<inputs>& walk, const Row& row) {
  for_each_row(walk, std::array<std::int64_t, inputs>{}, row);
}

}  // namespace stowage::kernels::onnx_ops
