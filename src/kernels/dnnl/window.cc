#include "kernels/dnnl/window.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/window_places.h"

namespace stowage::kernels::fast {
namespace {

[[nodiscard]] memory::dims numbers(const Signature& signature, std::string_view name, std::size_t count,
                                   std::int64_t otherwise) {
  memory::dims values = signature.attributes.integers(name, memory::dims(count, otherwise));
  if (values.size() != count)
    throw Unsupported{fmt::format("{} has {} numbers, expected {}", name, values.size(), count)};
  return values;
}

void expect_between(std::string_view name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    throw Unsupported{fmt::format("{} has {}, expected {} to {}", name, value, least, most)};
}

/// Pads so that the output is as large as the input divided by the stride.
void pad_to_same(Window& window, const memory::dims& spatial, bool more_at_end) {
  for (std::size_t d = 0; d < spatial.size(); ++d) {
    const std::int64_t places = (spatial[d] + window.strides[d] - 1) / window.strides[d];
    const std::int64_t total =
        std::max<std::int64_t>(0, (places - 1) * window.strides[d] + window.extent(d) - spatial[d]);
    window.pads_begin[d] = more_at_end ? total / 2 : total - total / 2;
    window.pads_end[d] = total - window.pads_begin[d];
  }
}

void set_pads(const Signature& signature, Window& window, const memory::dims& spatial) {
  const std::size_t rank = spatial.size();
  const std::string automatic = signature.attributes.text("auto_pad", "NOTSET");
  window.pads_begin = window.pads_end = memory::dims(rank, 0);
  if (automatic == "NOTSET") {
    const memory::dims pads = numbers(signature, "pads", 2 * rank, 0);
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
    window.pads_begin.assign(pads.begin(), middle);
    window.pads_end.assign(middle, pads.end());
  } else if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    pad_to_same(window, spatial, automatic == "SAME_UPPER");
  } else if (automatic != "VALID") {
    throw Unsupported{fmt::format("auto_pad is {}", automatic)};
  }
}

}  // namespace

memory::dims Window::gaps() const {
  memory::dims gaps = dilations;
  for (std::int64_t& gap : gaps) --gap;
  return gaps;
}

memory::dims spatial_of(const Shape& shape) {
  constexpr std::size_t least = 3;
  constexpr std::size_t most = 5;
  if (shape.size() < least || shape.size() > most)
    throw Unsupported{fmt::format("{} dimensions, expected {} to {}", shape.size(), least, most)};
  return {shape.begin() + 2, shape.end()};
}

Window window_of(const Signature& signature, const memory::dims& kernel, const memory::dims& spatial) {
  Window window{.kernel = kernel};
  const std::size_t rank = spatial.size();
  if (kernel.size() != rank)
    throw Unsupported{fmt::format("kernel has {} dimensions, expected {}", kernel.size(), rank)};
  if (numbers(signature, "kernel_shape", rank, 0) != kernel && signature.attributes.has("kernel_shape"))
    throw Unsupported{fmt::format("kernel_shape is not the kernel's [{}]", fmt::join(kernel, ","))};
  window.strides = numbers(signature, "strides", rank, 1);
  window.dilations = numbers(signature, "dilations", rank, 1);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t reach = 3 * spatial[d];
    expect_between("kernel_shape", kernel[d], 1, reach);
    expect_between("strides", window.strides[d], 1, reach);
    expect_between("dilations", window.dilations[d], 1, reach);
    expect_between("extent", window.extent(d), 1, reach);
  }
  set_pads(signature, window, spatial);
  for (std::size_t d = 0; d < rank; ++d) {
    // Primitives do not support a kernel that covers only padding.
    const std::int64_t most = std::min(spatial[d], window.extent(d) - 1);
    expect_between("pads", window.pads_begin[d], 0, most);
    expect_between("pads", window.pads_end[d], 0, most);
  }
  return window;
}

memory::dims places_of(const Window& window, const memory::dims& spatial, bool is_ceiled) {
  memory::dims places(spatial.size());
  for (std::size_t d = 0; d < spatial.size(); ++d) {
    const std::int64_t free = spatial[d] + window.pads_begin[d] + window.pads_end[d] - window.extent(d);
    if (free < 0) throw Unsupported{fmt::format("kernel of {} is larger than its input", window.extent(d))};
    places[d] = model::window_places({.free = free,
                                      .stride = window.strides[d],
                                      .inside = spatial[d] + window.pads_begin[d],
                                      .ceils = is_ceiled});
  }
  return places;
}

void expect_output(const Signature& signature, const memory::dims& expected) {
  if (output_shape(signature) != expected)
    throw Unsupported{fmt::format("output is [{}], expected [{}]", fmt::join(output_shape(signature), ","),
                                  fmt::join(expected, ","))};
}

}  // namespace stowage::kernels::fast
