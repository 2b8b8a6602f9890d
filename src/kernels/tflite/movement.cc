// Operators whose output consists of input elements and fill values. remap.h defines which elements; this
// file derives that from the operators' options and constant inputs.
//
// Cost: output elements, and the sum of the dimensions. Source: the definitions of the TFLite operators.

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/tflite/families.h"
#include "kernels/tflite/remap.h"
#include "stowage/error.h"

namespace stowage::kernels {
namespace {

using Integers = std::vector<std::int64_t>;

/// RESHAPE, SQUEEZE, EXPAND_DIMS: the same bytes, which may already be in place.
Kernel prepare_copy(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_alike(0);
  const std::int64_t count = count_of(operands.output().shape);
  if (count_of(operands.input(0).shape) != count)
    refuse("its input has {} elements, its output {}", count_of(operands.input(0).shape), count);
  const auto bytes = static_cast<std::size_t>(bytes_of(operands.output().dtype, operands.output().shape));
  return {.run = [bytes](const Pointers& at) {
    if (bytes > 0) std::memmove(at.outputs[0], at.inputs[0], bytes);
  }};
}

Kernel prepare_transpose(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 1);
  expect_moved(operands);
  const Shape& shape = operands.input(0).shape;
  const Integers order = operands.constants(1, "order");
  const Integers strides = strides_of(shape);
  if (order.size() != shape.size())
    refuse("its order has {} dimensions, its input {}", order.size(), shape.size());
  Remap remap;
  Shape expected;
  std::vector<bool> is_used(shape.size(), false);
  for (const std::int64_t axis : order) {
    const std::size_t d = axis_of(axis, shape.size());
    if (is_used[d]) refuse("its order has dimension {} twice", d);
    is_used[d] = true;
    remap.add(shape[d], strides[d]);
    expected.push_back(shape[d]);
  }
  operands.expect_shape(operands.output(), expected, "output");
  return remap_kernel(std::move(remap), operands);
}

/// The padding before and after each dimension.
std::vector<std::pair<std::int64_t, std::int64_t>> paddings_of(const Operands& operands) {
  const Shape& shape = operands.input(0).shape;
  const Integers numbers = operands.constants(1, "paddings");
  if (numbers.size() != 2 * shape.size())
    refuse("its paddings are {} numbers for {} dimensions", numbers.size(), shape.size());
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  Shape expected;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    constexpr std::int64_t most = std::int64_t{1} << 40;
    const auto [before, behind] = std::pair{numbers[2 * d], numbers[2 * d + 1]};
    if (before < 0 || behind < 0 || before > most || behind > most)
      refuse("its paddings of dimension {} are {} and {}", d, before, behind);
    result.emplace_back(before, behind);
    expected.push_back(before + shape[d] + behind);
  }
  operands.expect_shape(operands.output(), expected, "output");
  return result;
}

Remap padding_remap(const Operands& operands) {
  const Shape& shape = operands.input(0).shape;
  const Integers strides = strides_of(shape);
  const auto paddings = paddings_of(operands);
  Remap remap;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    auto& terms = remap.terms.emplace_back();
    terms.assign(static_cast<std::size_t>(paddings[d].first), nowhere);
    for (std::int64_t i = 0; i < shape[d]; ++i) terms.push_back(i * strides[d]);
    terms.insert(terms.end(), static_cast<std::size_t>(paddings[d].second), nowhere);
  }
  return remap;
}

Kernel prepare_pad(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 1);
  expect_moved(operands);
  return remap_kernel(padding_remap(operands), operands, zero_of(operands.output()));
}

/// PADV2: the fill value is the third input.
Kernel prepare_pad_v2(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(3, 1);
  expect_moved(operands);
  operands.expect_alike(2);
  if (count_of(operands.input(2).shape) != 1)
    refuse("its filling has {} elements, expected 1", count_of(operands.input(2).shape));
  const std::size_t bytes = element_size(operands.output().dtype);
  for_size(bytes, [](auto) {});
  return {.run = [remap = padding_remap(operands), bytes](const Pointers& at) {
    move_elements(remap, bytes, at.inputs[0], at.inputs[2], at.outputs[0]);
  }};
}

/// The element for a place before or after a dimension: mirrored at the edge; `edge` is 1 if the edge is not
/// repeated.
std::int64_t mirrored(std::int64_t place, std::int64_t extent, std::int64_t edge) {
  if (place < 0) return -place - 1 + edge;
  return place < extent ? place : 2 * extent - place - 1 - edge;
}

Kernel prepare_mirror_pad(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 1);
  expect_moved(operands);
  const std::int64_t mode = operands.integer("mode");
  if (mode != 0 && mode != 1) refuse("its mode is {}", mode);
  const std::int64_t edge = mode == 0 ? 1 : 0;
  const Shape& shape = operands.input(0).shape;
  const Integers strides = strides_of(shape);
  const auto paddings = paddings_of(operands);
  Remap remap;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto [before, behind] = paddings[d];
    if (std::max(before, behind) > shape[d] - edge)
      refuse("its paddings of dimension {} are {} and {} of {}", d, before, behind, shape[d]);
    auto& terms = remap.terms.emplace_back();
    for (std::int64_t i = -before; i < shape[d] + behind; ++i)
      terms.push_back(mirrored(i, shape[d], edge) * strides[d]);
  }
  return remap_kernel(std::move(remap), operands);
}

Kernel prepare_slice(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(3, 1);
  expect_moved(operands);
  const Shape& shape = operands.input(0).shape;
  const Integers begin = operands.constants(1, "begin");
  Integers size = operands.constants(2, "size");
  if (begin.size() != shape.size() || size.size() != shape.size())
    refuse("its begin and size have {} and {} numbers for {} dimensions", begin.size(), size.size(),
           shape.size());
  const Integers strides = strides_of(shape);
  Remap remap;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (begin[d] < 0 || begin[d] > shape[d]) refuse("it begins at {} of {}", begin[d], shape[d]);
    if (size[d] == -1) size[d] = shape[d] - begin[d];
    if (size[d] < 0 || size[d] > shape[d] - begin[d])
      refuse("it takes {} from {} on of {}", size[d], begin[d], shape[d]);
    remap.add(size[d], strides[d]);
    remap.begin += begin[d] * strides[d];
  }
  operands.expect_shape(operands.output(), size, "output");
  return remap_kernel(std::move(remap), operands);
}

/// The elements of one dimension that STRIDED_SLICE selects.
struct Steps {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

struct StridedOptions {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t stride = 1;
  bool masks_begin = false;
  bool masks_end = false;
  bool shrinks = false;
};

/// Clamps begin and end to the dimension; a shrunk dimension keeps the element at its start.
Steps steps_of(const StridedOptions& it, std::int64_t extent) {
  if (it.stride == 0) refuse("its stride is 0");
  const bool is_forward = it.stride > 0;
  const std::int64_t least = is_forward ? 0 : -1;
  const std::int64_t most = is_forward ? extent : extent - 1;
  const auto within = [&](std::int64_t place) {
    return std::clamp(place < 0 ? place + extent : place, least, most);
  };
  const std::int64_t begin = it.masks_begin ? (is_forward ? 0 : extent - 1) : within(it.begin);
  if (it.shrinks) {
    if (begin < 0 || begin >= extent) refuse("it takes element {} of {}", it.begin, extent);
    return {begin, 1, 1};
  }
  const std::int64_t end = it.masks_end ? (is_forward ? extent : -1) : within(it.end);
  const std::int64_t distance = is_forward ? end - begin : begin - end;
  const std::int64_t stride = is_forward ? it.stride : -it.stride;
  return {begin, it.stride, distance <= 0 ? 0 : (distance + stride - 1) / stride};
}

/// What STRIDED_SLICE knows beside the numbers of its inputs.
struct StridedSlice {
  Shape shape{};
  std::uint64_t masks_begin = 0;  ///< A bit for each dimension.
  std::uint64_t masks_end = 0;
  std::uint64_t shrinks = 0;

  /// The places of the output's elements. Refuses numbers that give another shape than that.
  [[nodiscard]] Remap places(const Integers& begin, const Integers& end, const Integers& strides,
                             const Shape& output) const {
    if (begin.size() > shape.size() || end.size() != begin.size() || strides.size() != begin.size())
      refuse("its begin, end and strides have {}, {} and {} numbers for {} dimensions", begin.size(),
             end.size(), strides.size(), shape.size());
    const auto is_set = [](std::uint64_t mask, std::size_t d) { return d < 32 && ((mask >> d) & 1U) != 0; };
    const Integers apart = strides_of(shape);
    Remap remap;
    Shape expected;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      Steps steps{.count = shape[d]};
      if (d < begin.size())
        steps = steps_of(
            {begin[d], end[d], strides[d], is_set(masks_begin, d), is_set(masks_end, d), is_set(shrinks, d)},
            shape[d]);
      auto& terms = remap.terms.emplace_back();
      for (std::int64_t i = 0; i < steps.count; ++i)
        terms.push_back((steps.begin + i * steps.step) * apart[d]);
      if (d >= begin.size() || !is_set(shrinks, d)) expected.push_back(steps.count);
    }
    if (expected != output) refuse("its output is {}, expected {}", show(output), show(expected));
    return remap;
  }
};

/// Numbers that are known only when it runs.
Kernel slice_with_values(const StridedSlice& it, const Operands& operands) {
  std::vector<std::size_t> counts;
  for (std::size_t i = 1; i < 4; ++i) {
    if (operands.input(i).dtype != DType::int32)
      refuse("its input {} is {}", i, name_of(operands.input(i).dtype));
    counts.push_back(static_cast<std::size_t>(count_of(operands.input(i).shape)));
  }
  const std::size_t bytes = element_size(operands.output().dtype);
  return {.run = [it, counts, bytes, shape = operands.output().shape](const Pointers& at) {
    const auto numbers = [&](std::size_t i) {
      const auto* const first = at.input<std::int32_t>(i);
      return Integers(first, first + counts[i - 1]);
    };
    try {
      move_elements(it.places(numbers(1), numbers(2), numbers(3), shape), bytes, at.inputs[0], nullptr,
                    at.outputs[0]);
    } catch (const Unsupported& unsupported) {
      throw Error("STRIDED_SLICE", unsupported.reason);
    }
  }};
}

Kernel prepare_strided_slice(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(4, 1);
  expect_moved(operands);
  if (operands.flag("ellipsis_mask") || operands.flag("new_axis_mask") || operands.flag("offset"))
    refuse("it has an ellipsis, a new axis or an end that counts from the begin");
  const auto mask = [&](std::string_view name) { return static_cast<std::uint64_t>(operands.integer(name)); };
  const StridedSlice it{.shape = operands.input(0).shape,
                        .masks_begin = mask("begin_mask"),
                        .masks_end = mask("end_mask"),
                        .shrinks = mask("shrink_axis_mask")};
  if (!operands.input(1).is_constant || !operands.input(2).is_constant || !operands.input(3).is_constant)
    return slice_with_values(it, operands);
  return remap_kernel(it.places(operands.constants(1, "begin"), operands.constants(2, "end"),
                                operands.constants(3, "strides"), operands.output().shape),
                      operands);
}

/// REVERSE_V2: axes along which the last element comes first.
Kernel prepare_reverse(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 1);
  expect_moved(operands);
  const Shape& shape = operands.input(0).shape;
  operands.expect_shape(operands.output(), shape, "output");
  std::vector<bool> is_turned(shape.size(), false);
  for (const std::int64_t axis : operands.constants(1, "axes")) is_turned[axis_of(axis, shape.size())] = true;
  const Integers strides = strides_of(shape);
  Remap remap;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    remap.add(shape[d], strides[d]);
    if (is_turned[d]) std::ranges::reverse(remap.terms.back());
  }
  return remap_kernel(std::move(remap), operands);
}

Kernel prepare_tile(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 1);
  expect_moved(operands);
  const Shape& shape = operands.input(0).shape;
  const Integers times = operands.constants(1, "multiples");
  if (times.size() != shape.size())
    refuse("it has {} multiples for {} dimensions", times.size(), shape.size());
  const Integers strides = strides_of(shape);
  Remap remap;
  Shape expected;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    constexpr std::int64_t most = std::int64_t{1} << 20;
    if (times[d] < 0 || times[d] > most) refuse("a multiple is {}", times[d]);
    remap.add(times[d], 0);
    remap.add(shape[d], strides[d]);
    expected.push_back(times[d] * shape[d]);
  }
  operands.expect_shape(operands.output(), expected, "output");
  return remap_kernel(std::move(remap), operands);
}

Kernel prepare_broadcast_to(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 1);
  expect_moved(operands);
  const Shape& from = operands.input(0).shape;
  const Shape& to = operands.output().shape;
  const Integers strides = strides_of(from);
  if (from.size() > to.size()) refuse("its input has {} dimensions, its output {}", from.size(), to.size());
  Remap remap;
  for (std::size_t d = 0; d < to.size(); ++d) {
    const std::size_t missing = to.size() - from.size();
    const std::int64_t extent = d < missing ? 1 : from[d - missing];
    if (extent != 1 && extent != to[d])
      refuse("its input has extent {} where its output has {}", extent, to[d]);
    remap.add(to[d], extent == 1 ? 0 : strides[d - missing]);
  }
  return remap_kernel(std::move(remap), operands);
}

/// Square blocks, from adjacent places to channels or back.
template <bool is_to_depth>
Kernel prepare_depth(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  expect_moved(operands);
  const std::int64_t block = operands.integer("block_size");
  const Shape& in = operands.input(0).shape;
  constexpr std::int64_t largest = 1 << 15;
  if (in.size() != 4 || block < 1 || block > largest)
    refuse("its input has {} dimensions and its blocks {}", in.size(), block);
  const Integers strides = strides_of(in);
  Remap remap;
  remap.add(in[0], strides[0]);
  if (is_to_depth) {
    if (in[1] % block != 0 || in[2] % block != 0)
      refuse("blocks of {} do not divide {} by {}", block, in[1], in[2]);
    operands.expect_shape(operands.output(), {in[0], in[1] / block, in[2] / block, in[3] * block * block},
                          "output");
    remap.add(in[1] / block, strides[1] * block);
    remap.add(in[2] / block, strides[2] * block);
    remap.add(block, strides[1]);
    remap.add(block, strides[2]);
    remap.add(in[3], 1);
  } else {
    if (in[3] % (block * block) != 0) refuse("blocks of {} do not divide {} channels", block, in[3]);
    const std::int64_t depth = in[3] / (block * block);
    operands.expect_shape(operands.output(), {in[0], in[1] * block, in[2] * block, depth}, "output");
    remap.add(in[1], strides[1]);
    remap.add(block, block * depth);
    remap.add(in[2], strides[2]);
    remap.add(block, depth);
    remap.add(depth, 1);
  }
  return remap_kernel(std::move(remap), operands);
}

}  // namespace

TablePart movement_kernels() {
  return {{"BROADCAST_TO", prepare_broadcast_to},
          {"DENSIFY", prepare_copy},
          {"DEPTH_TO_SPACE", prepare_depth<false>},
          {"EXPAND_DIMS", prepare_copy},
          {"MIRROR_PAD", prepare_mirror_pad},
          {"PAD", prepare_pad},
          {"PADV2", prepare_pad_v2},
          {"RESHAPE", prepare_copy},
          {"SLICE", prepare_slice},
          {"SPACE_TO_DEPTH", prepare_depth<true>},
          {"SQUEEZE", prepare_copy},
          {"REVERSE_V2", prepare_reverse},
          {"STRIDED_SLICE", prepare_strided_slice},
          {"TILE", prepare_tile},
          {"TRANSPOSE", prepare_transpose}};
}

}  // namespace stowage::kernels
