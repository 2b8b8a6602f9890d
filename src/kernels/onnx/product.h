#pragma once

#include <algorithm>

#include "kernels/onnx/elements.h"

namespace stowage::kernels::onnx_ops {

/// The rows and columns of two matrices and their product, and the distances of their elements.
struct MatrixProduct {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t terms = 1;
  std::int64_t a_row = 1;
  std::int64_t a_column = 1;
  std::int64_t b_row = 1;
  std::int64_t b_column = 1;
};

/// Adds row i of a * b to `row`: each element of a's row is multiplied with a row of b, so that the innermost
/// loop runs along the result. `a_at` and `b_at` convert elements to values.
template <typename Sum, typename A, typename B, typename AtA, typename AtB>
void add_product_row(const MatrixProduct& p, std::int64_t i, const A* a, const B* b, Sum* row,
                     const AtA& a_at, const AtB& b_at) {
  if (p.b_column != 1) {
    // b is transposed: its columns are contiguous.
    for (std::int64_t j = 0; j < p.columns; ++j) {
      Sum total = row[j];
      for (std::int64_t k = 0; k < p.terms; ++k) {
        const Sum x = a_at(a[i * p.a_row + k * p.a_column], i);
        total = sum(total, product(x, static_cast<Sum>(b_at(b[k * p.b_row + j * p.b_column], j))));
      }
      row[j] = total;
    }
    return;
  }
  for (std::int64_t k = 0; k < p.terms; ++k) {
    const Sum x = a_at(a[i * p.a_row + k * p.a_column], i);
    const B* const from = b + k * p.b_row;
    for (std::int64_t j = 0; j < p.columns; ++j)
      row[j] = sum(row[j], product(x, static_cast<Sum>(b_at(from[j], j))));
  }
}

/// The matrices that a MatMul multiplies: pairs of the last two dimensions, the others broadcast.
struct MatrixProducts {
  MatrixProduct one{};
  Shape batch{};      ///< Of the output.
  Shape a_strides{};  ///< Of the batch, in elements.
  Shape b_strides{};
};

/// How the dimensions of matrices are ordered. Vectors have no order.
struct MatrixOrder {
  bool is_transposed = false;     ///< The last two dimensions are swapped.
  bool has_batch_inside = false;  ///< The first dimension belongs behind the batch.
};

/// Of an operand of FusedMatMul: 'A' or 'B'. It is the usual one where there are no such attributes.
[[nodiscard]] MatrixOrder matrix_order_of(const Attributes& attributes, char operand);

/// Checks that a * b has the output's shape. A vector is a matrix of one row (a) or column (b); the output
/// lacks that dimension.
[[nodiscard]] MatrixProducts matrix_products_of(const Shape& a, const Shape& b, const Shape& output,
                                                MatrixOrder order_a = {}, MatrixOrder order_b = {});

}  // namespace stowage::kernels::onnx_ops
