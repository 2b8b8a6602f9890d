// Idea. A kernel moves over the dimensions from the third on; the output size of each depends on kernel size,
// dilation, stride and padding. libonnx's rules for these operators trust ranks and sizes that they have not
// checked, so these rules serve every operator set.

#include "import/onnx_windows.h"

#include <algorithm>
#include <string>

namespace stowage::import {
namespace {

using onnx::TensorProto;

/// The movement of a window along one axis.
struct Window {
  std::int64_t extent;  ///< Of the input.
  std::int64_t size;    ///< Including dilation.
  std::int64_t stride;
  std::int64_t begin;  ///< Padding before the input; `end`: after it.
  std::int64_t end;
  bool ceils;
  bool starts_inside;  ///< A window that hangs over the end may not begin in the padding there.
};

/// The number of places of the window.
std::int64_t places_of(const Window& window) {
  const std::int64_t padded = sum_or_fail(window.extent, sum_or_fail(window.begin, window.end));
  const std::int64_t free = sum_or_fail(padded, -window.size);
  if (free < 0)
    fail_shape_inference("window of ", window.size, " is larger than the padded input of ", padded);
  const std::int64_t steps = free / window.stride;
  const bool hangs_over = window.ceils && free % window.stride != 0;
  const bool has_start =
      !window.starts_inside || product_or_fail(steps + 1, window.stride) < window.extent + window.begin;
  return steps + (hangs_over && has_start ? 2 : 1);
}

/// The attributes of a window over several axes.
struct Moves {
  Shape strides;
  Shape sizes;   ///< Of the window, including dilation.
  Shape begins;  ///< Padding before; `ends`: after.
  Shape ends;
  bool is_same;  ///< Padding makes the output as large as the input, divided by the stride.
};

/// `shape` is that of the input; the kernel moves over its dimensions from the third on.
Moves moves_of(const NodeContext& node, const Shape& shape, const Shape& kernel) {
  const std::size_t rank = kernel.size();
  if (shape.size() != rank + 2)
    fail_shape_inference("the kernel does not fit the input's rank ", shape.size());
  const Shape dilations = node.integer_list("dilations").value_or(Shape(rank, 1));
  Shape pads = node.integer_list("pads").value_or(Shape(2 * rank, 0));
  Moves moves{.strides = node.integer_list("strides").value_or(Shape(rank, 1)),
              .sizes = {},
              .begins = {},
              .ends = {},
              .is_same = false};
  if (moves.strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank)
    fail_shape_inference("strides, dilations or pads do not fit the kernel");
  const onnx::AttributeProto* const auto_pad = node.getAttribute("auto_pad");
  const std::string policy = auto_pad == nullptr || auto_pad->s().empty() ? "NOTSET" : auto_pad->s();
  if (policy != "NOTSET") pads.assign(2 * rank, 0);
  moves.is_same = policy.starts_with("SAME");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  moves.begins.assign(pads.begin(), middle);
  moves.ends.assign(middle, pads.end());
  for (std::size_t d = 0; d < rank; ++d) {
    if (moves.strides[d] <= 0 || dilations[d] <= 0 || kernel[d] <= 0)
      fail_shape_inference("strides, dilations and kernel must be positive");
    moves.sizes.push_back(sum_or_fail(product_or_fail(kernel[d] - 1, dilations[d]), 1));
  }
  return moves;
}

/// The number of kernel places on each axis that it moves over. Operator sets 19 and 22 changed how windows
/// hang over the end.
Shape places_of(const NodeContext& node, const Shape& shape, const Shape& kernel) {
  const int first_that_starts_inside = node.node().op_type() == "MaxPool" ? 22 : 19;
  const Moves moves = moves_of(node, shape, kernel);
  Shape places;
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    const std::int64_t extent = shape[d + 2];
    const std::int64_t stride = moves.strides[d];
    places.push_back(moves.is_same
                         ? extent / stride + (extent % stride == 0 ? 0 : 1)
                         : places_of({.extent = extent,
                                      .size = moves.sizes[d],
                                      .stride = stride,
                                      .begin = moves.begins[d],
                                      .end = moves.ends[d],
                                      .ceils = node.integer("ceil_mode", 0) != 0,
                                      .starts_inside = node.version() >= first_that_starts_inside}));
  }
  return places;
}

void convolve(NodeContext& node, std::size_t weights, int elem_type) {
  const auto input = node.shape(0);
  const auto kernel = node.shape(weights);
  std::optional<Shape> result;
  if (input && kernel) {
    if (kernel->size() < 2) fail_shape_inference("weights of rank ", kernel->size(), " have no kernel");
    const Shape own(kernel->begin() + 2, kernel->end());
    if (node.integer_list("kernel_shape").value_or(own) != own)
      fail_shape_inference("kernel_shape is not that of the weights");
    result = places_of(node, *input, own);
    result->insert(result->begin(), {(*input)[0], (*kernel)[0]});
  }
  node.set_output(0, elem_type, result);
}

}  // namespace

void pool(NodeContext& node) {
  auto shape = node.shape(0);
  if (shape) {
    const auto kernel = node.integer_list("kernel_shape");
    if (!kernel) fail_shape_inference("kernel_shape is missing");
    const Shape places = places_of(node, *shape, *kernel);
    std::copy(places.begin(), places.end(), shape->begin() + 2);
  }
  node.set_output(0, node.elem_type(0), shape);
}

void convolution(NodeContext& node) { convolve(node, 1, node.elem_type(0)); }

void integer_convolution(NodeContext& node) { convolve(node, 1, TensorProto::INT32); }

void quantized_convolution(NodeContext& node) { convolve(node, 3, node.elem_type(7)); }

void transposed_convolution(NodeContext& node) {
  const auto input = node.shape(0);
  const auto weights = node.shape(1);
  node.set_output(0, node.elem_type(0), std::nullopt);
  if (!input || !weights) return;
  if (weights->size() < 2) fail_shape_inference("weights of rank ", weights->size(), " have no kernel");
  const Shape kernel(weights->begin() + 2, weights->end());
  const Moves moves = moves_of(node, *input, kernel);
  const auto given = node.integer_list("output_shape");
  const Shape more = node.integer_list("output_padding").value_or(Shape(kernel.size(), 0));
  if (more.size() != kernel.size() || given.value_or(kernel).size() != kernel.size())
    fail_shape_inference("output_shape or output_padding does not fit the kernel");
  Shape result{(*input)[0], product_or_fail((*weights)[1], node.integer("group", 1))};
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    const std::int64_t extent = (*input)[d + 2];
    const std::int64_t padding = sum_or_fail(moves.begins[d], moves.ends[d]);
    const std::int64_t window = sum_or_fail(sum_or_fail(moves.sizes[d], more[d]), -padding);
    const std::int64_t moved = product_or_fail(moves.strides[d], moves.is_same ? extent : extent - 1);
    result.push_back(given ? (*given)[d] : moves.is_same ? moved : sum_or_fail(moved, window));
  }
  node.set_output(0, node.elem_type(0), result);
}

/// Second output: the index of each maximum.
void max_pool(NodeContext& node) {
  pool(node);
  if (node.getNumOutputs() < 2) return;
  node.outputs()[1] = node.outputs()[0];
  node.outputs()[1].mutable_tensor_type()->set_elem_type(TensorProto::INT64);
}

/// The inverse of a max pool, unless an input gives another shape.
void max_unpool(NodeContext& node) {
  const auto input = node.shape(0);
  const auto kernel = node.integer_list("kernel_shape");
  node.set_output(0, node.elem_type(0), node.has(2) ? node.integers(2) : std::nullopt);
  if (!input || !kernel || node.has(2)) return;
  const Moves moves = moves_of(node, *input, *kernel);
  Shape result{(*input)[0], (*input)[1]};
  for (std::size_t d = 0; d < kernel->size(); ++d) {
    const std::int64_t moved = product_or_fail(moves.strides[d], (*input)[d + 2] - 1);
    const std::int64_t padding = sum_or_fail(moves.begins[d], moves.ends[d]);
    result.push_back(sum_or_fail(moved, sum_or_fail(moves.sizes[d], -padding)));
  }
  node.set_output(0, node.elem_type(0), result);
}

/// One image of a given size for each region of interest.
void region_pool(NodeContext& node) {
  const auto input = node.shape(0);
  const auto regions = node.shape(1);
  const auto pooled = node.integer_list("pooled_shape");
  std::optional<Shape> result;
  if (input && regions) {
    if (input->size() != 4 || regions->size() != 2 || !pooled || pooled->size() != 2)
      fail_shape_inference("input, regions or pooled_shape are not of rank 4, 2 and 2 elements");
    result = Shape{(*regions)[0], (*input)[1], (*pooled)[0], (*pooled)[1]};
  }
  node.set_output(0, node.elem_type(0), result);
}

}  // namespace stowage::import
