// Windows of float32 that kernels for images do not take: over three dimensions, by weights that are computed, and pools
// of norms. Whole tensors only.

#include "generate/volumes.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "generate/element_loops.h"
#include "generate/images.h"
#include "generate/text.h"
#include "kernels/onnx/convolution.h"

namespace stowage::generate {

namespace onnx_ops = kernels::onnx_ops;
using kernels::refuse;

namespace {

constexpr std::size_t rank_of_volumes = 5;

/// Refuses all but whole tensors of float32.
void expect_whole_reals(Writer& writer) {
  if (writer.kind().axis) refuse("it runs by rows");
  const kernels::Signature& signature = writer.signature();
  if (signature.has_output(1)) refuse("it gives indices");
  for (const auto* const list : {&signature.inputs, &signature.outputs})
    for (const auto& argument : *list)
      if (argument && argument->dtype != DType::float32)
        refuse("{} is not supported", name_of(argument->dtype));
  expect_countable(writer.input(0));
  expect_countable(writer.output());
}

/// What a window moves over; in pools, groups are channels.
struct Planes {
  std::int64_t batches = 1;
  std::int64_t groups = 1;
  std::int64_t inputs = 1;
  std::int64_t outputs = 1;
};

std::string volume_layer(Writer& writer, const Planes& planes, const onnx_ops::Window& window) {
  std::string fields =
      fmt::format("{}, {}, {}, {}", planes.batches, planes.groups, planes.inputs, planes.outputs);
  using Member = std::int64_t onnx_ops::WindowAxis::*;
  for (const Member member :
       {&onnx_ops::WindowAxis::input, &onnx_ops::WindowAxis::output, &onnx_ops::WindowAxis::kernel,
        &onnx_ops::WindowAxis::stride, &onnx_ops::WindowAxis::dilation, &onnx_ops::WindowAxis::begin})
    fields += fmt::format(", {{{}, {}, {}}}", window.axes[0].*member, window.axes[1].*member,
                          window.axes[2].*member);
  writer.need("stowage_volume_f32");
  return writer.layer("stowage_volume_shape", fields);
}

void call_pool(Writer& writer, std::string_view kernel, const onnx_ops::Window& window,
               const std::string& more) {
  const Shape& in = writer.signature().inputs.at(0)->shape;
  const std::string layer = volume_layer(writer, {.batches = in.at(0), .groups = in.at(1)}, window);
  writer.line(fmt::format("stowage_volume_{}_f32(&{}, {}{}, {});", kernel, layer, more, writer.input(0).at,
                          writer.output().at));
}

onnx_ops::Window window_of_pool(const kernels::Signature& signature) {
  if (!signature.attributes.has("kernel_shape")) refuse("kernel_shape is missing");
  return onnx_ops::window_of(signature, signature.inputs.at(0)->shape, signature.outputs.at(0)->shape,
                             signature.attributes.integers("kernel_shape", {}));
}

/// Over whole planes.
onnx_ops::Window window_of_planes(const kernels::Signature& signature) {
  const Shape& in = signature.inputs.at(0)->shape;
  onnx_ops::Window window;
  window.axes[2].input = window.axes[2].kernel = kernels::count_of(in, 2, in.size());
  return window;
}

template <bool is_global>
void emit_norm_pool(Writer& writer) {
  expect_whole_reals(writer);
  const kernels::Signature& signature = writer.signature();
  const double power = signature.version < 2 ? static_cast<double>(signature.attributes.real("p", 2))
                                             : static_cast<double>(signature.attributes.integer("p", 2));
  call_pool(writer, "norm", is_global ? window_of_planes(signature) : window_of_pool(signature),
            literal(power) + ", ");
}

}  // namespace

bool has_volumes(const kernels::Signature& signature) {
  return signature.inputs.at(0).value().shape.size() == rank_of_volumes;
}

void emit_volume_conv(Writer& writer) {
  expect_whole_reals(writer);
  const kernels::Signature& signature = writer.signature();
  const kernels::Argument* const bias = signature.has_input(2) ? &*signature.inputs[2] : nullptr;
  const onnx_ops::Convolution c = onnx_ops::convolution_of(signature, signature.inputs.at(0).value(),
                                                           signature.inputs.at(1).value(), bias);
  const std::string layer = volume_layer(
      writer, {.batches = c.batches, .groups = c.groups, .inputs = c.inputs, .outputs = c.outputs}, c.window);
  writer.line(fmt::format("stowage_volume_conv_f32(&{}, {}, {}, {}, {});", layer, writer.input(0).at,
                          writer.input(1).at, bias == nullptr ? "NULL" : writer.input(2).at,
                          writer.output().at));
}

void emit_volume_pool(Writer& writer, bool is_average) {
  expect_whole_reals(writer);
  const onnx_ops::Window window = window_of_pool(writer.signature());
  if (!is_average) return call_pool(writer, "max", window, "");
  call_pool(writer, "average", window, fmt::format("{}, ", counted_elements(writer.signature(), window)));
}

void emit_volume_average(Writer& writer) {
  expect_whole_reals(writer);
  call_pool(writer, "average", window_of_planes(writer.signature()), "0, ");
}

EmitPart volume_operators() {
  return {{"GlobalLpPool", emit_norm_pool<true>, RowHandling::own},
          {"LpPool", emit_norm_pool<false>, RowHandling::own}};
}

}  // namespace stowage::generate
