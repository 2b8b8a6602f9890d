#include "kernels/onnx/window.h"

#include <string>

#include "model/window_places.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// Larger values in a file might overflow products.
constexpr std::int64_t limit = std::int64_t{1} << 31;

/// The attributes, without the resulting padding.
Window moves_of(const Signature& signature, const Shape& input, const Shape& output, const Shape& kernel) {
  const std::size_t rank = kernel.size();
  if (rank > 3) refuse("a kernel over {} axes, of at most 3", rank);
  if (input.size() != rank + 2 || output.size() != rank + 2)
    refuse("a kernel over {} axes does not fit {} and {}", rank, show(input), show(output));
  const auto& attributes = signature.attributes;
  const auto strides = attributes.integers("strides", Shape(rank, 1));
  const auto dilations = attributes.integers("dilations", Shape(rank, 1));
  const auto pads = attributes.integers("pads", Shape(2 * rank, 0));
  if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank)
    refuse("strides, dilations or pads are not those of {} axes", rank);
  if (attributes.integers("kernel_shape", kernel) != kernel)
    refuse("kernel_shape is not that of the weights");
  Window window;
  for (std::size_t d = 0; d < rank; ++d) {
    window.axes[d + 3 - rank] = {.input = input[d + 2],
                                 .output = output[d + 2],
                                 .kernel = kernel[d],
                                 .stride = strides[d],
                                 .dilation = dilations[d],
                                 .begin = pads[d],
                                 .end = pads[d + rank]};
    if (std::min({strides[d], dilations[d], kernel[d]}) <= 0 ||
        std::max({strides[d], dilations[d], kernel[d], input[d + 2], output[d + 2]}) > limit ||
        std::max(std::abs(pads[d] / 2), std::abs(pads[d + rank] / 2)) > limit)
      refuse("stride {}, dilation {}, kernel {} or pads {} and {} are out of range", strides[d], dilations[d],
             kernel[d], pads[d], pads[d + rank]);
  }
  return window;
}

std::string padding_of(const Signature& signature) {
  std::string policy = signature.attributes.text("auto_pad", "NOTSET");
  if (policy.empty()) policy = "NOTSET";
  for (const char* const known : {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}) {
    if (policy == known) return policy;
  }
  refuse("there is no auto_pad {}", policy);
}

}  // namespace

Window window_of(const Signature& signature, const Shape& input, const Shape& output, const Shape& kernel) {
  Window window = moves_of(signature, input, output, kernel);
  const std::string policy = padding_of(signature);
  for (WindowAxis& axis : window.axes) {
    if (policy == "VALID") axis.begin = axis.end = 0;
    if (policy.starts_with("SAME")) {
      const std::int64_t all =
          std::max<std::int64_t>(0, (axis.output - 1) * axis.stride + axis.reach() - axis.input);
      axis.begin = policy == "SAME_UPPER" ? all / 2 : all - all / 2;
      axis.end = all - axis.begin;
    }
    const std::int64_t free = axis.input + axis.begin + axis.end - axis.reach();
    const std::int64_t places =
        free < 0 ? 0
                 : model::window_places({.free = free,
                                         .stride = axis.stride,
                                         .inside = axis.input + axis.begin,
                                         .ceils = signature.attributes.integer("ceil_mode", 0) != 0});
    if (axis.output != places)
      refuse("the window takes {} places, but the output has {}", places, axis.output);
  }
  return window;
}

Window transposed_window_of(const Signature& signature, const Shape& input, const Shape& output,
                            const Shape& kernel) {
  Window window = moves_of(signature, input, output, kernel);
  const std::string policy = padding_of(signature);
  const std::size_t rank = kernel.size();
  const auto more = signature.attributes.integers("output_padding", Shape(rank, 0));
  if (more.size() != rank) refuse("output_padding is not that of {} axes", rank);
  const bool is_told = signature.attributes.has("output_shape");
  for (std::size_t d = 0; d < rank; ++d) {
    WindowAxis& axis = window.axes[d + 3 - rank];
    if (more[d] < 0 || more[d] > limit) refuse("output_padding is {}", more[d]);
    const std::int64_t full = axis.stride * (axis.input - 1) + more[d] + axis.reach();
    if (policy == "VALID") axis.begin = axis.end = 0;
    if (is_told || policy.starts_with("SAME")) {
      const std::int64_t all = std::max<std::int64_t>(0, full - axis.output);
      axis.begin = policy == "SAME_UPPER" ? all / 2 : all - all / 2;
      axis.end = all - axis.begin;
    } else if (axis.output != full - axis.begin - axis.end) {
      refuse("the window reaches {} places, but the output has {}", full - axis.begin - axis.end,
             axis.output);
    }
    // As seen from the output, which the window moves over.
    std::swap(axis.input, axis.output);
  }
  return window;
}

}  // namespace stowage::kernels::onnx_ops
