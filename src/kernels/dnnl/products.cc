// Matrix products: MatMul with broadcast batches, and Gemm. Transposed matrices only have other strides in
// oneDNN.

#include <fmt/format.h>

#include <algorithm>

#include "kernels/dnnl/operators.h"
#include "kernels/dnnl/window.h"

namespace stowage::kernels::fast {
namespace {

using Product = dnnl::matmul;

/// A matrix and its transpose share their elements.
[[nodiscard]] memory::desc matrix(const Shape& shape, bool is_transposed) {
  return is_transposed ? dense(shape).permute_axes({1, 0}) : dense(shape);
}

/// The shape with leading dimensions of 1 up to that rank.
[[nodiscard]] memory::dims padded(const Shape& shape, std::size_t rank) {
  memory::dims dimensions(rank - shape.size(), 1);
  dimensions.insert(dimensions.end(), shape.begin(), shape.end());
  return dimensions;
}

[[nodiscard]] bool is_spread(const memory::dims& from, const memory::dims& to) {
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d] != to[d] && from[d] != 1) return false;
  }
  return true;
}

/// Shapes of a product in which every operand has the same number of dimensions.
struct Shapes {
  memory::dims a{};
  memory::dims b{};
  memory::dims result{};
};

/// ONNX gives a list a leading dimension as the first operand, a trailing one as the second.
[[nodiscard]] Shapes shapes_of(Shape a, Shape b) {
  if (a.empty() || b.empty()) throw Unsupported{"an operand is a scalar"};
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const std::size_t rank = std::max(a.size(), b.size());
  Shapes shapes{padded(a, rank), padded(b, rank)};
  if (shapes.a[rank - 1] != shapes.b[rank - 2])
    throw Unsupported{fmt::format("{} columns and {} rows", shapes.a[rank - 1], shapes.b[rank - 2])};
  for (std::size_t d = 0; d + 2 < rank; ++d) shapes.result.push_back(std::max(shapes.a[d], shapes.b[d]));
  shapes.result.push_back(shapes.a[rank - 2]);
  shapes.result.push_back(shapes.b[rank - 1]);
  const auto batch = [&](const memory::dims& dimensions) {
    memory::dims of = dimensions;
    of[rank - 2] = shapes.result[rank - 2];
    of[rank - 1] = shapes.result[rank - 1];
    return of;
  };
  if (!is_spread(batch(shapes.a), shapes.result) || !is_spread(batch(shapes.b), shapes.result))
    throw Unsupported{"batches do not go together"};
  return shapes;
}

/// The result's shape in ONNX: without the dimensions added to lists.
[[nodiscard]] Shape expected_shape(const Shapes& shapes, std::size_t rank_of_a, std::size_t rank_of_b) {
  Shape shape = shapes.result;
  if (rank_of_b == 1) shape.pop_back();
  if (rank_of_a == 1) shape.erase(shape.end() - (rank_of_b == 1 ? 1 : 2));
  return shape;
}

/// Merges batches with one second matrix into one tall first matrix.
void join_batches(Shapes& shapes) {
  const std::size_t rank = shapes.b.size();
  const std::int64_t columns = shapes.b[rank - 1];
  if (count_of(shapes.b) != shapes.b[rank - 2] * columns) return;
  const std::int64_t inner = shapes.a[rank - 1];
  const std::int64_t rows = count_of(shapes.a) / inner;
  shapes = {{rows, inner}, {inner, columns}, {rows, columns}};
}

}  // namespace

Kernel matrix_product(const Signature& signature) {
  expect_floats(signature, {2, 2});
  Shapes shapes = shapes_of(input_shape(signature, 0), input_shape(signature, 1));
  expect_output(signature,
                expected_shape(shapes, input_shape(signature, 0).size(), input_shape(signature, 1).size()));
  join_batches(shapes);
  Assembly assembly(signature);
  const memory::desc a = dense(shapes.a);
  const memory::desc b = dense(shapes.b);
  const memory::desc result = dense(shapes.result);
  const Product::primitive_desc descriptor({a, b, result}, Assembly::attributes(), assembly.engine());
  assembly.add<Product>(descriptor, {{DNNL_ARG_SRC, assembly.input(0, a)},
                                     {DNNL_ARG_WEIGHTS, assembly.input(1, b)},
                                     {DNNL_ARG_DST, assembly.output(0, result)}});
  return assembly.finish();
}

Kernel gemm(const Signature& signature) {
  expect_floats(signature, {2, 3});
  const Attributes& attributes = signature.attributes;
  const float alpha = attributes.real("alpha", 1);
  const float beta = attributes.real("beta", 1);
  if (input_shape(signature, 0).size() != 2 || input_shape(signature, 1).size() != 2)
    throw Unsupported{"an operand is no matrix"};
  const memory::desc a = matrix(input_shape(signature, 0), attributes.integer("transA", 0) != 0);
  const memory::desc b = matrix(input_shape(signature, 1), attributes.integer("transB", 0) != 0);
  const memory::dims shape{a.dims()[0], b.dims()[1]};
  if (a.dims()[1] != b.dims()[0])
    throw Unsupported{fmt::format("{} columns and {} rows", a.dims()[1], b.dims()[0])};
  expect_output(signature, shape);

  Assembly assembly(signature);
  const memory::desc result = dense(shape);
  dnnl::primitive_attr how = Assembly::attributes();
  if (alpha != 1.0F) how.set_output_scales(0, {alpha});
  Assembly::Arguments arguments{{DNNL_ARG_SRC, assembly.input(0, a)},
                                {DNNL_ARG_WEIGHTS, assembly.input(1, b)},
                                {DNNL_ARG_DST, assembly.output(0, result)}};
  if (signature.has_input(2) && beta != 0.0F) {
    // An addition after the product: a bias would be scaled with it.
    if (beta != 1.0F || input_shape(signature, 2).size() > 2) throw Unsupported{"the addend is scaled"};
    const memory::dims addend = padded(input_shape(signature, 2), 2);
    if (!is_spread(addend, shape)) throw Unsupported{"the addend does not spread over the product"};
    dnnl::post_ops after;
    after.append_binary(dnnl::algorithm::binary_add, dense(addend));
    how.set_post_ops(after);
    arguments.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                           assembly.input(2, dense(addend)));
  }
  const Product::primitive_desc descriptor({a, b, result}, how, assembly.engine());
  assembly.add<Product>(descriptor, std::move(arguments));
  return assembly.finish();
}

}  // namespace stowage::kernels::fast
