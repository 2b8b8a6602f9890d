// Operators that read their input in another order: Transpose, Slice, Expand, Tile, DepthToSpace,
// SpaceToDepth, and similar ones. Each is a walk over the output with strides in the input, which may be 0 or
// negative: one loop serves all.

#include <algorithm>
#include <numeric>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/slice.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// Clamps a place on an axis; a negative one counts from the end.
std::int64_t clamped(std::int64_t place, std::int64_t size, std::int64_t low, std::int64_t high) {
  return std::clamp(place < 0 ? place + size : place, low, high);
}

}  // namespace

Slicing slicing_of(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const std::size_t rank = input.shape.size();
  const auto starts = integers_at(signature, "starts", 1);
  const auto ends = integers_at(signature, "ends", 2);
  if (!starts || !ends || starts->size() != ends->size()) refuse("starts and ends are not as many");
  std::vector<std::int64_t> every(starts->size());
  std::iota(every.begin(), every.end(), 0);
  const auto axes = integers_at(signature, "axes", 3).value_or(every);
  const auto steps = integers_at(signature, 4).value_or(std::vector<std::int64_t>(starts->size(), 1));
  if (axes.size() != starts->size() || steps.size() != starts->size() ||
      axes_of(axes, rank).size() != starts->size())
    refuse("axes and steps are not as many as starts");
  Slicing it{.begins = Shape(rank, 0), .steps = Shape(rank, 1), .shape = input.shape};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = axis_of(axes[i], rank);
    const std::int64_t size = input.shape[axis];
    if (steps[i] == 0) refuse("a step is 0");
    if (size == 0) continue;
    // A step longer than the axis selects at most one element.
    const std::int64_t step = std::clamp(steps[i], -size - 1, size + 1);
    const bool is_down = step < 0;
    const std::int64_t begin = clamped((*starts)[i], size, 0, is_down ? size - 1 : size);
    const std::int64_t end = clamped((*ends)[i], size, is_down ? -1 : 0, is_down ? size - 1 : size);
    const std::int64_t way = is_down ? begin - end : end - begin;
    const std::int64_t pace = is_down ? -step : step;
    it.shape[axis] = way <= 0 ? 0 : (way + pace - 1) / pace;
    it.begins[axis] = begin;
    it.steps[axis] = step;
  }
  return it;
}

namespace {

/// Output element = input element at `offset` plus the strides.
Kernel pick(DType dtype, const Shape& sizes, const Shape& strides, std::int64_t offset = 0) {
  const Walk<1> walk = merged<1>(sizes, {strides});
  return for_size(dtype, [&]<typename Element>() -> Kernel {
    return {.run = [walk, offset](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      auto* const to = pointers.output<Element>(0);
      const std::int64_t step = walk.step(0);
      for_each_row(walk, {offset}, [&](std::int64_t at, const std::array<std::int64_t, 1>& place) {
        const Element* const row = from + place[0];
        for (std::int64_t i = 0; i < walk.row(); ++i) to[at + i] = row[i * step];
      });
    }};
  });
}

Kernel transpose(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  const std::size_t rank = input.shape.size();
  std::vector<std::int64_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  order = signature.attributes.integers("perm", order);
  if (order.size() != rank || axes_of(order, rank).size() != rank)
    refuse("perm has {} axes, expected {}", order.size(), rank);
  const Shape own = strides_of(input.shape);
  Shape strides;
  Shape shape;
  for (const std::int64_t axis : order) {
    strides.push_back(own[axis_of(axis, rank)]);
    shape.push_back(input.shape[axis_of(axis, rank)]);
  }
  expect_copy(input, output);
  expect_shape(output, shape, "the output");
  return pick(input.dtype, shape, strides);
}

Kernel slice(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  const Slicing slicing = slicing_of(signature);
  Shape strides = strides_of(input.shape);
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    offset += slicing.begins[d] * strides[d];
    strides[d] *= slicing.steps[d];
  }
  expect_dtype(output, input.dtype, "the output");
  expect_shape(output, slicing.shape, "the output");
  return pick(input.dtype, slicing.shape, strides, count_of(slicing.shape) == 0 ? 0 : offset);
}

Kernel expand(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_dtype(output, input.dtype, "the output");
  return pick(input.dtype, output.shape, broadcast_strides(input.shape, output.shape));
}

/// Each axis is two in the output: the repeats, with stride 0 in the input, and the axis itself.
Kernel tile(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_dtype(output, input.dtype, "the output");
  expect_rank(output, input.shape.size(), "the output");
  const Shape own = strides_of(input.shape);
  Shape sizes;
  Shape strides;
  for (std::size_t d = 0; d < own.size(); ++d) {
    const std::int64_t size = input.shape[d];
    if (size == 0 ? output.shape[d] != 0 : output.shape[d] % size != 0)
      refuse("{} is not {} repeated", show(output.shape), show(input.shape));
    sizes.insert(sizes.end(), {size == 0 ? 0 : output.shape[d] / size, size});
    strides.insert(strides.end(), {0, own[d]});
  }
  return pick(input.dtype, sizes, strides);
}

/// Shared by both operators between depth and space; a block is `size` x `size`.
struct Blocks {
  std::int64_t batch;
  std::int64_t depth;  ///< Of the deep side, divided by the elements of a block.
  std::int64_t size;
  std::int64_t height;  ///< Of the deep side.
  std::int64_t width;
};

Blocks blocks_of(const Signature& signature, bool is_deep_input) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_rank(input, 4, "the input");
  expect_copy(input, output);
  const std::int64_t size = signature.attributes.integer("blocksize", 0);
  if (size <= 0 || size > (std::int64_t{1} << 30)) refuse("blocksize is {}", size);
  const Shape& wide = is_deep_input ? output.shape : input.shape;
  const Shape& deep = is_deep_input ? input.shape : output.shape;
  if (wide.size() != 4 || deep.size() != 4 || deep[1] % (size * size) != 0 || wide[2] % size != 0 ||
      wide[3] % size != 0)
    refuse("blocksize {} does not divide {} or {}", size, show(deep), show(wide));
  const Blocks blocks{
      .batch = deep[0], .depth = deep[1] / (size * size), .size = size, .height = deep[2], .width = deep[3]};
  if (wide[0] != blocks.batch || wide[1] != blocks.depth || wide[2] / size != blocks.height ||
      wide[3] / size != blocks.width)
    refuse("{} is not {} with blocks of {}", show(wide), show(deep), size);
  return blocks;
}

/// In DCR the depth is (row in block, column in block, rest), in CRD (rest, row, column).
bool is_dcr(const Signature& signature) {
  const std::string mode = signature.attributes.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") refuse("mode '{}' is neither DCR nor CRD", mode);
  return mode == "DCR";
}

Kernel depth_to_space(const Signature& signature) {
  const Blocks b = blocks_of(signature, true);
  const std::int64_t plane = b.height * b.width;
  const bool rest_is_last = is_dcr(signature);
  const std::int64_t column = (rest_is_last ? b.depth : 1) * plane;
  const std::int64_t rest = (rest_is_last ? 1 : b.size * b.size) * plane;
  return pick(input_of(signature, 0).dtype, {b.batch, b.depth, b.height, b.size, b.width, b.size},
              {b.depth * b.size * b.size * plane, rest, b.width, b.size * column, 1, column});
}

/// Has a mode since set 28; before it was DCR.
Kernel space_to_depth(const Signature& signature) {
  const Blocks b = blocks_of(signature, false);
  const std::int64_t row = b.width * b.size;
  const std::int64_t plane = row * b.height * b.size;
  const DType dtype = input_of(signature, 0).dtype;
  if (is_dcr(signature)) {
    return pick(dtype, {b.batch, b.size, b.size, b.depth, b.height, b.width},
                {b.depth * plane, row, 1, plane, row * b.size, b.size});
  }
  return pick(dtype, {b.batch, b.depth, b.size, b.size, b.height, b.width},
              {b.depth * plane, plane, row, 1, row * b.size, b.size});
}

/// Reverses the first elements along the time axis, as many as each batch's length gives.
Kernel reverse_sequence(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& lengths = input_of(signature, 1);
  const std::int64_t time = signature.attributes.integer("time_axis", 0);
  const std::int64_t batch = signature.attributes.integer("batch_axis", 1);
  if (time + batch != 1 || time * batch != 0) refuse("time_axis and batch_axis are not 0 and 1");
  if (input.shape.size() < 2) refuse("the input {} has no time and batch", show(input.shape));
  expect_copy(input, output_of(signature));
  expect_dtype(lengths, DType::int64, "sequence_lens");
  expect_shape(lengths, {input.shape[index(batch)]}, "sequence_lens");
  const std::int64_t times = input.shape[index(time)];
  const std::int64_t batches = input.shape[index(batch)];
  const std::int64_t inner = count_of(input.shape, 2, input.shape.size());
  const std::int64_t time_step = (time == 0 ? batches : 1) * inner;
  const std::int64_t batch_step = (batch == 0 ? times : 1) * inner;
  return for_size(input.dtype, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      const auto* const lens = pointers.input<std::int64_t>(1);
      auto* const to = pointers.output<Element>(0);
      for (std::int64_t b = 0; b < batches; ++b) {
        const std::int64_t length = length_in(lens[b], times, "ReverseSequence");
        for (std::int64_t t = 0; t < times; ++t) {
          const std::int64_t source = t < length ? length - 1 - t : t;
          std::copy_n(from + b * batch_step + source * time_step, inner, to + b * batch_step + t * time_step);
        }
      }
    }};
  });
}

/// Keeps one side of a diagonal, which may change between runs.
Kernel triangle(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const std::size_t rank = input.shape.size();
  if (rank < 2) refuse("the input {} is no matrix", show(input.shape));
  expect_copy(input, output_of(signature));
  if (signature.has_input(1)) {
    expect_dtype(*signature.inputs[1], DType::int64, "k");
    if (count_of(signature.inputs[1]->shape) != 1) refuse("k is not a scalar");
  }
  const bool is_upper = signature.attributes.integer("upper", 1) != 0;
  const std::int64_t rows = input.shape[rank - 2];
  const std::int64_t columns = input.shape[rank - 1];
  const std::int64_t matrices = count_of(input.shape, 0, rank - 2);
  return for_size(input.dtype, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const given = pointers.input<std::int64_t>(1);
      const std::int64_t k = given == nullptr ? 0 : std::clamp(*given, -rows, columns);
      const auto* const from = pointers.input<Element>(0);
      auto* const to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < matrices * rows; ++i) {
        const std::int64_t diagonal = i % rows + k;
        for (std::int64_t j = 0; j < columns; ++j) {
          const bool is_kept = is_upper ? j >= diagonal : j <= diagonal;
          to[i * columns + j] = is_kept ? from[i * columns + j] : Element{};
        }
      }
    }};
  });
}

}  // namespace

TablePart view_kernels() {
  return {{"DepthToSpace", depth_to_space},
          {"Expand", expand},
          {"ReverseSequence", reverse_sequence},
          {"Slice",
           [](const Signature& it) {
             return with_values(it, {1, 2, 3, 4}, slice);
           }},
          {"SpaceToDepth", space_to_depth},
          {"Tile", tile},
          {"Transpose", transpose},
          {"Trilu", triangle}};
}

}  // namespace stowage::kernels::onnx_ops
