#pragma once

#include <string_view>

#include "kernels/onnx/operands.h"

namespace stowage::kernels::onnx_ops {

/// Rows of heads of batches, and the distances between them. Heads are a dimension of their own, or parts of
/// the last one.
struct Heads {
  std::int64_t batches = 0;
  std::int64_t heads = 0;
  std::int64_t rows = 0;
  std::int64_t size = 0;  ///< Of a row.
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;

  [[nodiscard]] std::int64_t at(std::int64_t in_batch, std::int64_t in_head, std::int64_t in_row) const {
    return in_batch * batch + in_head * head + in_row * row;
  }
};

/// `heads` counts if they are parts of a dimension.
[[nodiscard]] inline Heads heads_of(const Argument& argument, std::int64_t heads, std::string_view what) {
  const Shape& shape = argument.shape;
  if (shape.size() == 4) {
    const std::int64_t head = shape[2] * shape[3];
    return {.batches = shape[0],
            .heads = shape[1],
            .rows = shape[2],
            .size = shape[3],
            .batch = shape[1] * head,
            .head = head,
            .row = shape[3]};
  }
  if (shape.size() != 3) refuse("{} are {}, expected rank 3 or 4", what, show(shape));
  if (heads < 1 || shape[2] % heads != 0) refuse("{} heads do not divide {} {}", heads, what, show(shape));
  const std::int64_t size = shape[2] / heads;
  return {.batches = shape[0],
          .heads = heads,
          .rows = shape[1],
          .size = size,
          .batch = shape[1] * shape[2],
          .head = size,
          .row = shape[2]};
}

}  // namespace stowage::kernels::onnx_ops
