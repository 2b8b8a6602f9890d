// GATHER, GATHER_ND, DYNAMIC_UPDATE_SLICE and the UNSORTED_SEGMENT operators, whose places are known only at run
// time; FILL, ZEROS_LIKE, RANGE and SHAPE, whose output does not depend on the input's elements.
//
// Cost: bytes of the output. Source: the definitions of the TFLite operators.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "kernels/tflite/families.h"
#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/remap.h"
#include "stowage/error.h"

namespace stowage::kernels {
namespace {

/// An index read at run time.
std::int64_t checked_index(std::int64_t index, std::int64_t extent, std::string_view type) {
  if (index < 0 || index >= extent)
    throw Error(std::string(type), fmt::format("has index {}, expected one from 0 to {}", index, extent - 1));
  return index;
}

/// Calls `use` with the tag of an index type.
template <typename Use>
Kernel for_index(DType dtype, const Use& use) {
  if (dtype == DType::int32) return use(TypeTag<std::int32_t>{});
  if (dtype == DType::int64) return use(TypeTag<std::int64_t>{});
  refuse("its indices are {}", name_of(dtype));
}

Kernel prepare_gather(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 1);
  expect_moved(operands);
  const Shape& shape = operands.input(0).shape;
  const Shape& indices = operands.input(1).shape;
  const std::size_t axis = axis_of(operands.integer("axis"), shape.size());
  const std::int64_t batch_dims = operands.integer("batch_dims");
  const auto batched = static_cast<std::size_t>(batch_dims);
  if (batch_dims < 0 || batched > axis || batched > indices.size() ||
      !std::equal(shape.begin(), shape.begin() + batch_dims, indices.begin()))
    refuse("its {} batch dimensions do not agree", batch_dims);
  Shape expected(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis));
  expected.insert(expected.end(), indices.begin() + batch_dims, indices.end());
  expected.insert(expected.end(), shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end());
  operands.expect_shape(operands.output(), expected, "output");
  const std::int64_t batches = count_of(shape, 0, batched);
  const std::int64_t outer = count_of(shape, batched, axis);
  const std::int64_t extent = shape[axis];
  const std::int64_t count = count_of(indices, batched, indices.size());
  const auto run_bytes = static_cast<std::int64_t>(element_size(operands.output().dtype)) *
                         count_of(shape, axis + 1, shape.size());
  return for_index(operands.input(1).dtype, [&]<typename Index>(TypeTag<Index>) {
    return Kernel{.run = [=](const Pointers& at) {
      std::byte* output = at.outputs[0];
      for (std::int64_t b = 0; b < batches; ++b)
        for (std::int64_t o = 0; o < outer; ++o)
          for (std::int64_t i = 0; i < count; ++i, output += run_bytes) {
            const std::int64_t index = checked_index(at.input<Index>(1)[b * count + i], extent, "GATHER");
            if (run_bytes > 0)
              std::memcpy(output, at.inputs[0] + ((b * outer + o) * extent + index) * run_bytes,
                          static_cast<std::size_t>(run_bytes));
          }
    }};
  });
}

Kernel prepare_gather_nd(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 1);
  expect_moved(operands);
  const Shape& shape = operands.input(0).shape;
  const Shape& indices = operands.input(1).shape;
  if (indices.empty() || indices.back() > static_cast<std::int64_t>(shape.size()))
    refuse("its indices do not fit {} dimensions", shape.size());
  const auto depth = static_cast<std::size_t>(indices.back());
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), shape.begin() + static_cast<std::ptrdiff_t>(depth), shape.end());
  operands.expect_shape(operands.output(), expected, "output");
  const std::int64_t count = count_of(indices, 0, indices.size() - 1);
  const auto bytes = static_cast<std::int64_t>(element_size(operands.output().dtype));
  const std::int64_t run_bytes = bytes * count_of(shape, depth, shape.size());
  return for_index(operands.input(1).dtype, [&]<typename Index>(TypeTag<Index>) {
    return Kernel{.run = [=, strides = strides_of(shape)](const Pointers& at) {
      for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t from = 0;
        for (std::size_t d = 0; d < depth; ++d) {
          const std::int64_t index =
              at.input<Index>(1)[i * static_cast<std::int64_t>(depth) + static_cast<std::int64_t>(d)];
          from += checked_index(index, shape[d], "GATHER_ND") * strides[d];
        }
        if (run_bytes > 0)
          std::memcpy(at.outputs[0] + i * run_bytes, at.inputs[0] + from * bytes,
                      static_cast<std::size_t>(run_bytes));
      }
    }};
  });
}

/// Moves the start so that the update fits inside. The output may be at the first input's place.
Kernel prepare_dynamic_update_slice(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(3, 1);
  expect_moved(operands);
  operands.expect_alike(1);
  const Shape& shape = operands.input(0).shape;
  const Shape& update = operands.input(1).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  operands.expect_shape(operands.output(), shape, "output");
  if (shape.empty() || update.size() != shape.size() || count_of(operands.input(2).shape) != rank)
    refuse("its update has {} dimensions and {} begins, its input {}", update.size(),
           count_of(operands.input(2).shape), rank);
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (update[d] > shape[d]) refuse("its update has extent {} of {}", update[d], shape[d]);
  const auto bytes = static_cast<std::int64_t>(element_size(operands.output().dtype));
  const std::int64_t rows = count_of(update, 0, update.size() - 1);
  const auto all_bytes = static_cast<std::size_t>(count_of(shape) * bytes);
  const auto row_bytes = static_cast<std::size_t>(update.back() * bytes);
  return for_index(operands.input(2).dtype, [&]<typename Index>(TypeTag<Index>) {
    return Kernel{.run = [=, strides = strides_of(shape)](const Pointers& at) {
      if (at.inputs[0] != at.outputs[0] && all_bytes > 0) std::memcpy(at.outputs[0], at.inputs[0], all_bytes);
      if (row_bytes == 0) return;
      std::int64_t begin = 0;
      for (std::size_t d = 0; d < shape.size(); ++d)
        begin += std::clamp<std::int64_t>(at.input<Index>(2)[d], 0, shape[d] - update[d]) * strides[d];
      for (std::int64_t row = 0; row < rows; ++row) {
        std::int64_t to = begin;
        std::int64_t rest = row;
        for (std::size_t d = shape.size() - 1; d-- > 0;) {
          to += rest % update[d] * strides[d];
          rest /= update[d];
        }
        std::memcpy(at.outputs[0] + to * bytes, at.inputs[1] + row * static_cast<std::int64_t>(row_bytes),
                    row_bytes);
      }
    }};
  });
}

/// FILL: the output's shape, the element.
Kernel prepare_fill(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 1);
  operands.expect_alike(1);
  expect_same_quantization(operands.input(1), operands.output());
  if (count_of(operands.input(1).shape) != 1) refuse("it fills with several elements");
  const std::int64_t count = count_of(operands.output().shape);
  return for_size(element_size(operands.output().dtype), [&]<typename Element>(TypeTag<Element>) {
    return Kernel{.run = [count](const Pointers& at) {
      std::fill_n(at.output<Element>(0), count, *at.input<Element>(1));
    }};
  });
}

Kernel prepare_zeros_like(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  operands.expect_shape(operands.output(), operands.input(0).shape, "output");
  const auto bytes = static_cast<std::size_t>(bytes_of(operands.output().dtype, operands.output().shape));
  return {.run = [bytes](const Pointers& at) { std::fill_n(at.outputs[0], bytes, std::byte{0}); }};
}

/// RANGE: start, limit, step. Real numbers are added up, as TensorFlow Lite does.
template <typename Number>
Kernel range_kernel(std::int64_t count) {
  return {.run = [count](const Pointers& at) {
    Number next = *at.input<Number>(0);
    const auto limit = static_cast<double>(*at.input<Number>(1));
    const Number step = *at.input<Number>(2);
    const double steps = std::ceil((limit - static_cast<double>(next)) / static_cast<double>(step));
    if (steps != static_cast<double>(count) && !(count == 0 && steps <= 0))
      throw Error("RANGE", fmt::format("gives {:g} numbers, expected {}", steps, count));
    for (std::int64_t i = 0; i < count; ++i) {
      at.output<Number>(0)[i] = next;
      if (i + 1 < count) next += step;
    }
  }};
}

Kernel prepare_range(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(3, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    operands.expect_alike(i);
    if (count_of(operands.input(i).shape) != 1) refuse("its input {} is not one number", i);
  }
  if (operands.output().shape.size() != 1)
    refuse("its output {} is no vector", show(operands.output().shape));
  const std::int64_t count = operands.output().shape[0];
  if (operands.output().dtype == DType::float32) return range_kernel<float>(count);
  if (operands.output().dtype == DType::int32) return range_kernel<std::int32_t>(count);
  refuse_type(operands);
}

Kernel prepare_shape(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  const Shape shape = operands.input(0).shape;
  operands.expect_shape(operands.output(), {static_cast<std::int64_t>(shape.size())}, "output");
  return for_index(operands.output().dtype, [&]<typename Index>(TypeTag<Index>) {
    return Kernel{.run = [shape](const Pointers& at) {
      for (std::size_t d = 0; d < shape.size(); ++d) at.output<Index>(0)[d] = static_cast<Index>(shape[d]);
    }};
  });
}

// Segments

enum class Joining : std::uint8_t { sum, product, most, least };

template <Joining joining, typename Number>
Number joined(Number a, Number b) {
  if constexpr (joining == Joining::most) return a > b ? a : b;
  if constexpr (joining == Joining::least) return a < b ? a : b;
  if constexpr (std::is_integral_v<Number>)
    return joining == Joining::sum ? wrapping_add(a, b) : wrapping_multiply(a, b);
  return joining == Joining::sum ? a + b : a * b;
}

template <Joining joining, typename Number>
constexpr Number first_of_segment = joining == Joining::sum       ? Number{0}
                                    : joining == Joining::product ? Number{1}
                                    : joining == Joining::most    ? std::numeric_limits<Number>::lowest()
                                                                  : std::numeric_limits<Number>::max();

/// Each run of data is joined to that of its segment; of a negative one, to none.
template <Joining joining, typename Number>
Kernel segments_kernel(const Operands& operands) {
  const Shape& data = operands.input(0).shape;
  const Shape& ids = operands.input(1).shape;
  const std::int64_t segments = operands.output().shape.at(0);
  const std::int64_t run = count_of(data, ids.size(), data.size());
  const std::int64_t count = count_of(ids);
  return {.run = [=, type = std::string(operands.type())](const Pointers& at) {
    auto* const output = at.output<Number>(0);
    std::fill_n(output, segments * run, first_of_segment<joining, Number>);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t segment = at.input<std::int32_t>(1)[i];
      if (segment < 0) continue;
      const std::int64_t begin = checked_index(segment, segments, type) * run;
      for (std::int64_t j = 0; j < run; ++j)
        output[begin + j] = joined<joining>(output[begin + j], at.input<Number>(0)[i * run + j]);
    }
  }};
}

template <Joining joining>
Kernel prepare_segments(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(3, 1);
  operands.expect_alike(0);
  const Shape& data = operands.input(0).shape;
  const Shape& ids = operands.input(1).shape;
  if (operands.input(1).dtype != DType::int32)
    refuse("its segments are {}", name_of(operands.input(1).dtype));
  if (ids.size() > data.size() || !std::equal(ids.begin(), ids.end(), data.begin()))
    refuse("its segments do not fit its data");
  Shape expected{operands.output().shape.empty() ? 0 : operands.output().shape[0]};
  expected.insert(expected.end(), data.begin() + static_cast<std::ptrdiff_t>(ids.size()), data.end());
  operands.expect_shape(operands.output(), expected, "output");
  if (operands.output().dtype == DType::float32) return segments_kernel<joining, float>(operands);
  if (operands.output().dtype == DType::int32) return segments_kernel<joining, std::int32_t>(operands);
  refuse("element type {} is not supported", name_of(operands.output().dtype));
}

}  // namespace

TablePart indexing_kernels() {
  return {{"DYNAMIC_UPDATE_SLICE", prepare_dynamic_update_slice},
          {"FILL", prepare_fill},
          {"GATHER", prepare_gather},
          {"GATHER_ND", prepare_gather_nd},
          {"RANGE", prepare_range},
          {"SHAPE", prepare_shape},
          {"UNSORTED_SEGMENT_MAX", prepare_segments<Joining::most>},
          {"UNSORTED_SEGMENT_MIN", prepare_segments<Joining::least>},
          {"UNSORTED_SEGMENT_PROD", prepare_segments<Joining::product>},
          {"UNSORTED_SEGMENT_SUM", prepare_segments<Joining::sum>},
          {"ZEROS_LIKE", prepare_zeros_like}};
}

}  // namespace stowage::kernels
