// A kernel moves over the dimensions from the third on; the output size of each depends on kernel size,
// dilation, stride and padding. A size that is not known stays unknown; ranks must fit.

#include <algorithm>
#include <optional>
#include <string_view>

#include "model/window_places.h"
#include "operators/shapes.h"

namespace stowage::operators::shapes {
namespace {

/// The attributes of a window over several axes.
struct Moves {
  Shape strides;
  Shape sizes;   ///< Of the window, including dilation.
  Shape begins;  ///< Padding before; `ends`: after.
  Shape ends;
  bool is_same;  ///< Padding makes the output as large as the input, divided by the stride.
};

/// The kernel moves over the dimensions of the input from the third on.
Moves moves_of(const NodeContext& node, std::size_t input_rank, const Shape& kernel) {
  const std::size_t rank = kernel.size();
  if (input_rank != rank + 2) misfit("the kernel does not fit the input's rank ", input_rank);
  const Shape dilations = node.integer_list("dilations").value_or(Shape(rank, 1));
  Shape pads = node.integer_list("pads").value_or(Shape(2 * rank, 0));
  Moves moves{.strides = node.integer_list("strides").value_or(Shape(rank, 1)),
              .sizes = {},
              .begins = {},
              .ends = {},
              .is_same = false};
  if (moves.strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank)
    misfit("strides, dilations or pads do not fit the kernel");
  const std::string_view policy = node.text("auto_pad", "NOTSET");
  if (policy != "NOTSET") pads.assign(2 * rank, 0);
  moves.is_same = policy.starts_with("SAME");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  moves.begins.assign(pads.begin(), middle);
  moves.ends.assign(middle, pads.end());
  for (std::size_t d = 0; d < rank; ++d) {
    if (moves.strides[d] <= 0 || dilations[d] <= 0 || kernel[d] <= 0)
      misfit("strides, dilations and kernel must be positive");
    moves.sizes.push_back(sum_of(product_of(kernel[d] - 1, dilations[d]), 1));
  }
  return moves;
}

/// The number of kernel places on each axis that it moves over.
Dims places_of(const NodeContext& node, const Dims& dims, const Shape& kernel) {
  const Moves moves = moves_of(node, dims.size(), kernel);
  Dims places;
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    const Dim& extent = dims[d + 2];
    const std::int64_t stride = moves.strides[d];
    if (!extent) {
      places.emplace_back();
    } else if (moves.is_same) {
      places.emplace_back(*extent / stride + (*extent % stride == 0 ? 0 : 1));
    } else {
      const std::int64_t padded = sum_of(*extent, sum_of(moves.begins[d], moves.ends[d]));
      const std::int64_t free = sum_of(padded, -moves.sizes[d]);
      if (free < 0) misfit("window of ", moves.sizes[d], " is larger than the padded input of ", padded);
      places.emplace_back(model::window_places({.free = free,
                                                .stride = stride,
                                                .inside = sum_of(*extent, moves.begins[d]),
                                                .ceils = node.integer("ceil_mode", 0) != 0}));
    }
  }
  return places;
}

/// The kernel in the last dimensions of weights; none if one of them is not known.
std::optional<Shape> kernel_of(const NodeContext& node, std::size_t weights) {
  const Dims* const dims = node.dims(weights);
  if (dims == nullptr) return std::nullopt;
  if (dims->size() < 2) misfit("weights of rank ", dims->size(), " have no kernel");
  return concrete_shape(Dims(dims->begin() + 2, dims->end()));
}

/// The dimensions with channels second, if an attribute says that they are last.
Dims channels_second(const NodeContext& node, Dims dims) {
  if (node.integer("channels_last", 0) != 0 && dims.size() > 2)
    std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return dims;
}

Dims channels_where_they_were(const NodeContext& node, Dims dims) {
  if (node.integer("channels_last", 0) != 0 && dims.size() > 2)
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return dims;
}

/// Weights of [outputs, channels of a group, ...].
void expect_channels(const NodeContext& node, std::size_t weights, const Dim& channels) {
  if (!node.always_runs()) return;
  const Dims& dims = *node.dims(weights);
  const std::int64_t groups = node.integer("group", 1);
  if (groups < 1) misfit("there are ", groups, " groups");
  const Dim wanted = product_of(dims[1], Dim(groups));
  if (wanted && channels && *wanted != *channels)
    misfit("the weights are for ", *wanted, " channels, but the input has ", *channels);
  if (dims[0] && *dims[0] % groups != 0)
    misfit("the weights make ", *dims[0], " channels, which are not those of ", groups, " groups");
}

void expect_bias(const NodeContext& node, std::size_t bias, const Dim& channels) {
  const Dims* const dims = node.dims(bias);
  if (dims == nullptr || dims->size() != 1 || !node.always_runs()) return;  // a DeformConv has offsets there
  const Dim& given = dims->front();
  if (given && channels && *given != *channels)
    misfit("the bias is for ", *given, " channels, but the weights make ", *channels);
}

void convolve(NodeContext& node, std::size_t weights, int elem_type) {
  const Dims* const input = node.dims(0);
  const auto kernel = kernel_of(node, weights);
  std::optional<Dims> result;
  if (input != nullptr && kernel) {
    if (node.integer_list("kernel_shape").value_or(*kernel) != *kernel)
      misfit("kernel_shape is not that of the weights");
    const Dims dims = channels_second(node, *input);
    Dims moved = places_of(node, dims, *kernel);
    expect_channels(node, weights, dims[1]);
    moved.insert(moved.begin(), {dims[0], node.dims(weights)->front()});
    result = channels_where_they_were(node, std::move(moved));
  }
  node.set_output(0, elem_type, result);
}

}  // namespace

void pool(NodeContext& node) {
  const Dims* const input = node.dims(0);
  std::optional<Dims> result;
  if (input != nullptr) {
    const auto kernel = node.integer_list("kernel_shape");
    if (!kernel) misfit("kernel_shape is missing");
    Dims dims = channels_second(node, *input);
    const Dims places = places_of(node, dims, *kernel);
    std::ranges::copy(places, dims.begin() + 2);
    result = channels_where_they_were(node, std::move(dims));
  }
  node.set_output(0, node.elem_type(0), result);
}

/// One value for each channel.
void global_pool(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  if (dims) {
    if (dims->size() < 2) misfit("the input is of rank ", dims->size(), ", expected at least 2");
    *dims = channels_second(node, *dims);
    std::fill(dims->begin() + 2, dims->end(), 1);
    *dims = channels_where_they_were(node, *dims);
  }
  node.set_output(0, node.elem_type(0), dims);
}

void convolution(NodeContext& node) {
  convolve(node, 1, node.elem_type(0));
  expect_bias(node, 2, dim_at(node.dims(1), 0));
}

void integer_convolution(NodeContext& node) { convolve(node, 1, element::int32); }

void quantized_convolution(NodeContext& node) { convolve(node, 3, node.elem_type(7)); }

void transposed_convolution(NodeContext& node) {
  const Dims* const input = node.dims(0);
  const auto kernel = kernel_of(node, 1);
  node.set_output(0, node.elem_type(0), std::nullopt);
  if (input == nullptr || !kernel) return;
  const Moves moves = moves_of(node, input->size(), *kernel);
  const auto given = node.integer_list("output_shape");
  const Shape more = node.integer_list("output_padding").value_or(Shape(kernel->size(), 0));
  if (more.size() != kernel->size() || given.value_or(*kernel).size() != kernel->size())
    misfit("output_shape or output_padding does not fit the kernel");
  Dims result{(*input)[0], product_of((*node.dims(1))[1], Dim(node.integer("group", 1)))};
  if (const Dim& wanted = node.dims(1)->front();
      node.always_runs() && wanted && (*input)[1] && *wanted != *(*input)[1])
    misfit("the weights are for ", *wanted, " channels, but the input has ", *(*input)[1]);
  expect_bias(node, 2, result[1]);
  for (std::size_t d = 0; d < kernel->size(); ++d) {
    const Dim& extent = (*input)[d + 2];
    const std::int64_t padding = sum_of(moves.begins[d], moves.ends[d]);
    const std::int64_t window = sum_of(sum_of(moves.sizes[d], more[d]), -padding);
    const Dim moved = product_of(Dim(moves.strides[d]), moves.is_same ? extent : sum_of(extent, Dim(-1)));
    result.push_back(given ? Dim((*given)[d]) : moves.is_same ? moved : sum_of(moved, Dim(window)));
  }
  node.set_output(0, node.elem_type(0), result);
}

/// Second output: the index of each maximum.
void max_pool(NodeContext& node) {
  pool(node);
  if (node.outputs().size() > 1) node.set_output(1, element::int64, node.outputs()[0].dims);
}

/// The inverse of a max pool, unless an input gives another shape.
void max_unpool(NodeContext& node) {
  const Dims* const input = node.dims(0);
  const auto kernel = node.integer_list("kernel_shape");
  std::optional<Dims> result;
  if (const auto given = node.integers(2)) {
    result.emplace(given->begin(), given->end());
  } else if (input != nullptr && kernel && !node.has(2)) {
    const Moves moves = moves_of(node, input->size(), *kernel);
    result = Dims{(*input)[0], (*input)[1]};
    for (std::size_t d = 0; d < kernel->size(); ++d) {
      const Dim moved = product_of(Dim(moves.strides[d]), sum_of((*input)[d + 2], Dim(-1)));
      const std::int64_t padding = sum_of(moves.begins[d], moves.ends[d]);
      result->push_back(sum_of(moved, Dim(sum_of(moves.sizes[d], -padding))));
    }
  }
  node.set_output(0, node.elem_type(0), result);
}

/// One image of a given size for each region of interest.
void region_pool(NodeContext& node) {
  const Dims* const input = node.dims(0);
  const Dims* const regions = node.dims(1);
  const auto pooled = node.integer_list("pooled_shape");
  std::optional<Dims> result;
  if (input != nullptr && regions != nullptr) {
    if (input->size() != 4 || regions->size() != 2 || !pooled || pooled->size() != 2)
      misfit("input, regions or pooled_shape are not of rank 4, 2 and 2 elements");
    result = Dims{(*regions)[0], (*input)[1], (*pooled)[0], (*pooled)[1]};
  }
  node.set_output(0, node.elem_type(0), result);
}

void region_align(NodeContext& node) {
  const Dims* const input = node.dims(0);
  const Dims* const regions = node.dims(1);
  std::optional<Dims> result;
  if (input != nullptr && regions != nullptr) {
    if (input->size() != 4 || regions->size() != 2) misfit("input or regions are not of rank 4 and 2");
    result =
        Dims{(*regions)[0], (*input)[1], node.integer("output_height", 1), node.integer("output_width", 1)};
  }
  node.set_output(0, node.elem_type(0), result);
}

/// Columns of blocks become images again.
void column_to_image(NodeContext& node) {
  const Dims* const input = node.dims(0);
  const auto image = node.integers(1);
  const auto block = node.integers(2);
  std::optional<Dims> result;
  if (input != nullptr && image && block) {
    if (input->size() != 3) misfit("the input is of rank ", input->size(), ", not 3");
    const Dim size = product_of(Dims(block->begin(), block->end()), 0, block->size());
    if (*size <= 0) misfit("the block has ", *size, " elements");
    result = Dims{(*input)[0], (*input)[1] ? Dim(*(*input)[1] / *size) : Dim()};
    result->insert(result->end(), image->begin(), image->end());
  }
  node.set_output(0, node.elem_type(0), result);
}

}  // namespace stowage::operators::shapes
