// Image operators with data-dependent places: GridSample, RoiAlign, MaxUnpool; and Det, of square matrices.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// One channel of an image.
template <typename Element>
struct Plane {
  const Element* from;
  std::int64_t height;
  std::int64_t width;
};

struct GridModes {
  std::string mode;
  std::string padding;
  bool aligns_corners;
};

/// A place mirrored into an interval, repeatedly if needed.
double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double away = std::fmod(std::abs(x - low), 2 * range);
  return low + (away > range ? 2 * range - away : away);
}

/// Converts a coordinate in -1 .. 1 to a place among `size` elements.
double place_of(double x, std::int64_t size, const GridModes& modes) {
  const auto count = static_cast<double>(size);
  return modes.aligns_corners ? (x + 1) / 2 * (count - 1) : ((x + 1) * count - 1) / 2;
}

/// The place that padding uses instead of one outside.
double padded(double x, std::int64_t size, const GridModes& modes) {
  const auto last = static_cast<double>(size - 1);
  if (modes.padding == "border") return std::clamp(x, 0.0, last);
  if (modes.padding == "reflection")
    return modes.aligns_corners ? reflected(x, 0, last)
                                : std::clamp(reflected(x, -0.5, last + 0.5), 0.0, last);
  return x;
}

/// The element at an integer place; 0 outside, unless padding defines another.
template <typename Element>
double pixel(const Plane<Element>& plane, double y, double x, const GridModes& modes) {
  const double row = padded(y, plane.height, modes);
  const double column = padded(x, plane.width, modes);
  const bool is_inside = row >= 0 && row < static_cast<double>(plane.height) && column >= 0 &&
                         column < static_cast<double>(plane.width);
  if (!is_inside) return 0;
  const auto at = static_cast<std::int64_t>(row) * plane.width + static_cast<std::int64_t>(column);
  return static_cast<double>(value_of(plane.from[at]));
}

/// The cubic convolution of R. Keys, 1981, a = -0.75, at distances 1 + t, t, 1 - t, 2 - t.
std::array<double, 4> cubic_weights(double t) {
  constexpr double a = -0.75;
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

template <typename Element>
double sample(const Plane<Element>& plane, double y, double x, const GridModes& modes) {
  if (!std::isfinite(x) || !std::isfinite(y)) return 0;
  if (modes.mode == "nearest") return pixel(plane, std::nearbyint(y), std::nearbyint(x), modes);
  const double top = std::floor(y);
  const double left = std::floor(x);
  std::array<double, 4> rows{0, 1 - (y - top), y - top, 0};
  std::array<double, 4> columns{0, 1 - (x - left), x - left, 0};
  if (modes.mode == "cubic") {
    rows = cubic_weights(y - top);
    columns = cubic_weights(x - left);
  }
  double total = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      const double weight = rows[i] * columns[j];
      if (weight == 0) continue;
      total +=
          weight * pixel(plane, top + static_cast<double>(i) - 1, left + static_cast<double>(j) - 1, modes);
    }
  }
  return total;
}

GridModes grid_modes_of(const Signature& signature) {
  GridModes modes{.mode = signature.attributes.text("mode", "linear"),
                  .padding = signature.attributes.text("padding_mode", "zeros"),
                  .aligns_corners = signature.attributes.integer("align_corners", 0) != 0};
  // Before operator set 20 these names were longer.
  if (modes.mode == "bilinear") modes.mode = "linear";
  if (modes.mode == "bicubic") modes.mode = "cubic";
  if (modes.mode != "linear" && modes.mode != "cubic" && modes.mode != "nearest")
    refuse("there is no mode {}", modes.mode);
  if (modes.padding != "zeros" && modes.padding != "border" && modes.padding != "reflection")
    refuse("there is no padding_mode {}", modes.padding);
  return modes;
}

/// Reads every element at a place given by a grid, in coordinates of -1 .. 1.
Kernel grid_sample(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& grid = input_of(signature, 1);
  const Argument& output = output_of(signature);
  expect_rank(input, 4, "the input");
  expect_rank(grid, 4, "the grid");
  expect_dtype(grid, DType::float32, "the grid");
  expect_dtype(output, input.dtype, "the output");
  expect_shape(grid, {input.shape[0], grid.shape[1], grid.shape[2], 2}, "the grid");
  expect_shape(output, {input.shape[0], input.shape[1], grid.shape[1], grid.shape[2]}, "the output");
  const std::int64_t channels = input.shape[1];
  const std::int64_t height = input.shape[2];
  const std::int64_t width = input.shape[3];
  const std::int64_t places = grid.shape[1] * grid.shape[2];
  const std::int64_t planes = input.shape[0] * channels;
  if (height * width == 0) refuse("the input {} is empty", show(input.shape));
  const GridModes modes = grid_modes_of(signature);
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const at = pointers.input<float>(1);
      auto* to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < planes; ++i) {
        const Plane<Element> plane{pointers.input<Element>(0) + i * height * width, height, width};
        const float* xy = at + i / channels * places * 2;
        for (std::int64_t j = 0; j < places; ++j, xy += 2) {
          *to++ = element_of<Element>(sample(plane, place_of(static_cast<double>(xy[1]), height, modes),
                                             place_of(static_cast<double>(xy[0]), width, modes), modes));
        }
      }
    }};
  });
}

/// Interpolates between four elements, as RoiAlign does: 0 for places more than one element outside.
template <typename Element, typename Use>
void corners(const Plane<Element>& plane, double y, double x, const Use& use) {
  const auto last_row = static_cast<double>(plane.height - 1);
  const auto last_column = static_cast<double>(plane.width - 1);
  if (!(y >= -1 && y <= last_row + 1 && x >= -1 && x <= last_column + 1)) return;
  const double row = std::clamp(y, 0.0, last_row);
  const double column = std::clamp(x, 0.0, last_column);
  const double top = std::floor(row);
  const double left = std::floor(column);
  for (const double i : {0.0, 1.0}) {
    for (const double j : {0.0, 1.0}) {
      const double weight =
          (i == 0 ? 1 - (row - top) : row - top) * (j == 0 ? 1 - (column - left) : column - left);
      const auto at = static_cast<std::int64_t>(std::min(top + i, last_row)) * plane.width +
                      static_cast<std::int64_t>(std::min(left + j, last_column));
      use(weight * static_cast<double>(value_of(plane.from[at])));
    }
  }
}

struct RoiModes {
  bool is_max;
  std::int64_t samples;
  double scale;
  double shift;
  bool widens;  ///< Regions have at least one element.
};

/// One element of the output: the mean, or the largest part, of a grid of points in its share of the region.
template <typename Element>
double pool_region(const Plane<Element>& plane, const std::array<double, 4>& box,
                   std::array<std::int64_t, 2> samples, bool is_max) {
  double total = 0;
  double best = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < samples[0]; ++i) {
    const double y = box[0] + (static_cast<double>(i) + 0.5) * box[2] / static_cast<double>(samples[0]);
    for (std::int64_t j = 0; j < samples[1]; ++j) {
      const double x = box[1] + (static_cast<double>(j) + 0.5) * box[3] / static_cast<double>(samples[1]);
      corners(plane, y, x, [&](double part) {
        total += part;
        best = std::max(best, part);
      });
    }
  }
  if (is_max) return std::isinf(best) ? 0 : best;
  return total / static_cast<double>(std::max<std::int64_t>(samples[0] * samples[1], 1));
}

RoiModes roi_modes_of(const Signature& signature) {
  const auto& attributes = signature.attributes;
  const std::string mode = attributes.text("mode", "avg");
  const std::string coordinates = attributes.text(
      "coordinate_transformation_mode", signature.version < 16 ? "output_half_pixel" : "half_pixel");
  if (mode != "avg" && mode != "max") refuse("there is no mode {}", mode);
  const RoiModes modes{.is_max = mode == "max",
                       .samples = attributes.integer("sampling_ratio", 0),
                       .scale = static_cast<double>(attributes.real("spatial_scale", 1)),
                       .shift = coordinates == "half_pixel" ? 0.5 : 0,
                       .widens = coordinates != "half_pixel"};
  if (modes.samples < 0 || modes.samples > 1000) refuse("sampling_ratio is {}", modes.samples);
  return modes;
}

Kernel roi_align(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& rois = input_of(signature, 1);
  const Argument& batches = input_of(signature, 2);
  const Argument& output = output_of(signature);
  for (const Argument* const argument : {&input, &output}) expect_rank(*argument, 4, "input or output");
  const std::int64_t count = output.shape[0];
  expect_shape(rois, {count, 4}, "the regions");
  expect_shape(batches, {count}, "the batches");
  expect_dtype(batches, DType::int64, "the batches");
  expect_dtype(rois, input.dtype, "the regions");
  expect_dtype(output, input.dtype, "the output");
  if (output.shape[1] != input.shape[1] || input.shape[2] * input.shape[3] == 0)
    refuse("{} is not pooled from {}", show(output.shape), show(input.shape));
  const RoiModes modes = roi_modes_of(signature);
  const Shape in = input.shape;
  const Shape out = output.shape;
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      auto* to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t batch = index_in(pointers.input<std::int64_t>(2)[i], in[0], "RoiAlign");
        std::array<double, 4> roi{};
        for (std::size_t k = 0; k < 4; ++k) {
          const auto given = static_cast<double>(value_of(pointers.input<Element>(1)[i * 4 + extent(k)]));
          roi[k] = std::isfinite(given) ? given * modes.scale - modes.shift : 0;
        }
        const double least = modes.widens ? 1 : -std::numeric_limits<double>::infinity();
        const double height = std::max(roi[3] - roi[1], least) / static_cast<double>(out[2]);
        const double width = std::max(roi[2] - roi[0], least) / static_cast<double>(out[3]);
        const auto samples_of = [&](double size) {
          return modes.samples > 0 ? modes.samples
                                   : static_cast<std::int64_t>(std::clamp(std::ceil(size), 0.0, 1000.0));
        };
        for (std::int64_t c = 0; c < out[1]; ++c) {
          const Plane<Element> plane{pointers.input<Element>(0) + (batch * in[1] + c) * in[2] * in[3], in[2],
                                     in[3]};
          for (std::int64_t j = 0; j < out[2] * out[3]; ++j) {
            const std::array box{roi[1] + static_cast<double>(j / out[3]) * height,
                                 roi[0] + static_cast<double>(j % out[3]) * width, height, width};
            *to++ = element_of<Element>(
                pool_region(plane, box, {samples_of(height), samples_of(width)}, modes.is_max));
          }
        }
      }
    }};
  });
}

/// The shape of the tensor before pooling, as far as the window determines it.
Shape pooled_from(const Signature& signature, const Shape& pooled) {
  const auto kernel = signature.attributes.integers("kernel_shape", {});
  const std::size_t rank = kernel.size();
  const auto strides = signature.attributes.integers("strides", Shape(rank, 1));
  const auto pads = signature.attributes.integers("pads", Shape(2 * rank, 0));
  if (pooled.size() != rank + 2 || strides.size() != rank || pads.size() != 2 * rank)
    refuse("the kernel does not fit {}", show(pooled));
  Shape shape = pooled;
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto [least, most] = std::minmax({kernel[d], strides[d], pads[d], pads[d + rank], pooled[d + 2]});
    if (least < 0 || most > limit) refuse("kernel, strides or pads are out of range");
    shape[d + 2] = strides[d] * (pooled[d + 2] - 1) + kernel[d] - pads[d] - pads[d + rank];
  }
  return shape;
}

/// Puts each maximum at its index, among zeros. Indices refer to the tensor before pooling; the output may be
/// larger.
Kernel max_unpool(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& indices = input_of(signature, 1);
  const Argument& output = output_of(signature);
  expect_shape(indices, input.shape, "the indices");
  expect_dtype(indices, DType::int64, "the indices");
  expect_dtype(output, input.dtype, "the output");
  const Shape shape = pooled_from(signature, input.shape);
  expect_rank(output, shape.size(), "the output");
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0 || shape[d] > output.shape[d])
      refuse("{} is not in {}", show(shape), show(output.shape));
  }
  const Shape steps = strides_of(output.shape);
  const std::int64_t count = count_of(input.shape);
  const std::int64_t size = count_of(output.shape);
  return for_size(input.dtype, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      const auto* const at = pointers.input<std::int64_t>(1);
      auto* const to = pointers.output<Element>(0);
      std::fill_n(to, size, Element{});
      for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t rest = index_in(at[i], count_of(shape), "MaxUnpool");
        std::int64_t place = 0;
        for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) place += rest % shape[d] * steps[d];
        to[place] = from[i];
      }
    }};
  });
}

/// Gaussian elimination with the largest pivots, in scratch memory.
double determinant(double* rows, std::int64_t n) {
  double result = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i) {
      if (std::abs(rows[i * n + k]) > std::abs(rows[pivot * n + k])) pivot = i;
    }
    if (rows[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(rows + k * n, rows + (k + 1) * n, rows + pivot * n);
      result = -result;
    }
    result *= rows[k * n + k];
    for (std::int64_t i = k + 1; i < n; ++i) {
      const double factor = rows[i * n + k] / rows[k * n + k];
      for (std::int64_t j = k; j < n; ++j) rows[i * n + j] -= factor * rows[k * n + j];
    }
  }
  return result;
}

Kernel determinants(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  const std::size_t rank = input.shape.size();
  if (rank < 2 || input.shape[rank - 1] != input.shape[rank - 2])
    refuse("{} is not square", show(input.shape));
  expect_dtype(output, input.dtype, "the output");
  expect_shape(output, Shape(input.shape.begin(), input.shape.end() - 2), "the output");
  const std::int64_t n = input.shape[rank - 1];
  const std::int64_t count = count_of(output.shape);
  Kernel kernel = for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      auto* const rows = reinterpret_cast<double*>(pointers.scratch);
      const auto* const from = pointers.input<Element>(0);
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t j = 0; j < n * n; ++j) rows[j] = static_cast<double>(value_of(from[i * n * n + j]));
        pointers.output<Element>(0)[i] = element_of<Element>(determinant(rows, n));
      }
    }};
  });
  kernel.scratch = n * n * extent(sizeof(double));
  return kernel;
}

}  // namespace

TablePart image_kernels() {
  return {
      {"Det", determinants}, {"GridSample", grid_sample}, {"MaxUnpool", max_unpool}, {"RoiAlign", roi_align}};
}

}  // namespace stowage::kernels::onnx_ops
