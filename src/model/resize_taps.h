#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/graph.h"
#include "stowage/network.h"

/// Which elements of its input an element of a resized tensor consists of, along one axis. Rules of rows and
/// kernels take it from here, so that the ones name just the rows that the others read.
namespace stowage::model {

/// An element of the input, with what it counts.
struct Tap {
  std::int64_t at = 0;
  double weight = 0;
};

/// What an element of the output consists of: nothing where it is outside.
using Taps = std::vector<Tap>;

/// One axis of Resize or Upsample.
struct ResizeAxis {
  std::int64_t input = 1;
  std::int64_t output = 1;
  double scale = 1;
  double begin = 0;  ///< Of the region of interest, of 1.
  double end = 1;
};

/// What ONNX's Resize or Upsample is told. Inputs that are left out are none.
struct ResizeCall {
  std::string_view type{};
  std::int64_t version = 1;
  const Attributes& attributes;
  Shape input{};
  Shape output{};
  std::optional<std::vector<double>> scales{};
  std::optional<std::vector<std::int64_t>> sizes{};
  std::optional<std::vector<double>> region{};

  /// Before operator set 11: scales are the second input, and there are no sizes.
  [[nodiscard]] static bool is_first(std::string_view type, std::int64_t version) {
    return type == "Upsample" || version < 11;
  }
};

enum class ResizeMode : std::uint8_t { nearest, linear, cubic };

/// How a place of the output is one in the input.
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

/// What ONNX's Resize or Upsample does.
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

/// For each element of the output along the axis.
[[nodiscard]] std::vector<Taps> taps_of(const Resizing& resizing, const ResizeAxis& axis);

/// One dimension of TFLite's RESIZE_BILINEAR or RESIZE_NEAREST_NEIGHBOR. Neither extent is zero.
struct TfliteResizeAxis {
  std::int64_t input = 1;
  std::int64_t output = 1;
  bool aligns_corners = false;
  bool centers = false;  ///< Places count by the middle of their pixels.

  /// Places of the input from one of the output to the next.
  [[nodiscard]] float scale() const;
};

/// Between which places of the input one of the output is, and how far from the first.
template <typename Number>
struct Between {
  std::int64_t first = 0;
  std::int64_t second = 0;
  Number distance = 0;
};

constexpr std::int64_t units_of_distance = 1024;  ///< Of whole numbers.

[[nodiscard]] std::vector<std::int64_t> nearest_places(const TfliteResizeAxis& axis);
[[nodiscard]] std::vector<Between<float>> real_places(const TfliteResizeAxis& axis);
[[nodiscard]] std::vector<Between<std::int64_t>> integer_places(const TfliteResizeAxis& axis);

}  // namespace stowage::model
