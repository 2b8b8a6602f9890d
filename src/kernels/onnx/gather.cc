// Operators that read at places given by indices. Indices exist only at run time: one out of range ends the
// run.

#include <algorithm>

#include "kernels/onnx/indices.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {
namespace {

Kernel gather(const Signature& signature) {
  const Argument& data = input_of(signature, 0);
  const Argument& indices = input_of(signature, 1);
  const Argument& output = output_of(signature);
  const std::size_t axis = axis_of(signature.attributes.integer("axis", 0), data.shape.size());
  Shape shape(data.shape.begin(), data.shape.begin() + extent(axis));
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), data.shape.begin() + extent(axis) + 1, data.shape.end());
  expect_dtype(output, data.dtype, "the output");
  expect_shape(output, shape, "the output");
  const Split split = split_at(data.shape, axis);
  const std::int64_t picks = count_of(indices.shape);
  return for_indices(indices, [&]<typename Index>() {
    return for_size(data.dtype, [&]<typename Element>() -> Kernel {
      return {.run = [=](const Pointers& pointers) {
        const auto* const from = pointers.input<Element>(0);
        const auto* const at = pointers.input<Index>(1);
        auto* to = pointers.output<Element>(0);
        for (std::int64_t i = 0; i < split.outer; ++i) {
          for (std::int64_t j = 0; j < picks; ++j) {
            const std::int64_t place = index_in(at[j], split.size, "Gather");
            to = std::copy_n(from + (i * split.size + place) * split.inner, split.inner, to);
          }
        }
      }};
    });
  });
}

/// Every element is at the place of its index, except on one axis, where the index gives the place.
Kernel gather_elements(const Signature& signature) {
  const Argument& data = input_of(signature, 0);
  const Argument& indices = input_of(signature, 1);
  const Argument& output = output_of(signature);
  const std::size_t axis = axis_of(signature.attributes.integer("axis", 0), data.shape.size());
  expect_rank(indices, data.shape.size(), "indices");
  expect_dtype(output, data.dtype, "the output");
  expect_shape(output, indices.shape, "the output");
  Shape strides = strides_of(data.shape);
  const std::int64_t step = strides[axis];
  const std::int64_t size = data.shape[axis];
  strides[axis] = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (d != axis && indices.shape[d] > data.shape[d])
      refuse("indices {} do not fit {}", show(indices.shape), show(data.shape));
  }
  const Walk<1> walk = merged<1>(indices.shape, {strides});
  return for_indices(indices, [&]<typename Index>() {
    return for_size(data.dtype, [&]<typename Element>() -> Kernel {
      return {.run = [=](const Pointers& pointers) {
        const auto* const from = pointers.input<Element>(0);
        const auto* const at = pointers.input<Index>(1);
        auto* const to = pointers.output<Element>(0);
        for_each_row(walk, [&](std::int64_t row, const std::array<std::int64_t, 1>& place) {
          for (std::int64_t i = 0; i < walk.row(); ++i) {
            const std::int64_t picked = index_in(at[row + i], size, "GatherElements");
            to[row + i] = from[place[0] + i * walk.step(0) + picked * step];
          }
        });
      }};
    });
  });
}

/// Tuples of indices select slices, separately for each batch of the first dimensions.
Kernel gather_tuples(const Signature& signature) {
  const Argument& data = input_of(signature, 0);
  const Argument& indices = input_of(signature, 1);
  const Argument& output = output_of(signature);
  const std::size_t rank = data.shape.size();
  const std::int64_t batch_dims = signature.attributes.integer("batch_dims", 0);
  if (batch_dims < 0 || batch_dims >= extent(std::min(rank, indices.shape.size())))
    refuse("batch_dims {} is not below the ranks", batch_dims);
  const std::size_t batch = index(batch_dims);
  const std::int64_t depth = indices.shape.back();
  if (depth < 0 || depth > extent(rank - batch))
    refuse("tuples of {} indices for {}", depth, show(data.shape));
  for (std::size_t d = 0; d < batch; ++d) {
    if (indices.shape[d] != data.shape[d]) refuse("batches differ in size");
  }
  expect_dtype(output, data.dtype, "the output");
  expect_shape(output, sliced_shape(indices.shape, data.shape, batch + index(depth)), "the output");
  const Shape shape = data.shape;
  const Shape strides = strides_of(shape);
  const std::int64_t batches = count_of(shape, 0, batch);
  const std::int64_t batch_size = count_of(shape, batch, rank);
  const std::int64_t tuples = count_of(indices.shape, batch, indices.shape.size() - 1);
  const std::int64_t slice = count_of(shape, batch + index(depth), rank);
  return for_indices(indices, [&]<typename Index>() {
    return for_size(data.dtype, [&]<typename Element>() -> Kernel {
      return {.run = [=](const Pointers& pointers) {
        const auto* const from = pointers.input<Element>(0);
        const auto* at = pointers.input<Index>(1);
        auto* to = pointers.output<Element>(0);
        for (std::int64_t i = 0; i < batches * tuples; ++i) {
          std::int64_t place = i / tuples * batch_size;
          for (std::size_t d = batch; d < batch + index(depth); ++d)
            place += index_in(*at++, shape[d], "GatherND") * strides[d];
          to = std::copy_n(from + place, slice, to);
        }
      }};
    });
  });
}

/// One of two values: is the place along the new axis the index? Indices out of range match nothing.
Kernel one_hot(const Signature& signature) {
  const Argument& indices = input_of(signature, 0);
  const Argument& values = input_of(signature, 2);
  const Argument& output = output_of(signature);
  const std::size_t rank = indices.shape.size() + 1;
  const std::size_t axis = axis_of(signature.attributes.integer("axis", -1), rank);
  expect_dtype(values, output.dtype, "values");
  expect_shape(values, {2}, "values");
  expect_rank(output, rank, "the output");
  Shape expected = indices.shape;
  expected.insert(expected.begin() + extent(axis), output.shape[axis]);
  expect_shape(output, expected, "the output");
  const Split split = split_at(output.shape, axis);
  return for_type(indices.dtype, numbers, [&]<typename Index>() {
    return for_size(output.dtype, [&]<typename Element>() -> Kernel {
      return {.run = [=](const Pointers& pointers) {
        const auto* const at = pointers.input<Index>(0);
        const auto* const off_on = pointers.input<Element>(2);
        auto* const to = pointers.output<Element>(0);
        for (std::int64_t i = 0; i < split.outer; ++i) {
          for (std::int64_t k = 0; k < split.inner; ++k) {
            const auto given = element_of<std::int64_t>(value_of(at[i * split.inner + k]));
            const std::int64_t hot = given < 0 ? given + split.size : given;
            for (std::int64_t j = 0; j < split.size; ++j)
              to[(i * split.size + j) * split.inner + k] = off_on[j == hot ? 1 : 0];
          }
        }
      }};
    });
  });
}

}  // namespace

TablePart gather_kernels() {
  return {{"Gather", gather},
          {"GatherElements", gather_elements},
          {"GatherND", gather_tuples},
          {"OneHot", one_hot}};
}

}  // namespace stowage::kernels::onnx_ops
