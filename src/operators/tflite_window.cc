// Rules of convolutions, pools and other operators on images. Images are [batch, height, width, channels].

#include <string>

#include "operators/tflite_shapes.h"

namespace stowage::operators::tflite_shapes {
namespace {

/// How a window moves along one axis.
struct Window {
  Dim taps{};
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
};

/// The places of a window on so many elements.
Dim places(const NodeContext& node, const Dim& size, const Window& window) {
  constexpr std::int64_t same = 0;
  constexpr std::int64_t valid = 1;
  const std::int64_t padding = node.integer("padding", same);
  if (window.stride < 1 || window.dilation < 1)
    misfit("a window has stride ", window.stride, " and dilation ", window.dilation, ", expected at least 1");
  if (!size) return std::nullopt;
  if (padding == same) return sum_of(*size, window.stride - 1) / window.stride;
  if (padding != valid) misfit("padding is ", padding, ", expected 0 or 1");
  if (!window.taps) return std::nullopt;
  const std::int64_t reach = sum_of(product_of(*window.taps - 1, window.dilation), 1);
  if (reach > *size) misfit("a window of ", reach, " elements does not fit into ", *size);
  return (*size - reach) / window.stride + 1;
}

/// A filter with so many taps along an axis: "d", "h" or "w", for depth, height and width.
Window filter_along(const NodeContext& node, const std::string& axis, const Dim& taps) {
  return {taps, node.integer("stride_" + axis, 0), node.integer("dilation_" + axis + "_factor", 1)};
}

/// Height and width of the result of a filter [.., height, width, ..] that moves over an image.
void move_filter(const NodeContext& node, const Dims* dims, const Dims* filter, Dims& result) {
  if (!node.has_attribute("padding")) return;
  result[1] = places(node, dim_at(dims, 1), filter_along(node, "h", dim_at(filter, 1)));
  result[2] = places(node, dim_at(dims, 2), filter_along(node, "w", dim_at(filter, 2)));
}

void expect_channels(const Dim& channels, const Dim& of_filter) {
  if (channels && of_filter && (*of_filter == 0 || *channels % *of_filter != 0))
    misfit("the filter is for ", *of_filter, " channels, and there are ", *channels);
}

}  // namespace

/// Filters are [output channels, height, width, channels].
void convolution(NodeContext& node) {
  const Dims* const dims = node.dims(0, 4);
  const Dims* const filter = node.dims(1, 4);
  expect_channels(dim_at(dims, 3), dim_at(filter, 3));
  Dims result{dim_at(dims, 0), Dim(), Dim(), dim_at(filter, 0)};
  move_filter(node, dims, filter, result);
  node.set_dims(0, result);
}

/// The filter is [1, height, width, output channels].
void depthwise_convolution(NodeContext& node) {
  const Dims* const dims = node.dims(0, 4);
  const Dims* const filter = node.dims(1, 4);
  expect_channels(dim_at(filter, 3), dim_at(dims, 3));
  Dims result{dim_at(dims, 0), Dim(), Dim(), dim_at(filter, 3)};
  move_filter(node, dims, filter, result);
  node.set_dims(0, result);
}

/// Images are [batch, depth, height, width, channels], the filter [depth, height, width, channels, output
/// channels].
void convolution_3d(NodeContext& node) {
  const Dims* const dims = node.dims(0, 5);
  const Dims* const filter = node.dims(1, 5);
  expect_channels(dim_at(dims, 4), dim_at(filter, 3));
  Dims result{dim_at(dims, 0), Dim(), Dim(), Dim(), dim_at(filter, 4)};
  if (node.has_attribute("padding")) {
    result[1] = places(node, dim_at(dims, 1), filter_along(node, "d", dim_at(filter, 0)));
    result[2] = places(node, dim_at(dims, 2), filter_along(node, "h", dim_at(filter, 1)));
    result[3] = places(node, dim_at(dims, 3), filter_along(node, "w", dim_at(filter, 2)));
  }
  node.set_dims(0, result);
}

void pool(NodeContext& node) {
  const Dims* const dims = node.dims(0, 4);
  Dims result{dim_at(dims, 0), Dim(), Dim(), dim_at(dims, 3)};
  if (node.has_attribute("padding")) {
    result[1] =
        places(node, dim_at(dims, 1), {node.integer("filter_height", 0), node.integer("stride_h", 0)});
    result[2] = places(node, dim_at(dims, 2), {node.integer("filter_width", 0), node.integer("stride_w", 0)});
  }
  node.set_dims(0, result);
}

/// The size is an input, or, in old files, in the options.
void resize(NodeContext& node) {
  const Dims* const dims = node.dims(0, 4);
  Dims result{dim_at(dims, 0), Dim(), Dim(), dim_at(dims, 3)};
  if (const auto size = node.integers(1)) {
    if (size->size() != 2) misfit("the size has ", size->size(), " numbers, expected height and width");
    result[1] = size->front();
    result[2] = size->back();
  } else if (!node.has(1) && node.has_attribute("new_height")) {
    result[1] = node.integer("new_height", 0);
    result[2] = node.integer("new_width", 0);
  }
  node.set_dims(0, result);
}

namespace {

std::int64_t block_size(std::int64_t size) {
  if (size < 1) misfit("the block size is ", size, ", expected at least 1");
  return size;
}

Dim parts(const Dim& whole, std::int64_t part) {
  if (whole && *whole % part != 0) misfit("cannot part dimension ", *whole, " into blocks of ", part);
  return quotient(whole, part);
}

}  // namespace

void space_to_depth(NodeContext& node) {
  const Dims* const dims = node.dims(0, 4);
  if (dims == nullptr || !node.has_attribute("blocksize")) return;
  const std::int64_t block = block_size(node.integer("blocksize", 0));
  node.set_dims(0, Dims{(*dims)[0], parts((*dims)[1], block), parts((*dims)[2], block),
                        product_of((*dims)[3], Dim(product_of(block, block)))});
}

void depth_to_space(NodeContext& node) {
  const Dims* const dims = node.dims(0, 4);
  if (dims == nullptr || !node.has_attribute("blocksize")) return;
  const std::int64_t block = block_size(node.integer("blocksize", 0));
  node.set_dims(0, Dims{(*dims)[0], product_of((*dims)[1], Dim(block)), product_of((*dims)[2], Dim(block)),
                        parts((*dims)[3], product_of(block, block))});
}

namespace {

/// The sizes of blocks, and what is added to or taken from both ends of each axis behind the batches; none if
/// they are not known.
struct Blocks {
  Shape sizes{};
  Shape ends{};
};

std::optional<Blocks> blocks_of(const NodeContext& node, const Dims* dims) {
  auto sizes = node.integers(1);
  auto ends = node.integers(2);
  if (dims == nullptr || !sizes || !ends) return std::nullopt;
  if (sizes->size() >= dims->size() || ends->size() != 2 * sizes->size())
    misfit("there are ", sizes->size(), " block sizes and ", ends->size(), " ends for ", dims->size(),
           " dimensions");
  for (const std::int64_t size : *sizes) (void)block_size(size);
  return Blocks{*std::move(sizes), *std::move(ends)};
}

}  // namespace

void space_to_batch(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const auto blocks = blocks_of(node, dims);
  if (!blocks) return;
  Dims result = *dims;
  for (std::size_t d = 0; d < blocks->sizes.size(); ++d) {
    const Dim padded = sum_of(result[d + 1], Dim(sum_of(blocks->ends[2 * d], blocks->ends[2 * d + 1])));
    result[d + 1] = parts(padded, blocks->sizes[d]);
    result[0] = product_of(result[0], Dim(blocks->sizes[d]));
  }
  node.set_dims(0, result);
}

void batch_to_space(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const auto blocks = blocks_of(node, dims);
  if (!blocks) return;
  Dims result = *dims;
  for (std::size_t d = 0; d < blocks->sizes.size(); ++d) {
    const std::int64_t cropped = sum_of(blocks->ends[2 * d], blocks->ends[2 * d + 1]);
    if (cropped < 0) misfit("dimension ", d + 1, " is to lose ", cropped, " elements");
    result[d + 1] = sum_of(product_of(result[d + 1], Dim(blocks->sizes[d])), Dim(-cropped));
    result[0] = parts(result[0], blocks->sizes[d]);
  }
  node.set_dims(0, result);
}

/// Of real numbers in two dimensions: half of the frequencies are the others mirrored.
void fourier(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  if (dims == nullptr) return;
  if (dims->size() < 2) misfit("the input has ", dims->size(), " dimensions, expected at least 2");
  Dims result = *dims;
  const auto length = node.integers(1);
  if (length && length->size() != 2) misfit("the length has ", length->size(), " numbers, expected 2");
  result[dims->size() - 2] = length ? Dim(length->front()) : Dim();
  result[dims->size() - 1] = length ? Dim(length->back() / 2 + 1) : Dim();
  node.set_dims(0, result);
}

}  // namespace stowage::operators::tflite_shapes
