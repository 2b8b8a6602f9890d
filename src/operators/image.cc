// Operators on images and signals.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "operators/families.h"
#include "operators/readings.h"
#include "operators/shapes.h"
#include "operators/tflite_shapes.h"

namespace stowage::operators::shapes {
namespace {

/// An extent times a factor, rounded down, in single precision as in ONNX.
Dim scaled(const Dim& extent, double factor) {
  if (!extent) return std::nullopt;
  const float size = std::floor(static_cast<float>(factor) * static_cast<float>(*extent));
  if (!(size >= 0 && size < static_cast<float>(largest_value))) misfit("scale ", factor, " gives no size");
  return static_cast<std::int64_t>(size);
}

/// The new extents of these axes. Some policies keep the aspect ratio.
void resize_to(const NodeContext& node, const Shape& sizes, const std::vector<std::size_t>& axes,
               Dims& dims) {
  const std::string_view policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || axes.empty()) {
    for (std::size_t i = 0; i < axes.size(); ++i) dims[axes[i]] = sizes[i];
    return;
  }
  std::vector<double> factors;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim& extent = dims[axes[i]];
    if (!extent) {
      for (const std::size_t axis : axes) dims[axis].reset();
      return;
    }
    factors.push_back(static_cast<double>(sizes[i]) / std::max<double>(1, static_cast<double>(*extent)));
  }
  const double factor =
      policy == "not_larger" ? *std::ranges::min_element(factors) : *std::ranges::max_element(factors);
  for (const std::size_t axis : axes) {
    const double size = std::round(factor * static_cast<double>(*dims[axis]));
    if (!(size >= 0 && size < static_cast<double>(largest_value))) misfit("size ", size, " is impossible");
    dims[axis] = static_cast<std::int64_t>(size);
  }
}

}  // namespace

/// In operator set 10 scales are the second input, later the third; sizes are the fourth.
void resize(NodeContext& node) {
  constexpr int first_with_region = 11;
  const std::size_t scales_input = node.version() < first_with_region ? 1 : 2;
  std::optional<Dims> dims = node.type(0).dims;
  if (dims) {
    Shape every(dims->size());
    std::iota(every.begin(), every.end(), 0);
    const std::vector<std::size_t> axes = axes_in(node.integer_list("axes").value_or(every), dims->size());
    const auto scales = node.reals(scales_input);
    const auto sizes = node.integers(3);
    if (sizes && sizes->size() == axes.size()) {
      resize_to(node, *sizes, axes, *dims);
    } else if (scales && scales->size() == axes.size()) {
      for (std::size_t i = 0; i < axes.size(); ++i) (*dims)[axes[i]] = scaled((*dims)[axes[i]], (*scales)[i]);
    } else {
      for (const std::size_t axis : axes) (*dims)[axis].reset();
    }
  }
  node.set_output(0, node.elem_type(0), dims);
}

/// Scales are an input, or attributes before operator set 9.
void upsample(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  auto scales = node.reals(1);
  if (const auto* const given = node.attributes().get<std::span<const float>>("scales"))
    scales.emplace(given->begin(), given->end());
  if (dims) {
    if (scales && scales->size() != dims->size())
      misfit("there are ", scales->size(), " scales for ", dims->size(), " dimensions");
    for (std::size_t d = 0; d < dims->size(); ++d)
      (*dims)[d] = scales ? scaled((*dims)[d], (*scales)[d]) : std::nullopt;
  }
  node.set_output(0, node.elem_type(0), dims);
}

void grid_sample(NodeContext& node) {
  const Dims* const input = node.dims(0);
  const Dims* const grid = node.dims(1);
  std::optional<Dims> result;
  if (input != nullptr && grid != nullptr) {
    if (input->size() < 3 || grid->size() != input->size()) misfit("input and grid are of different ranks");
    result = Dims{(*input)[0], (*input)[1]};
    result->insert(result->end(), grid->begin() + 1, grid->end() - 1);
  }
  node.set_output(0, node.elem_type(0), result);
}

/// A place in the input for each of a wanted size.
void affine_grid(NodeContext& node) {
  const auto size = node.integers(1);
  std::optional<Dims> result;
  if (size) {
    if (size->size() != 4 && size->size() != 5) misfit("the size has ", size->size(), " elements");
    result = Dims{size->front()};
    result->insert(result->end(), size->begin() + 2, size->end());
    result->emplace_back(static_cast<std::int64_t>(size->size()) - 2);
  }
  node.set_output(0, node.elem_type(0), result);
}

void decoded_image(NodeContext& node) {
  const std::int64_t channels = node.text("pixel_format", "RGB") == "Grayscale" ? 1 : 3;
  node.set_output(0, element::uint8, Dims{std::nullopt, std::nullopt, channels});
}

/// One spectrum, of real and imaginary parts, per frame; for real signals only the half that does not mirror
/// the other.
void short_time_fourier(NodeContext& node) {
  const Dims* const signal = node.dims(0);
  const Dim step = node.scalar(1);
  const Dims* const window = node.dims(2);
  Dim frame = node.scalar(3);
  if (!node.has(3) && window != nullptr && window->size() == 1) frame = window->front();
  std::optional<Dims> result;
  if (signal != nullptr) {
    if (signal->size() != 3) misfit("the signal is of rank ", signal->size(), ", not 3");
    const Dim& length = (*signal)[1];
    if (frame && *frame <= 0) misfit("cannot take frames of ", *frame, " from the signal");
    if (step && frame && length && (*step <= 0 || *frame > *length))
      misfit("cannot take frames of ", *frame, " from the signal");
    const bool is_half = node.integer("onesided", 1) != 0;
    const Dim bins = frame && is_half ? Dim(*frame / 2 + 1) : frame;
    const Dim frames = step && frame && length ? Dim((*length - *frame) / *step + 1) : Dim();
    result = Dims{(*signal)[0], frames, bins, 2};
  }
  node.set_output(0, node.elem_type(0), result);
}

/// The axis is an attribute before operator set 20. Half a spectrum of a real signal has real results only
/// on its way back.
void fourier(NodeContext& node) {
  constexpr int first_with_input = 20;
  std::optional<Dims> dims = node.type(0).dims;
  const bool is_input = node.version() >= first_with_input;
  const Dim axis = !is_input ? Dim(node.integer("axis", 1)) : node.has(2) ? node.scalar(2) : Dim(-2);
  if (dims && axis) {
    if (dims->size() < 2) misfit("the input is of rank ", dims->size(), ", expected at least 2");
    const bool is_half = node.integer("onesided", 0) != 0;
    const bool is_inverse = node.integer("inverse", 0) != 0;
    Dim& length = (*dims)[axis_in(*axis, dims->size())];
    if (node.has(1)) {
      length = node.scalar(1);
    } else if (is_half && is_inverse && length) {
      length = product_of(2, *length - 1);
    }
    if (is_half && !is_inverse && length) length = *length / 2 + 1;
    dims->back() = is_half && is_inverse ? 1 : 2;
  } else if (dims) {
    dims = Dims(dims->size());
  }
  node.set_output(0, node.elem_type(0), dims);
}

void window_function(NodeContext& node) {
  node.set_output(0, static_cast<int>(node.integer("output_datatype", element::float32)),
                  Dims{node.scalar(0)});
}

void mel_weights(NodeContext& node) {
  const Dim length = node.scalar(1);
  node.set_output(0, static_cast<int>(node.integer("output_datatype", element::float32)),
                  Dims{length ? Dim(*length / 2 + 1) : Dim(), node.scalar(0)});
}

}  // namespace stowage::operators::shapes

namespace stowage::operators {
namespace {

/// Each image has a spectrum of its own, along its last two axes; the second input is their lengths.
Reading fourier(const Site& site, std::size_t input, std::size_t axis) {
  if (axis + 2 >= site.output_shape().size()) return all();
  return input == 0 ? same_row(axis) : shared();
}

}  // namespace

std::span<const Facts> image_family() {
  static constexpr Facts rows[] = {
      {.onnx = "AffineGrid", .shape = shapes::affine_grid, .inputs = 2},
      {.onnx = "BlackmanWindow", .shape = shapes::window_function, .inputs = 1},
      {.onnx = "DFT", .shape = shapes::fourier, .inputs = 1},
      {.onnx = "DepthToSpace",
       .shape = shapes::depth_to_space,
       .inputs = 1,
       .rows = blocks,
       .windows = {.axis = 2}},
      {.onnx = "GridSample", .shape = shapes::grid_sample, .inputs = 2},
      {.onnx = "HammingWindow", .shape = shapes::window_function, .inputs = 1},
      {.onnx = "HannWindow", .shape = shapes::window_function, .inputs = 1},
      {.onnx = "ImageDecoder", .shape = shapes::decoded_image, .inputs = 1},
      {.onnx = "MelWeightMatrix", .shape = shapes::mel_weights, .inputs = 5},
      {.onnx = "Resize",
       .shape = shapes::resize,
       .inputs = 1,
       .rows = resize,
       .counts_rows = true,
       .windows = {.axis = 2}},
      {.onnx = "STFT", .shape = shapes::short_time_fourier, .inputs = 2},
      {.onnx = "SpaceToDepth",
       .shape = shapes::space_to_depth,
       .inputs = 1,
       .rows = blocks,
       .windows = {.axis = 2}},
      {.onnx = "Upsample",
       .shape = shapes::upsample,
       .inputs = 1,
       .rows = resize,
       .counts_rows = true,
       .windows = {.axis = 2}},
      {.onnx = "com.microsoft.GridSample", .shape = shapes::grid_sample, .inputs = 2},
      {.tflite = "BATCH_TO_SPACE_ND", .shape = tflite_shapes::batch_to_space, .rows = batch_to_space},
      {.tflite = "DEPTH_TO_SPACE",
       .shape = tflite_shapes::depth_to_space,
       .rows = blocks,
       .windows = {.axis = 1}},
      {.tflite = "RESIZE_BILINEAR",
       .shape = tflite_shapes::resize,
       .rows = resize,
       .counts_rows = true,
       .windows = {.axis = 1}},
      {.tflite = "RESIZE_NEAREST_NEIGHBOR",
       .shape = tflite_shapes::resize,
       .rows = resize,
       .counts_rows = true,
       .windows = {.axis = 1}},
      {.tflite = "RFFT2D", .shape = tflite_shapes::fourier, .rows = fourier},
      {.tflite = "SPACE_TO_BATCH_ND", .shape = tflite_shapes::space_to_batch, .rows = space_to_batch},
      {.tflite = "SPACE_TO_DEPTH",
       .shape = tflite_shapes::space_to_depth,
       .rows = blocks,
       .windows = {.axis = 1}},
  };
  return rows;
}

}  // namespace stowage::operators
