// Norms. Over the axis of the rows they compute rows one by one with sums that they carry from row to row:
// all rows are added to the sums, then each row is read again and written. The sums are those of the whole
// operator, added in the same order, so both give the same. This fixes the axis of the rows: for each index
// in front of it there is a sum of its own. It is worth it only if the sums are smaller than the output.

#include "operators/norm.h"

#include <algorithm>

#include "base/checked.h"
#include "operators/families.h"
#include "operators/readings.h"
#include "operators/shapes.h"
#include "operators/tflite_shapes.h"

namespace stowage::operators {
namespace {

/// A norm with rows along an axis, and the bytes of its sums.
std::optional<CarriedAxis> in_two_passes(const Site& site, std::size_t axis, std::int64_t sums, Bytes each) {
  const auto bytes = base::checked_multiply(sums, each);
  if (!bytes || *bytes < 1 || *bytes >= site.output(0)->bytes) return std::nullopt;
  return CarriedAxis{.axis = axis, .input_axis = axis, .reads_twice = true, .carried = *bytes};
}

std::optional<CarriedAxis> norm_of_block(const Site& site, std::size_t first) {
  const Shape shape = site.output_shape();
  if (first >= shape.size()) return std::nullopt;
  const NormLanes lanes = lanes_of_norm(shape, first);
  return in_two_passes(site, lanes.axis, lanes.lanes, bytes_of_moments);
}

/// One or two numbers for each vector along an axis.
std::optional<CarriedAxis> norm_of_vectors(const Site& site, std::size_t axis, Bytes each) {
  const Shape shape = site.output_shape();
  if (axis >= shape.size() || shape[axis] < 1) return std::nullopt;
  return in_two_passes(site, axis, count(shape, 0, shape.size()) / shape[axis], each);
}

/// The only output of a norm is as large as its input.
bool is_alone(const Site& site) {
  const bool has_one = std::none_of(site.op().outputs.begin() + 1, site.op().outputs.end(),
                                    [](const auto& output) { return output.has_value(); });
  return has_one && !site.op().stateful && site.input_shape(0) == site.output_shape();
}

std::optional<CarriedAxis> if_it_has_rows(const Site& site, const std::optional<CarriedAxis>& found) {
  return found && site.output_shape()[found->axis] > 1 ? found : std::nullopt;
}

/// `carry` is given the axis of the attribute.
template <typename Carry>
std::optional<CarriedAxis> carried_along(const Site& site, const Carry& carry) {
  const auto own = is_alone(site) ? axis_attribute(site, -1, site.output_shape().size()) : std::nullopt;
  return own ? if_it_has_rows(site, carry(*own)) : std::nullopt;
}

std::optional<CarriedAxis> carried_layer(const Site& site) {
  return carried_along(site, [&](std::size_t axis) { return norm_of_block(site, axis); });
}

std::optional<CarriedAxis> carried_planes(const Site& site) {
  return is_alone(site) ? if_it_has_rows(site, norm_of_block(site, 2)) : std::nullopt;
}

/// Before operator set 13 all axes from one on belong together.
std::optional<CarriedAxis> carried_powers(const Site& site) {
  if (site.version() < 13) return std::nullopt;
  return carried_along(site, [&](std::size_t axis) { return norm_of_vectors(site, axis, bytes_of_moments); });
}

std::optional<CarriedAxis> carried_lengths(const Site& site) {
  constexpr Bytes bytes_of_length = 8;
  return carried_along(site, [&](std::size_t axis) { return norm_of_vectors(site, axis, bytes_of_length); });
}

}  // namespace

NormLanes lanes_of_norm(const Shape& shape, std::size_t first) {
  constexpr std::size_t first_of_plane = 2;
  constexpr std::size_t rank_of_image = 4;
  std::size_t axis = shape.size() >= rank_of_image ? std::max(first, first_of_plane) : first;
  while (axis + 1 < shape.size() && shape[axis] == 1) ++axis;
  return {.axis = axis,
          .lanes = count(shape, 0, axis),
          .rows = shape[axis],
          .inner = count(shape, axis + 1, shape.size())};
}

std::span<const Facts> norm_family() {
  static constexpr Facts rows[] = {
      {.onnx = "BatchNormalization",
       .shape = shapes::batch_normalization,
       .inputs = 5,
       .in_place = InPlace::first,
       .rows = normalized},
      {.onnx = "GroupNormalization",
       .shape = shapes::group_normalization,
       .inputs = 3,
       .rows = group_norm,
       .carries = carried_planes},
      {.onnx = "Hardmax", .shape = shapes::like_first_along_axis, .inputs = 1, .rows = softmax},
      {.onnx = "InstanceNormalization",
       .shape = shapes::channel_normalization,
       .inputs = 3,
       .rows = instance_norm,
       .carries = carried_planes},
      {.onnx = "LRN", .shape = shapes::like_first, .inputs = 1, .rows = across_channels},
      {.onnx = "LayerNormalization",
       .shape = shapes::layer_normalization,
       .inputs = 2,
       .rows = layer_norm,
       .splits = true,
       .carries = carried_layer},
      {.onnx = "LogSoftmax",
       .shape = shapes::like_first_along_axis,
       .inputs = 1,
       .rows = softmax,
       .carries = carried_powers},
      {.onnx = "LpNormalization",
       .shape = shapes::like_first,
       .inputs = 1,
       .rows = vector_norm,
       .carries = carried_lengths},
      {.onnx = "MeanVarianceNormalization", .shape = shapes::like_first, .inputs = 1, .rows = mean_variance},
      {.onnx = "RMSNormalization",
       .shape = shapes::like_first,
       .inputs = 2,
       .rows = layer_norm,
       .carries = carried_layer},
      {.onnx = "SimplifiedLayerNormalization",
       .shape = shapes::layer_normalization,
       .inputs = 2,
       .rows = layer_norm,
       .carries = carried_layer},
      {.onnx = "Softmax",
       .shape = shapes::like_first_along_axis,
       .inputs = 1,
       .rows = softmax,
       .splits = true,
       .carries = carried_powers},
      {.onnx = "com.microsoft.BiasSoftmax", .shape = shapes::like_first, .inputs = 2},
      {.onnx = "com.microsoft.EmbedLayerNormalization",
       .shape = shapes::embed_layer_normalization,
       .inputs = 1},
      {.onnx = "com.microsoft.GroupNorm", .shape = shapes::like_first, .inputs = 1},
      {.onnx = "com.microsoft.QLinearSoftmax", .shape = shapes::like_first, .inputs = 1},
      {.onnx = "com.microsoft.SkipGroupNorm", .shape = shapes::skip_group_normalization, .inputs = 3},
      {.onnx = "com.microsoft.SkipLayerNormalization",
       .shape = shapes::skip_layer_normalization,
       .inputs = 2,
       .rows = skip_norm},
      {.onnx = "com.microsoft.SkipSimplifiedLayerNormalization",
       .shape = shapes::skip_layer_normalization,
       .inputs = 2,
       .rows = skip_norm},
      {.tflite = "L2_NORMALIZATION", .shape = shapes::like_first, .rows = vector_norm},
      {.tflite = "LOCAL_RESPONSE_NORMALIZATION", .shape = shapes::like_first},
      {.tflite = "LOG_SOFTMAX", .shape = shapes::like_first, .rows = softmax},
      {.tflite = "SOFTMAX", .shape = shapes::like_first, .rows = softmax, .splits = true},
  };
  return rows;
}

}  // namespace stowage::operators
