// Pooling. oneDNN has kernels for dense layouts, so nothing is converted.

#include <fmt/format.h>

#include <algorithm>

#include "kernels/dnnl/operators.h"
#include "kernels/dnnl/window.h"

namespace stowage::kernels::fast {
namespace {

using Pooling = dnnl::pooling_v2_forward;

[[nodiscard]] Kernel assembled(const Signature& signature, dnnl::algorithm algorithm, const Window& window,
                               const memory::dims& target) {
  expect_output(signature, target);
  Assembly assembly(signature);
  const memory::desc source = dense(input_shape(signature, 0));
  const memory::desc result = dense(target);
  const Pooling::desc what(dnnl::prop_kind::forward_inference, algorithm, source, result, window.strides,
                           window.kernel, window.gaps(), window.pads_begin, window.pads_end);
  const Pooling::primitive_desc descriptor(what, Assembly::attributes(), assembly.engine());
  assembly.add<Pooling>(
      descriptor, {{DNNL_ARG_SRC, assembly.input(0, source)}, {DNNL_ARG_DST, assembly.output(0, result)}});
  return assembly.finish();
}

/// Widens the padding at the end to the end of the last windows. True if a window ends after the requested
/// padding.
[[nodiscard]] bool pad_last_windows(Window& window, const memory::dims& spatial, const memory::dims& places) {
  bool is_widened = false;
  for (std::size_t d = 0; d < spatial.size(); ++d) {
    const std::int64_t end = (places[d] - 1) * window.strides[d] + window.extent(d);
    const std::int64_t needed = end - window.pads_begin[d] - spatial[d];
    is_widened = is_widened || needed > window.pads_end[d];
    window.pads_end[d] = std::max(window.pads_end[d], needed);
  }
  return is_widened;
}

[[nodiscard]] dnnl::algorithm algorithm_of(const Signature& signature) {
  if (signature.type == "MaxPool") return dnnl::algorithm::pooling_max;
  return signature.attributes.integer("count_include_pad", 0) != 0
             ? dnnl::algorithm::pooling_avg_include_padding
             : dnnl::algorithm::pooling_avg_exclude_padding;
}

}  // namespace

Kernel pool(const Signature& signature) {
  expect_floats(signature, {1, 1});
  const Shape& shape = input_shape(signature, 0);
  const memory::dims spatial = spatial_of(shape);
  Window window = window_of(signature, signature.attributes.integers("kernel_shape", {}), spatial);
  if (std::any_of(window.dilations.begin(), window.dilations.end(), [](auto value) { return value != 1; }))
    throw Unsupported{"the window has gaps"};
  const dnnl::algorithm algorithm = algorithm_of(signature);
  const memory::dims places = places_of(window, spatial, signature.attributes.integer("ceil_mode", 0) != 0);
  const bool is_widened = pad_last_windows(window, spatial, places);
  if (is_widened && algorithm == dnnl::algorithm::pooling_avg_include_padding)
    throw Unsupported{"a window reaches beyond the padding, and oneDNN would count that"};
  memory::dims target{shape[0], shape[1]};
  target.insert(target.end(), places.begin(), places.end());
  return assembled(signature, algorithm, window, target);
}

Kernel global_pool(const Signature& signature) {
  expect_floats(signature, {1, 1});
  const Shape& shape = input_shape(signature, 0);
  const memory::dims spatial = spatial_of(shape);
  const memory::dims zeros(spatial.size(), 0);
  const memory::dims ones(spatial.size(), 1);
  memory::dims target(shape.size(), 1);
  target[0] = shape[0];
  target[1] = shape[1];
  const bool is_max = signature.type == "GlobalMaxPool";
  return assembled(signature,
                   is_max ? dnnl::algorithm::pooling_max : dnnl::algorithm::pooling_avg_include_padding,
                   {spatial, ones, ones, zeros, zeros}, target);
}

}  // namespace stowage::kernels::fast
