#include "kernels/tflite/window.h"

#include <algorithm>

namespace stowage::kernels {

Window window_of(std::int64_t in, std::int64_t out, const WindowOptions& options) {
  constexpr std::int64_t largest = std::int64_t{1} << 31;
  if (std::max({options.taps, options.stride, options.dilation}) > largest)
    refuse("its filter, stride or dilation is beyond {}", largest);
  if (options.taps < 1) refuse("its filter has extent {}", options.taps);
  if (options.stride < 1) refuse("its stride is {}", options.stride);
  if (options.dilation < 1) refuse("its dilation is {}", options.dilation);
  const std::int64_t reach = (options.taps - 1) * options.dilation + 1;
  const std::int64_t covered = options.is_same ? in : std::max<std::int64_t>(in - reach + 1, 0);
  const std::int64_t expected = (covered + options.stride - 1) / options.stride;
  if (out != expected) refuse("its output has extent {}, expected {}", out, expected);
  const std::int64_t padding = std::max<std::int64_t>((out - 1) * options.stride + reach - in, 0);
  return {.in = in,
          .out = out,
          .taps = options.taps,
          .stride = options.stride,
          .dilation = options.dilation,
          .before = options.is_same ? padding / 2 : 0};
}

std::int64_t Window::taps_inside(std::int64_t window) const {
  const std::int64_t start = place(window, 0);
  const std::int64_t first = start >= 0 ? 0 : (dilation - 1 - start) / dilation;
  const std::int64_t last = start >= in ? 0 : (in - 1 - start) / dilation + 1;
  return std::max<std::int64_t>(0, std::min(taps, last) - first);
}

bool is_padding_same(const Operands& operands) {
  const std::int64_t padding = operands.integer("padding");
  if (padding != 0 && padding != 1) refuse("its padding is {}", padding);
  return padding == 0;
}

}  // namespace stowage::kernels
