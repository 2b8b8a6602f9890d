// CONV_2D and DEPTHWISE_CONV_2D of real numbers with weights of int8: a call over whole images, with scratch memory for
// an image of bytes.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "generate/element_loops.h"
#include "generate/text.h"
#include "generate/windows.h"
#include "kernels/kernels.h"
#include "kernels/tflite/hybrid.h"

namespace stowage::generate {
using kernels::Operands;
using kernels::refuse;

bool is_hybrid_convolution(const Operands& operands) {
  return operands.input(0).dtype == DType::float32 && operands.input(1).dtype == DType::int8;
}

Bytes hybrid_scratch(const kernels::Signature& signature) {
  const Operands operands(signature);
  if (!is_hybrid_convolution(operands)) return 0;
  const Shape& in = operands.input(0).shape;
  return in.empty() ? 0 : kernels::count_of(in, 1, in.size());
}

void emit_hybrid_convolution(Writer& writer) {
  const Operands operands(writer.signature());
  if (writer.axis() != nullptr) refuse("it runs by rows, which are rounded by what is in the whole image");
  const std::string scratch = writer.needed_scratch(hybrid_scratch(writer.signature()), 1);
  static_cast<void>(constant_data(writer, 1));
  const Windows it = convolution_windows(operands);
  const bool is_depthwise = operands.type() == "DEPTHWISE_CONV_2D";
  const std::int64_t inputs = is_depthwise ? 1 : operands.input(1).shape[3];
  const kernels::RealLimits limits = kernels::real_activation_limits(operands);
  const bool has_zero_point = kernels::rounds_with_zero_point(operands);
  const std::string scales = writer.sources().array(
      "scales_" + writer.number(), "scales of weights of operator " + writer.number(), DType::float32,
      kernels::symmetric_scales_of(operands.input(1), it.out_channels, is_depthwise ? 3 : 0));
  for (const Operand& operand : {writer.input(0), writer.output()}) expect_countable(operand);
  writer.need("stowage_hybrid_conv_f32");
  const std::string layer = writer.layer(
      "stowage_hybrid_conv_layer",
      fmt::format("{}{}, {}, {}, {}, {}, {}, /* images; high, to high, stride, dilation, above */\n"
                  "    {}, {}, {}, {}, {}, {}, {},\n    {}, {}, /* limits */\n",
                  shape_of(it), it.batches, it.height.in, it.height.out, it.height.stride, it.height.dilation,
                  it.height.before, it.in_channels / inputs,
                  is_depthwise ? 1 : it.height.taps * it.width.taps * inputs,
                  is_depthwise ? it.out_channels : inputs, has_zero_point ? 1 : 0, stored_weights(writer),
                  scales, stored_bias(writer, 2), literal(limits.least), literal(limits.most)));
  writer.line(fmt::format("stowage_hybrid_conv_f32(&{}, {}, {}, {});", layer, writer.input(0).at,
                          writer.output().at, scratch));
}

}  // namespace stowage::generate
