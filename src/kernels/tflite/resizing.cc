// RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR.
//
// The position of each output place between input places is computed in advance for each dimension
// (operators/resize_taps.h): for float32 and uint8 in single precision, for int8 and int16 in units of 1/1024. Integers
// are rounded with halves away from zero at the end.
//
// Cost: output elements, times 4 for the bilinear one. Source: the steps of TensorFlow Lite's reference
// kernels.

#include <algorithm>

#include "kernels/rows.h"
#include "kernels/tflite/families.h"
#include "kernels/tflite/operands.h"
#include "operators/resize_taps.h"

namespace stowage::kernels {
namespace {

using operators::Between;

struct Resize {
  Shape in{};
  Shape out{};
  bool aligns_corners = false;
  bool centers = false;

  [[nodiscard]] operators::TfliteResizeAxis axis(std::size_t d) const {
    return {.input = in[d], .output = out[d], .aligns_corners = aligns_corners, .centers = centers};
  }
};

Resize resize_of(const Operands& operands) {
  operands.expect_counts(2, 1);
  operands.expect_alike(0);
  expect_same_quantization(operands.input(0), operands.output());
  const Resize it{.in = operands.input(0).shape,
                  .out = operands.output().shape,
                  .aligns_corners = operands.flag("align_corners"),
                  .centers = operands.flag("half_pixel_centers")};
  if (it.in.size() != 4 || it.out.size() != 4 || it.in[0] != it.out[0] || it.in[3] != it.out[3])
    refuse("its input has {} dimensions, its output {}, expected 4 with the same batches and channels",
           it.in.size(), it.out.size());
  if (it.aligns_corners && it.centers) refuse("it aligns corners and has half pixel centers");
  if (operands.constants(1, "size") != std::vector<std::int64_t>{it.out[1], it.out[2]})
    refuse("its size is not that of its output, {} by {}", it.out[1], it.out[2]);
  constexpr std::int64_t largest = 1 << 20;  // so that 1/1024 of them fit 32 bits
  for (const std::size_t d : {1U, 2U})
    if (it.in[d] < 1 || std::max(it.in[d], it.out[d]) > largest)
      refuse("dimension {} has extent {} in and {} out", d, it.in[d], it.out[d]);
  return it;
}

Image image_of(const Shape& shape, std::size_t element) {
  return {.batches = shape[0],
          .rows = shape[1],
          .row = shape[2] * shape[3],
          .element = static_cast<std::int64_t>(element)};
}

Kernel prepare_nearest(const Signature& signature) {
  const Operands operands(signature);
  const Resize it = resize_of(operands);
  const std::size_t element = element_size(operands.output().dtype);
  const std::int64_t channels = it.in[3];
  const auto run = [=, batches = it.in[0], rows = nearest_places(it.axis(1)),
                    columns = nearest_places(it.axis(2))]<typename Element>(const RowPointers& at,
                                                                            TypeTag<Element>) {
    for (std::int64_t b = 0; b < batches; ++b)
      for (std::int64_t y = at.begin; y < at.end; ++y) {
        const auto* const row = at.input.at<Element>(rows[static_cast<std::size_t>(y)], b);
        auto* output = at.output.at<Element>(y, b);
        for (const std::int64_t x : columns) output = std::copy_n(row + x * channels, channels, output);
      }
  };
  return for_size(element, [&](auto tag) {
    return kernel_by_rows(
        image_of(it.in, element), image_of(it.out, element),
        [run, tag](const RowPointers& at) { run(at, tag); }, 0);
  });
}

/// `mix` makes an output from four inputs: first and second row, of the first and then of the second column.
template <typename Element, typename Number, typename Mix>
Kernel bilinear_kernel(const Resize& it, const std::vector<Between<Number>>& rows,
                       const std::vector<Between<Number>>& columns, const Mix& mix) {
  const auto run = [=, batches = it.in[0], channels = it.in[3]](const RowPointers& at) {
    for (std::int64_t b = 0; b < batches; ++b)
      for (std::int64_t y = at.begin; y < at.end; ++y) {
        const Between<Number>& row = rows[static_cast<std::size_t>(y)];
        const auto* const first = at.input.at<Element>(row.first, b);
        const auto* const second = at.input.at<Element>(row.second, b);
        auto* output = at.output.at<Element>(y, b);
        for (const auto& column : columns) {
          const std::int64_t left = column.first * channels;
          const std::int64_t right = column.second * channels;
          for (std::int64_t c = 0; c < channels; ++c)
            *output++ = mix(first[left + c], second[left + c], first[right + c], second[right + c],
                            row.distance, column.distance);
        }
      }
  };
  return kernel_by_rows(image_of(it.in, sizeof(Element)), image_of(it.out, sizeof(Element)), run, 0);
}

float mix_real(float a, float b, float c, float d, float y, float x) {
  return a * (1 - y) * (1 - x) + b * y * (1 - x) + c * (1 - y) * x + d * y * x;
}

std::uint8_t mix_bytes(float a, float b, float c, float d, float y, float x) {
  return static_cast<std::uint8_t>(mix_real(a, b, c, d, y, x) + 0.5F);
}

constexpr std::int64_t unit_of_distance = operators::units_of_distance;

template <typename Number>
Number mix_integers(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d, std::int64_t y,
                    std::int64_t x) {
  const std::int64_t sum = a * (unit_of_distance - y) * (unit_of_distance - x) +
                           b * y * (unit_of_distance - x) + c * (unit_of_distance - y) * x + d * y * x;
  const std::int64_t half = unit_of_distance * unit_of_distance / 2;
  return static_cast<Number>((sum + (sum > 0 ? half : -half)) / (unit_of_distance * unit_of_distance));
}

Kernel prepare_bilinear(const Signature& signature) {
  const Operands operands(signature);
  const Resize it = resize_of(operands);
  if (operands.output().dtype == DType::float32)
    return bilinear_kernel<float>(it, real_places(it.axis(1)), real_places(it.axis(2)), mix_real);
  if (operands.output().dtype == DType::uint8)
    return bilinear_kernel<std::uint8_t>(it, real_places(it.axis(1)), real_places(it.axis(2)), mix_bytes);
  return for_quantized(operands.output().dtype, [&]<typename Number>(TypeTag<Number>) {
    return bilinear_kernel<Number>(it, integer_places(it.axis(1)), integer_places(it.axis(2)),
                                   mix_integers<Number>);
  });
}

}  // namespace

TablePart resizing_kernels() {
  return {{"RESIZE_BILINEAR", prepare_bilinear}, {"RESIZE_NEAREST_NEIGHBOR", prepare_nearest}};
}

}  // namespace stowage::kernels
