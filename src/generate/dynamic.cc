// Operators of ONNX on numbers of 8 bits that give sums of int32, and bytes whose scales are computed: those that dynamic
// quantization leaves.

#include <fmt/format.h>

#include "generate/images.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/onnx/convolution.h"
#include "kernels/onnx/product.h"

namespace stowage::generate {
namespace {

using kernels::refuse;
namespace onnx_ops = kernels::onnx_ops;

void emit_dynamic_quantize(Writer& writer) {
  const auto output_or_null = [&](std::size_t i) {
    return writer.signature().has_output(i) ? writer.output(i).at : "NULL";
  };
  const Operand input = writer.input(0);
  writer.need("stowage_dynamic");
  writer.line(fmt::format("stowage_dynamic_quantize({}, {}, {}, {}, {});", input.at, input.count(),
                          writer.output().at, output_or_null(1), output_or_null(2)));
}

int flip_of_bytes(DType dtype) { return dtype == DType::int8 ? 128 : 0; }

/// Sums of products of bytes stay within 32 bits.
void expect_few_terms(std::int64_t terms) {
  constexpr std::int64_t most = 33000;
  if (terms > most) refuse("it adds up {} products", terms);
}

std::string bytes_at(const std::string& place) { return "(const uint8_t *)" + place; }

/// The zero point of the first input, which may be computed.
std::string zero_of_first(Writer& writer) {
  if (!writer.signature().has_input(2)) return "NULL";
  if (kernels::count_of(writer.signature().inputs[2]->shape) != 1)
    refuse("its first input has several zero points");
  return bytes_at(writer.input(2).at);
}

bool has_several(const kernels::Signature& signature, std::size_t i) {
  return signature.has_input(i) && kernels::count_of(signature.inputs[i]->shape) != 1;
}

/// The second input is one matrix for all, or there are as many of both.
void emit_integer_product(Writer& writer) {
  const std::size_t rank = writer.signature().inputs.at(0)->shape.size();
  if (writer.axis() != nullptr && writer.axis()->axis + 2 == rank) writer.take_planes();
  const kernels::Signature& signature = writer.seen();
  const Shape& a = signature.inputs.at(0)->shape;
  const Shape& b = signature.inputs.at(1)->shape;
  const Shape& out = signature.outputs.at(0)->shape;
  const onnx_ops::MatrixProducts products = onnx_ops::matrix_products_of(a, b, out);
  onnx_ops::MatrixProduct p = products.one;
  expect_few_terms(p.terms);
  const std::int64_t matrices = b.size() <= 2 ? 1 : kernels::count_of(b, 0, b.size() - 2);
  if (matrices != 1 && (a.size() != b.size() || !std::equal(a.begin(), a.end() - 2, b.begin())))
    refuse("it repeats {} or {}", show_shape(a), show_shape(b));
  if (matrices == 1) p.rows = kernels::count_of(out) / std::max<std::int64_t>(p.columns, 1);
  writer.need("stowage_dynamic");
  const std::string layer = writer.layer(
      "stowage_integer_product_layer",
      fmt::format("{}, {}, {}, {}, {}, {}", p.rows, p.terms, p.columns, has_several(signature, 3) ? 1 : 0,
                  flip_of_bytes(signature.inputs[0]->dtype), flip_of_bytes(signature.inputs[1]->dtype)));
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; i < {}; i++)", matrices));
  writer.line(fmt::format("  stowage_integer_product(&{}, {} + i * {}, {}, {} + i * {}, {}, {} + i * {});",
                          layer, bytes_at(writer.input(0).at), p.rows * p.terms, zero_of_first(writer),
                          bytes_at(writer.input(1).at), p.terms * p.columns,
                          signature.has_input(3) ? bytes_at(writer.input(3).at) : "NULL", writer.output().at,
                          p.rows * p.columns));
}

void emit_integer_conv(Writer& writer) {
  expect_images_of_onnx(writer);
  const kernels::Signature& signature = writer.signature();
  const onnx_ops::Convolution c = onnx_ops::convolution_of(signature, signature.inputs.at(0).value(),
                                                           signature.inputs.at(1).value(), nullptr);
  const ImageWindows it = image_windows(writer, c.window, c.groups * c.inputs, c.channels());
  if (it.windows.is_columns) refuse("it runs by columns");
  expect_few_terms(c.inputs * c.window.elements());
  static_cast<void>(constant_data(writer, 1));
  if (signature.has_input(3)) static_cast<void>(constant_data(writer, 3));
  writer.need("stowage_dynamic");
  const std::string layer =
      writer.layer("stowage_integer_conv_layer",
                   fmt::format("{}{}, {}, {},\n    {}, {}, {}, {}, {}\n", shape_of(it.windows), c.groups,
                               it.in_plane, it.out.row, bytes_at(writer.input(1).at),
                               signature.has_input(3) ? bytes_at(writer.input(3).at) : "NULL",
                               has_several(signature, 3) ? 1 : 0, flip_of_bytes(signature.inputs[0]->dtype),
                               flip_of_bytes(signature.inputs[1]->dtype)));
  call_on_image(writer, it, "integer_conv", layer, zero_of_first(writer) + ", ");
}

}  // namespace

EmitPart dynamic_operators() {
  return {{"ConvInteger", emit_integer_conv, RowHandling::own},
          {"DynamicQuantizeLinear", emit_dynamic_quantize},
          {"MatMulInteger", emit_integer_product, RowHandling::own}};
}

}  // namespace stowage::generate
