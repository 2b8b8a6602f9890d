// Products of matrices of float32: by constant weights as convolutions of one place, others with any distances of their
// elements. Each output adds its products in their order, as our own kernels do. Those of BATCH_MATMUL of 8 bits have
// calls of their own.

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "generate/element_loops.h"
#include "generate/images.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/tflite/fixed_point.h"

namespace stowage::generate {

void call_for_matrices(Writer& writer, const kernels::onnx_ops::MatrixProducts& products,
                       const std::string& call, MatrixPlaces at) {
  std::string indent;
  std::int64_t inner = products.one.rows * products.one.columns * kernels::count_of(products.batch);
  for (std::size_t d = 0; d < products.batch.size(); ++d) {
    inner = products.batch[d] == 0 ? 0 : inner / products.batch[d];
    if (products.batch[d] == 1) continue;
    const std::string index = fmt::format("m{}", d);
    writer.declare(fmt::format("int32_t {};", index));
    writer.line(fmt::format("{0}for ({1} = 0; {1} < {2}; {1}++)", indent, index, products.batch[d]));
    at.a += moved(index, products.a_strides[d]);
    at.b += moved(index, products.b_strides[d]);
    at.out += moved(index, inner);
    indent += "  ";
  }
  writer.line(fmt::format("{}{}, {}, {}, {});", indent, call, at.a, at.b, at.out));
}

namespace {

namespace onnx_ops = kernels::onnx_ops;
using kernels::refuse;

/// A matrix of so many rows times constant weights, [columns][terms] if they are turned.
struct RealProduct {
  std::int64_t rows = 1;
  std::int64_t terms = 1;
  std::int64_t columns = 1;
  bool is_turned = false;
  float alpha = 1;
};

void multiply_all(Writer& writer, const Operand& numbers, float alpha) {
  if (alpha == 1) return;
  write_loops(writer, {{.operand = numbers}}, numbers,
              [&](const std::vector<std::string>& elements, const std::string& place) {
                return std::vector{fmt::format("{} = {} * {};", place, literal(alpha), elements[0])};
              });
}

/// Each row of the output is a convolution of one place.
void call_product(Writer& writer, const RealProduct& it, const std::string& bias) {
  if (writer.signature().outputs.at(0)->dtype != DType::float32) refuse("it is not of float32");
  std::string name = real_constant(writer, 1);
  if (!it.is_turned) {
    const auto data = constant_data(writer, 1);
    std::vector<float> turned(data.size() / sizeof(float));
    for (std::size_t i = 0; i < turned.size(); ++i) {
      const auto columns = static_cast<std::size_t>(it.columns);
      const std::size_t to = i % columns * static_cast<std::size_t>(it.terms) + i / columns;
      std::memcpy(&turned[to], data.data() + i * sizeof(float), sizeof(float));
    }
    name = writer.stores(1, "weights",
                         writer.sources().array("weights_" + writer.number(),
                                                "weights of operator " + writer.number() + ", turned",
                                                DType::float32, turned));
  }
  Windows place{.in_channels = it.terms, .out_channels = it.columns};
  place.width = {.in = 1, .out = 1};
  const std::string layer = writer.layer("stowage_image_conv_layer",
                                         fmt::format("{}1, 1, 1, {}, {}\n", shape_of(place), name, bias));
  writer.need("stowage_image_f32");
  writer.declare("const void *rows[1];");
  const bool has_rows = writer.axis() != nullptr;
  if (!has_rows) writer.loop_over(it.rows);
  if (has_rows && it.rows != 1) writer.declare("int32_t i;");
  const std::string index = !has_rows ? "y" : it.rows != 1 ? "i" : "0";
  if (has_rows && it.rows != 1) writer.line(fmt::format("for (i = 0; i < {}; i++) {{", it.rows));
  writer.line(fmt::format("rows[0] = {} + {} * {};", writer.input(0).at, index, it.terms));
  writer.line(fmt::format("stowage_image_conv_f32(&{}, rows, {} + {} * {});", layer, writer.output().at,
                          index, it.columns));
  if (has_rows && it.rows != 1) writer.line("}");
  Operand made = writer.output();
  if (!has_rows) {
    made.at += fmt::format(" + y * {}", it.columns);
    made.shape = {it.columns};
  }
  multiply_all(writer, made, it.alpha);
}

/// What else a product does.
struct Factors {
  std::string factor = "1.0F";  ///< Of elements of a.
  bool adds = false;            ///< To what is in the output.
};

std::string fields_of(const onnx_ops::MatrixProduct& one, bool adds) {
  return fmt::format("{}, {}, {}, {}, {}, {}, {}, {}", one.rows, one.terms, one.columns, one.a_row,
                     one.a_column, one.b_row, one.b_column, adds ? 1 : 0);
}

void call_products(Writer& writer, const onnx_ops::MatrixProducts& products, const Factors& factors = {}) {
  const std::string layer = writer.layer("stowage_product_shape", fields_of(products.one, factors.adds));
  writer.need("stowage_product_f32");
  call_for_matrices(writer, products, fmt::format("stowage_product_f32(&{}, {}", layer, factors.factor),
                    {writer.input(0).at, writer.input(1).at, writer.output().at});
}

/// Of int8 and uint8, scaled to the output.
void call_scaled_products(Writer& writer, const onnx_ops::MatrixProducts& products) {
  const kernels::Operands operands(writer.seen());
  const kernels::Affine a = kernels::affine_of(operands.input(0));
  const kernels::Affine b = kernels::affine_of(operands.input(1));
  const kernels::Affine out = kernels::affine_of(operands.output());
  const float unit = a.scale * b.scale;
  const kernels::Multiplier factor =
      kernels::multiplier_of(static_cast<double>(unit) / static_cast<double>(out.scale));
  const std::string kernel = fmt::format("stowage_product_{}", suffix_of(operands.output().dtype));
  const std::string layer =
      writer.layer("stowage_scaled_product_layer",
                   fmt::format("{{{}}}, {}, {}, {}, {{{}, {}}}", fields_of(products.one, false), a.zero_point,
                               b.zero_point, out.zero_point, factor.mantissa, factor.shift));
  writer.need(kernel);
  call_for_matrices(writer, products, fmt::format("{}(&{}", kernel, layer),
                    {writer.input(0).at, writer.input(1).at, writer.output().at});
}

/// alpha * a * b + beta * c: c is repeated to the output, to which products are added.
void emit_general_gemm(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const Attributes& attributes = signature.attributes;
  const Operand out = writer.output();
  const std::string beta = literal(attributes.real("beta", 1));
  std::vector<LoopInput> added;
  if (signature.has_input(2)) added.push_back(loop_input(writer, 2));
  write_loops(writer, added, out, [&](const std::vector<std::string>& elements, const std::string& place) {
    return std::vector{fmt::format("{} = {};", place,
                                   elements.empty() ? "0.0F" : fmt::format("{} * {}", beta, elements[0]))};
  });
  const onnx_ops::MatrixProducts products = onnx_ops::matrix_products_of(
      signature.inputs.at(0)->shape, signature.inputs.at(1)->shape, out.shape,
      onnx_ops::matrix_order_of(attributes, 'A'), onnx_ops::matrix_order_of(attributes, 'B'));
  call_products(writer, products, {.factor = literal(attributes.real("alpha", 1)), .adds = true});
}

void emit_gemm(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  const Attributes& attributes = signature.attributes;
  if (signature.outputs.at(0)->dtype != DType::float32) refuse("it is not of float32");
  if (writer.axis() != nullptr) refuse("it runs by rows");
  const Shape& out = signature.outputs[0]->shape;
  const bool is_turned = attributes.integer("transB", 0) != 0;
  const auto is_constant = [&](std::size_t i) {
    return !signature.has_input(i) || writer.sources().is_constant(*writer.op().inputs[i]);
  };
  const bool is_simple = attributes.integer("transA", 0) == 0 && attributes.real("alpha", 1) == 1 &&
                         attributes.real("beta", 1) == 1 && is_constant(1) && is_constant(2);
  const bool has_bias = signature.has_input(2);
  if (!is_simple || (has_bias && signature.inputs[2]->shape != Shape{out.at(1)} &&
                     signature.inputs[2]->shape != Shape{1, out[1]}))
    return emit_general_gemm(writer);
  const RealProduct it{.rows = out[0],
                       .terms = signature.inputs.at(1)->shape.at(is_turned ? 1 : 0),
                       .columns = out[1],
                       .is_turned = is_turned};
  call_product(writer, it, real_constant(writer, 2));
}

/// A matrix for each index of the dimensions in front, along which inputs may be repeated.
void emit_product_of_inputs(Writer& writer) {
  const std::size_t rank = writer.signature().outputs.at(0).value().shape.size();
  if (writer.axis() != nullptr && writer.axis()->axis + 2 == rank) writer.take_planes();
  const kernels::Signature& signature = writer.seen();
  const DType dtype = signature.outputs.at(0)->dtype;
  const bool is_scaled = is_byte(dtype) && signature.type == "BATCH_MATMUL";
  if (dtype != DType::float32 && !is_scaled) refuse("it is not of float32");
  const Attributes& attributes = signature.attributes;
  const auto order_of = [&](char operand, const char* flag) {
    onnx_ops::MatrixOrder order = onnx_ops::matrix_order_of(attributes, operand);
    order.is_transposed |= attributes.integer(flag, 0) != 0;
    return order;
  };
  const onnx_ops::MatrixProducts products = onnx_ops::matrix_products_of(
      signature.inputs.at(0)->shape, signature.inputs.at(1)->shape, signature.outputs[0]->shape,
      order_of('A', "adj_x"), order_of('B', "adj_y"));
  if (is_scaled) return call_scaled_products(writer, products);
  call_products(writer, products);
  multiply_all(writer, writer.output(), attributes.real("alpha", 1));
}

/// By constant weights; rows of the first input are alike, however many dimensions they are counted in.
void emit_matrix_product(Writer& writer) {
  if (!writer.sources().is_constant(writer.op().inputs.at(1).value())) return emit_product_of_inputs(writer);
  const kernels::Signature& signature = writer.seen();
  const Shape& weights = signature.inputs.at(1).value().shape;
  const Shape& out = signature.outputs.at(0)->shape;
  const onnx_ops::MatrixOrder order = onnx_ops::matrix_order_of(signature.attributes, 'A');
  if (weights.size() != 2 || order.is_transposed || order.has_batch_inside)
    return emit_product_of_inputs(writer);
  const bool is_turned = onnx_ops::matrix_order_of(signature.attributes, 'B').is_transposed;
  const std::int64_t terms = weights[is_turned ? 1 : 0];
  const std::int64_t columns = weights[is_turned ? 0 : 1];
  if (kernels::count_of(signature.inputs.at(0)->shape) % terms != 0 || out.empty() || out.back() != columns)
    refuse("its rows do not fit its weights");
  call_product(writer,
               {.rows = kernels::count_of(out) / columns,
                .terms = terms,
                .columns = columns,
                .is_turned = is_turned,
                .alpha = signature.attributes.real("alpha", 1)},
               "NULL");
}

}  // namespace

EmitPart product_operators() {
  return {{"Gemm", emit_gemm, RowHandling::own},
          {"MatMul", emit_matrix_product},
          {"com.microsoft.FusedMatMul", emit_matrix_product},
          {"com.microsoft.TransposeMatMul", emit_matrix_product},
          {"BATCH_MATMUL", emit_product_of_inputs}};
}

}  // namespace stowage::generate
