// Operators of ONNX on float32: images are [1, channels, height, width].
//
// A plan stores such an image as a whole, or by rows that have all channels. So a row is the same in both but for
// the distance from one channel to the next, which the kernels get. Sums go in the order of our own plain kernels.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "generate/images.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/onnx/convolution.h"

namespace stowage::generate {

namespace onnx_ops = kernels::onnx_ops;
using kernels::refuse;

namespace {

/// A matrix of so many rows times constant weights, [columns][terms] if they are turned.
struct RealProduct {
  std::int64_t rows = 1;
  std::int64_t terms = 1;
  std::int64_t columns = 1;
  bool is_turned = false;
};

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
    name =
        writer.sources().array("weights_" + writer.number(),
                               "weights of operator " + writer.number() + ", turned", DType::float32, turned);
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
}

void emit_gemm(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  const Attributes& attributes = signature.attributes;
  if (attributes.integer("transA", 0) != 0 || attributes.real("alpha", 1) != 1 ||
      attributes.real("beta", 1) != 1)
    refuse("it has factors, or turns its first input");
  if (writer.axis() != nullptr) refuse("it runs by rows");
  const Shape& out = signature.outputs.at(0)->shape;
  const bool is_turned = attributes.integer("transB", 0) != 0;
  if (signature.has_input(2) && kernels::count_of(signature.inputs[2]->shape) != out.at(1))
    refuse("its third input is not a number for each column");
  const RealProduct it{.rows = out[0],
                       .terms = signature.inputs.at(1)->shape.at(is_turned ? 1 : 0),
                       .columns = out[1],
                       .is_turned = is_turned};
  call_product(writer, it, real_constant(writer, 2));
}

/// Of two inputs that are computed: a matrix for each index of the dimensions in front.
void emit_product_of_inputs(Writer& writer) {
  const std::size_t rank = writer.signature().inputs.at(0)->shape.size();
  if (writer.axis() != nullptr && writer.axis()->axis + 2 == rank) writer.take_planes();
  const kernels::Signature& signature = writer.seen();
  const Shape& a = signature.inputs.at(0)->shape;
  const Shape& b = signature.inputs.at(1)->shape;
  if (signature.outputs.at(0)->dtype != DType::float32) refuse("it is not of float32");
  if (a.size() < 2 || a.size() != b.size() || !std::equal(a.begin(), a.end() - 2, b.begin()))
    refuse("it repeats {} or {}", show_shape(a), show_shape(b));
  const std::int64_t rows = a[a.size() - 2], terms = a.back(), columns = b.back();
  const std::int64_t matrices = kernels::count_of(a, 0, a.size() - 2);
  writer.need("stowage_image_f32");
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; i < {}; i++)", matrices));
  writer.line(fmt::format("  stowage_product_f32({} + i * {}, {} + i * {}, {} + i * {}, {}, {}, {});",
                          writer.input(0).at, rows * terms, writer.input(1).at, terms * columns,
                          writer.output().at, rows * columns, rows, terms, columns));
}

/// By constant weights; rows of the first input are alike, however many dimensions they are counted in.
void emit_matrix_product(Writer& writer) {
  if (!writer.sources().is_constant(writer.op().inputs.at(1).value())) return emit_product_of_inputs(writer);
  const kernels::Signature& signature = writer.seen();
  const Shape& weights = signature.inputs.at(1).value().shape;
  const Shape& out = signature.outputs.at(0)->shape;
  if (weights.size() != 2) refuse("its second input has {} dimensions, expected 2", weights.size());
  if (kernels::count_of(signature.inputs.at(0)->shape) % weights[0] != 0 || out.empty() ||
      out.back() != weights[1])
    refuse("its rows do not fit its weights");
  call_product(writer,
               {.rows = kernels::count_of(out) / weights[1], .terms = weights[0], .columns = weights[1]},
               "NULL");
}

/// BatchNormalization with given statistics: a factor and a number to add for each channel.
void emit_batch_normalization(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  static_cast<void>(
      kernels::prepare(writer.signature(), KernelSet::plain));  // refuses what it cannot compute
  const Shape& shape = writer.signature().inputs.at(0)->shape;
  if (shape.size() < 2 || shape[0] != 1) refuse("its input is {}", show_shape(shape));
  const auto numbers = [&](std::size_t i) {
    static_cast<void>(real_constant(writer, i));
    std::vector<float> all(static_cast<std::size_t>(shape[1]));
    std::memcpy(all.data(), constant_data(writer, i).data(), all.size() * sizeof(float));
    return all;
  };
  if (signature.inputs[0]->dtype != DType::float32) refuse("it is not of float32");
  const std::vector<float> scale = numbers(1), bias = numbers(2), mean = numbers(3), variance = numbers(4);
  const auto epsilon = static_cast<double>(signature.attributes.real("epsilon", 1e-5F));
  std::vector<float> factors;
  std::vector<float> terms;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double factor =
        static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    factors.push_back(static_cast<float>(factor));
    terms.push_back(static_cast<float>(static_cast<double>(bias[c]) - static_cast<double>(mean[c]) * factor));
  }
  const std::string n = writer.number();
  const std::string by =
      writer.sources().array("scale_" + n, "factors of operator " + n, DType::float32, factors);
  const std::string plus =
      writer.sources().array("shift_" + n, "terms of operator " + n, DType::float32, terms);
  const Operand in = writer.input(0);
  writer.need("stowage_image_f32");
  const std::int64_t channels = in.shape[1];
  writer.line(fmt::format("stowage_image_scale_f32({0}{1}, {2}{1}, {3}, {4}, {5}, {6});", by,
                          writer.of_plane(), plus, in.at, writer.output().at, channels,
                          in.count() / channels));
}

/// A limit in an attribute or a constant input.
float limit_of(Writer& writer, std::size_t input, std::string_view attribute, float otherwise) {
  if (!writer.signature().has_input(input)) return writer.signature().attributes.real(attribute, otherwise);
  static_cast<void>(real_constant(writer, input));
  float limit = 0;
  std::memcpy(&limit, constant_data(writer, input).data(), sizeof limit);
  return limit;
}

void emit_clip(Writer& writer) {
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));
  if (writer.signature().outputs.at(0)->dtype != DType::float32) refuse("it is not of float32");
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float least = limit_of(writer, 1, "min", -infinity);
  const float most = limit_of(writer, 2, "max", infinity);
  const std::string layer =
      writer.layer("stowage_limits_f32", fmt::format("{}, {}", literal(least), literal(most)));
  const Operand in = writer.input(0);
  writer.need("stowage_activation_f32");
  writer.line(
      fmt::format("stowage_clamp_run_f32(&{}, {}, {}, {});", layer, in.at, writer.output().at, in.count()));
}

/// Over the last dimensions.
void emit_softmax_of_onnx(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));
  const Shape& shape = signature.inputs.at(0)->shape;
  if (signature.inputs[0]->dtype != DType::float32) refuse("it is not of float32");
  const bool is_flat = signature.version < 13;
  const std::int64_t given = signature.attributes.integer("axis", is_flat ? 1 : -1);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  const std::int64_t length =
      kernels::count_of(shape, axis, is_flat ? shape.size() : std::min(axis + 1, shape.size()));
  if (kernels::count_of(shape, axis, shape.size()) != length) refuse("its numbers are apart");
  const Operand in = writer.input(0);
  writer.need("stowage_image_f32");
  writer.line(fmt::format("stowage_shares_f32({}, {}, {}, {});", in.at, writer.output().at,
                          in.count() / length, length));
}

}  // namespace

EmitPart onnx_operators() {
  return {{"Gemm", emit_gemm, RowHandling::own},
          {"MatMul", emit_matrix_product},
          {"BatchNormalization", emit_batch_normalization, RowHandling::elements},
          {"Clip", emit_clip, RowHandling::elements},
          {"Softmax", emit_softmax_of_onnx}};
}

}  // namespace stowage::generate
