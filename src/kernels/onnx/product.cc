// Matrix products. Cost: one multiplication for each term of each element. Reals of 16 bits are summed as
// float32, in separate memory.

#include "kernels/onnx/product.h"

#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {

namespace {

/// A matrix for each index of a batch, and the distances of its elements and of the matrices.
struct Matrices {
  Shape batch{};
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t row = 1;
  std::int64_t column = 1;
  std::int64_t next = 1;  ///< From one matrix to that of the next index.
};

/// The shape has two dimensions or more.
Matrices matrices_of(const Shape& shape, MatrixOrder order) {
  const std::size_t last = shape.size() - 1;
  const auto batch = shape.begin() + (order.has_batch_inside ? 1 : 0);
  Matrices it{.batch = Shape(batch, batch + extent(last - 1)),
              .rows = order.has_batch_inside ? shape[0] : shape[last - 1],
              .columns = shape[last],
              .row = order.has_batch_inside ? count_of(shape, 1, shape.size()) : shape[last],
              .next = order.has_batch_inside ? shape[last] : shape[last - 1] * shape[last]};
  if (order.is_transposed) {
    std::swap(it.rows, it.columns);
    std::swap(it.row, it.column);
  }
  return it;
}

/// Of the batch, in elements.
Shape strides_of(const Matrices& matrices, const Shape& batch) {
  Shape strides = broadcast_strides(matrices.batch, batch);
  for (std::int64_t& stride : strides) stride *= matrices.next;
  return strides;
}

}  // namespace

MatrixOrder matrix_order_of(const Attributes& attributes, char operand) {
  return {.is_transposed = attributes.integer(std::string("trans") + operand, 0) != 0,
          .has_batch_inside = attributes.integer(std::string("transBatch") + operand, 0) != 0};
}

MatrixProducts matrix_products_of(const Shape& a, const Shape& b, const Shape& output, MatrixOrder order_a,
                                  MatrixOrder order_b) {
  if (a.empty() || b.empty()) refuse("a scalar is no matrix");
  const Matrices left = a.size() == 1 ? matrices_of({1, a[0]}, {}) : matrices_of(a, order_a);
  const Matrices right = b.size() == 1 ? matrices_of({b[0], 1}, {}) : matrices_of(b, order_b);
  if (left.columns != right.rows) refuse("{} times {} is not defined", show(a), show(b));
  Shape own;
  if (a.size() > 1) own.push_back(left.rows);
  if (b.size() > 1) own.push_back(right.columns);
  if (output.size() < own.size() || !std::equal(own.begin(), own.end(), output.end() - extent(own.size())))
    refuse("{} times {} is not {}", show(a), show(b), show(output));
  const Shape batch(output.begin(), output.end() - extent(own.size()));
  return {.one = {.rows = left.rows,
                  .columns = right.columns,
                  .terms = left.columns,
                  .a_row = left.row,
                  .a_column = left.column,
                  .b_row = right.row,
                  .b_column = right.column},
          .batch = batch,
          .a_strides = strides_of(left, batch),
          .b_strides = strides_of(right, batch)};
}

namespace {

/// The place of a row of sums: in the output itself, or in separate memory.
template <typename Sum, typename Element>
Sum* sums_at(const Pointers& pointers, Element* to) {
  if constexpr (std::is_same_v<Sum, Element>) {
    static_cast<void>(pointers);
    return to;
  } else {
    static_cast<void>(to);
    return reinterpret_cast<Sum*>(pointers.scratch);
  }
}

/// Calls multiply(start in a, start in b, start in the output) for each pair of matrices.
template <typename Multiply>
void for_matrices(const MatrixProducts& products, const Walk<2>& walk, const Multiply& multiply) {
  const std::int64_t size = products.one.rows * products.one.columns;
  for_each_row(walk, [&](std::int64_t at, const std::array<std::int64_t, 2>& from) {
    for (std::int64_t i = 0; i < walk.row(); ++i)
      multiply(from[0] + i * walk.step(0), from[1] + i * walk.step(1), (at + i) * size);
  });
}

Kernel multiply(const Signature& signature, const MatrixProducts& products, float alpha) {
  const Argument& a = input_of(signature, 0);
  expect_dtype(input_of(signature, 1), a.dtype, "the second input");
  expect_dtype(output_of(signature), a.dtype, "the output");
  const Walk<2> walk = merged<2>(products.batch, {products.a_strides, products.b_strides});
  Kernel kernel = for_type(a.dtype, floats + integers, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      using Sum = Value<Element>;
      const auto same = [](const Element& x, std::int64_t) { return value_of(x); };
      const MatrixProduct& p = products.one;
      for_matrices(products, walk, [&](std::int64_t at_a, std::int64_t at_b, std::int64_t at) {
        auto* to = pointers.output<Element>(0) + at;
        for (std::int64_t i = 0; i < p.rows; ++i, to += p.columns) {
          Sum* const row = sums_at<Sum>(pointers, to);
          std::fill_n(row, p.columns, Sum{0});
          add_product_row(p, i, pointers.input<Element>(0) + at_a, pointers.input<Element>(1) + at_b, row,
                          same, same);
          for (std::int64_t j = 0; j < p.columns; ++j) {
            to[j] = element_of<Element>(
                alpha == 1 ? row[j]
                           : element_of<Sum>(static_cast<double>(alpha) * static_cast<double>(row[j])));
          }
        }
      });
    }};
  });
  if (bits_of(a.dtype) == 16) kernel.scratch = products.one.columns * extent(sizeof(float));
  return kernel;
}

Kernel matrix_product(const Signature& signature) {
  return multiply(signature,
                  matrix_products_of(input_of(signature, 0).shape, input_of(signature, 1).shape,
                                     output_of(signature).shape),
                  1);
}

Kernel fused_matrix_product(const Signature& signature) {
  const Attributes& attributes = signature.attributes;
  return multiply(signature,
                  matrix_products_of(input_of(signature, 0).shape, input_of(signature, 1).shape,
                                     output_of(signature).shape, matrix_order_of(attributes, 'A'),
                                     matrix_order_of(attributes, 'B')),
                  attributes.real("alpha", 1));
}

/// alpha * a * b + beta * c, where c is broadcast to the product.
Kernel general_product(const Signature& signature) {
  const Argument& a = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_rank(a, 2, "the first input");
  expect_rank(input_of(signature, 1), 2, "the second input");
  expect_dtype(input_of(signature, 1), a.dtype, "the second input");
  expect_dtype(output, a.dtype, "the output");
  const auto& attributes = signature.attributes;
  const MatrixProduct p =
      matrix_products_of(a.shape, input_of(signature, 1).shape, output.shape,
                         matrix_order_of(attributes, 'A'), matrix_order_of(attributes, 'B'))
          .one;
  expect_rank(output, 2, "the output");
  Shape c_strides{0, 0};
  if (signature.has_input(2)) {
    expect_dtype(*signature.inputs[2], a.dtype, "the third input");
    c_strides = broadcast_strides(signature.inputs[2]->shape, output.shape);
  }
  const float alpha = attributes.real("alpha", 1);
  const float beta = attributes.real("beta", 1);
  Kernel kernel = for_type(a.dtype, floats + integers, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      using Sum = Value<Element>;
      const auto factor = element_of<Sum>(alpha);
      const auto bias_factor = element_of<Sum>(beta);
      const auto scaled = [factor](const Element& x, std::int64_t) { return product(factor, value_of(x)); };
      const auto same = [](const Element& x, std::int64_t) { return value_of(x); };
      const auto* const c = pointers.input<Element>(2);
      auto* to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < p.rows; ++i, to += p.columns) {
        Sum* const row = sums_at<Sum>(pointers, to);
        for (std::int64_t j = 0; j < p.columns; ++j) {
          row[j] =
              c == nullptr ? Sum{0} : product(bias_factor, value_of(c[i * c_strides[0] + j * c_strides[1]]));
        }
        add_product_row(p, i, pointers.input<Element>(0), pointers.input<Element>(1), row, scaled, same);
        if constexpr (!std::is_same_v<Sum, Element>)
          std::transform(row, row + p.columns, to, element_of<Element, Sum>);
      }
    }};
  });
  if (bits_of(a.dtype) == 16) kernel.scratch = p.columns * extent(sizeof(float));
  return kernel;
}

}  // namespace

TablePart product_kernels() {
  return {{"Gemm", general_product},
          {"MatMul", matrix_product},
          {"com.microsoft.FusedMatMul", fused_matrix_product},
          {"com.microsoft.TransposeMatMul", fused_matrix_product}};
}

}  // namespace stowage::kernels::onnx_ops
