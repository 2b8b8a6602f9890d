#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/graph.h"
#include "stowage/network.h"

/// The elements of the input that an element of a resized tensor is made of, along one axis. Both the rules
/// of rows and the kernels use it, so the rules name exactly the rows that the kernels read.
namespace stowage::operators {

/// An element of the input and its weight.
struct Tap {
  std::int64_t at = 0;
  double weight = 0;
};

/// The taps of an element of the output; empty if it is outside.
using Taps = std::vector<Tap>;

/// One axis of Resize or Upsample.
struct ResizeAxis {
  std::int64_t input = 1;
  std::int64_t output = 1;
  double scale = 1;
  double begin = 0;  ///< Begin of the region of interest, as a fraction.
  double end = 1;
};

/// The arguments of ONNX's Resize or Upsample. Inputs that are left out are none.
struct ResizeCall {
  std::string_view type{};
  std::int64_t version = 1;
  const Attributes& attributes;
  Shape input{};
  Shape output{};
  std::optional<std::vector<double>> scales{};
  std::optional<std::vector<std::int64_t>> sizes{};
  std::optional<std::vector<double>> region{};

  /// Before operator set 11: scales are the second input, and sizes do not exist.
  [[nodiscard]] static bool is_first(std::string_view type, std::int64_t version) {
    return type == "Upsample" || version < 11;
  }
};

enum class ResizeMode : std::uint8_t { nearest, linear, cubic };

/// The map from places of the output to places of the input.
enum class Coordinates : std::uint8_t {
  asymmetric,
  half_pixel,
  pytorch_half_pixel,
  tf_half_pixel_for_nn,
  align_corners,
  half_pixel_symmetric,
  tf_crop_and_resize
};

enum class Rounding : std::uint8_t { prefer_floor, prefer_ceil, floor, ceil };

/// The work of ONNX's Resize or Upsample.
struct Resizing {
  std::vector<ResizeAxis> axes{};
  ResizeMode mode = ResizeMode::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  Rounding rounding = Rounding::prefer_floor;
  double cubic = -0.75;
  bool excludes_outside = false;
  std::string refusal{};  ///< Why it cannot be done; empty: it can.

  [[nodiscard]] bool is_cropped() const { return coordinates == Coordinates::tf_crop_and_resize; }
};

[[nodiscard]] Resizing resizing_of(const ResizeCall& call);

/// The taps of each element of the output along the axis.
[[nodiscard]] std::vector<Taps> taps_of(const Resizing& resizing, const ResizeAxis& axis);

/// One dimension of TFLite's RESIZE_BILINEAR or RESIZE_NEAREST_NEIGHBOR. Neither extent is zero.
struct TfliteResizeAxis {
  std::int64_t input = 1;
  std::int64_t output = 1;
  bool aligns_corners = false;
  bool centers = false;  ///< Places count by the centres of their pixels.

  /// The distance in the input between neighbours of the output.
  [[nodiscard]] float scale() const;
};

/// The two places of the input around one of the output, and its distance from the first.
template <typename Number>
struct Between {
  std::int64_t first = 0;
  std::int64_t second = 0;
  Number distance = 0;
};

constexpr std::int64_t units_of_distance = 1024;  ///< Units per distance of 1, for integers.

[[nodiscard]] std::vector<std::int64_t> nearest_places(const TfliteResizeAxis& axis);
[[nodiscard]] std::vector<Between<float>> real_places(const TfliteResizeAxis& axis);
[[nodiscard]] std::vector<Between<std::int64_t>> integer_places(const TfliteResizeAxis& axis);

}  // namespace stowage::operators
