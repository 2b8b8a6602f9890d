#include "quantized_networks.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "onnx_models.h"

namespace stowage::testing {
namespace {

/// Stored numbers with their scale and zero point, and the shape.
struct Bytes8 {
  std::string name{};
  std::string scale{};
  std::string zero{};
  float step = 1;
  Shape shape{};
};

class QuantizedMaker {
 public:
  explicit QuantizedMaker(std::uint64_t seed) : random_(seed), is_signed_(pick(0, 1) == 0) {}

  onnx::ModelProto make(const QuantizedOptions& options) {
    const Shape shape{1, pick(1, 4), pick(4, 9), pick(3, 12)};
    parts_.inputs = {tensor_value("x", {shape.begin(), shape.end()})};
    at_ = quantized("x", shape, 0.02F);
    const std::int64_t layers = pick(options.least_layers, options.most_layers);
    for (std::int64_t i = 0; i < layers; ++i) add_layer();
    if (pick(0, 2) > 0) classify();
    if (pick(0, 1) == 0) {
      const std::string name = real(at_);
      parts_.outputs = {tensor_value(name, {at_.shape.begin(), at_.shape.end()})};
    } else {
      parts_.outputs = {tensor_value(at_.name, {at_.shape.begin(), at_.shape.end()}, stored_type())};
    }
    return onnx_model(parts_);
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  [[nodiscard]] onnx::TensorProto::DataType stored_type() const {
    return is_signed_ ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8;
  }
  onnx::TensorProto& constant(int type, const Shape& shape) {
    onnx::TensorProto& tensor = parts_.initializers.emplace_back();
    tensor.set_name("c" + std::to_string(parts_.initializers.size()));
    tensor.set_data_type(type);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    return tensor;
  }
  std::string reals_of(const std::vector<float>& numbers, const Shape& shape) {
    onnx::TensorProto& tensor = constant(onnx::TensorProto::FLOAT, shape);
    for (const float number : numbers) tensor.add_float_data(number);
    return tensor.name();
  }
  std::string integers(int type, const Shape& shape, std::int64_t least, std::int64_t most) {
    onnx::TensorProto& tensor = constant(type, shape);
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    for (std::int64_t i = 0; i < count; ++i)
      tensor.add_int32_data(static_cast<std::int32_t>(pick(least, most)));
    return tensor.name();
  }
  float scale_near(float step) { return step * static_cast<float>(pick(70, 160)) / 100; }

  std::string add(const std::string& type, const Names& inputs, const NodeAttributes& attributes = {}) {
    const std::string name = "t" + std::to_string(parts_.nodes.size());
    parts_.nodes.push_back(node(type, inputs, {name}, attributes));
    return name;
  }

  std::string real(const Bytes8& it) { return add("DequantizeLinear", {it.name, it.scale, it.zero}); }

  /// With a zero point in the middle, at the low end, or anywhere.
  Bytes8 quantized(const std::string& name, const Shape& shape, float step) {
    const std::int64_t least = is_signed_ ? -128 : 0;
    const std::int64_t kind = pick(0, 3);
    const std::int64_t zero = kind == 0 ? least : kind == 1 ? least + 128 : pick(least + 60, least + 190);
    Bytes8 it{.scale = reals_of({step}, {}), .step = step, .shape = shape};
    it.zero = integers(stored_type(), {}, zero, zero);
    std::string from = name;
    if (zero == least && pick(0, 1) == 0) {
      const bool is_relu = pick(0, 1) == 0;
      from = is_relu ? add("Relu", {name})
                     : add("Clip", {name, reals_of({0}, {}), reals_of({step * 255.4F}, {})});
    }
    it.name = add("QuantizeLinear", {from, it.scale, it.zero});
    return it;
  }
  /// The same scale and zero point.
  Bytes8 requantized(const std::string& name, const Shape& shape) {
    Bytes8 it = at_;
    it.name = add("QuantizeLinear", {name, it.scale, it.zero});
    it.shape = shape;
    return it;
  }

  /// Weights of int8, or of uint8 around 128, with a scale for each index along an axis or one for all; then maybe a
  /// bias. Returns the real inputs of the operator; `step` is that of a typical product.
  Names weights_and_bias(const Shape& shape, std::int64_t axis, bool has_bias, float& step) {
    const std::int64_t channels = shape[static_cast<std::size_t>(axis)];
    const bool has_many = pick(0, 1) == 0;
    std::vector<float> scales;
    for (std::int64_t c = 0; c < (has_many ? channels : 1); ++c) scales.push_back(scale_near(0.01F));
    const Shape own = has_many ? Shape{channels} : Shape{};
    const bool is_int8 = pick(0, 3) > 0;
    const auto type = is_int8 ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8;
    const std::string stored = integers(type, shape, is_int8 ? -127 : 1, is_int8 ? 127 : 255);
    Names parameters{stored, reals_of(scales, own)};
    if (!is_int8 || pick(0, 1) == 0)
      parameters.push_back(integers(type, own, is_int8 ? 0 : 128, is_int8 ? 0 : 128));
    Names inputs{add("DequantizeLinear", parameters, {attribute("axis", axis)})};
    step = at_.step * 0.01F;
    if (!has_bias) return inputs;
    if (pick(0, 3) == 0) {  // real
      std::vector<float> numbers;
      for (std::int64_t c = 0; c < channels; ++c)
        numbers.push_back(step * static_cast<float>(pick(-4000, 4000)));
      inputs.push_back(reals_of(numbers, {channels}));
      return inputs;
    }
    std::vector<float> units;
    for (const float scale : scales) units.push_back(at_.step * scale);
    const Names bias{integers(onnx::TensorProto::INT32, {channels}, -4000, 4000), reals_of(units, own)};
    inputs.push_back(add("DequantizeLinear", bias, {attribute("axis", std::int64_t{0})}));
    return inputs;
  }

  /// A scale for sums of so many products.
  float scale_of_sum(std::int64_t terms, float step) {
    constexpr float spread = 60;
    return scale_near(step * spread * std::sqrt(static_cast<float>(terms)));
  }

  void add_layer() {
    const Shape in = at_.shape;
    switch (pick(0, 11)) {
      case 0:
        return pool();
      case 1: {
        const Bytes8 before = at_;
        convolve({in[1], 1, 3, 3}, in[1], {1, 1, 1, 1}, {1, 1}, {1, 1});
        const std::string sum = add("Add", {real(before), real(at_)});
        at_ = quantized(sum, in, scale_near(std::max(before.step, at_.step)));
        return;
      }
      case 2: {
        const Bytes8 before = at_;
        convolve({2, in[1], 1, 1}, 1, {0, 0, 0, 0}, {1, 1}, {1, 1});
        const std::string all =
            add("Concat", {real(before), real(at_)}, {attribute("axis", std::int64_t{1})});
        at_ = quantized(all, {1, in[1] + 2, in[2], in[3]}, scale_near(std::max(before.step, at_.step)));
        return;
      }
      case 3:
        return function();
      case 4: {
        const std::string half = add("Mul", {real(at_), real(at_)});
        const Bytes8 before = at_;
        at_ = quantized(half, in, scale_near(at_.step * at_.step * 90));
        const std::string difference = add("Sub", {real(before), real(at_)});
        at_ = quantized(difference, in, scale_near(std::max(before.step, at_.step)));
        return;
      }
      case 5: {
        const std::string square = add("Mul", {real(at_), real(at_)});
        at_ = quantized(square, in, scale_near(at_.step * at_.step * 90));
        return;
      }
      default:
        return any_convolution();
    }
  }

  void convolve(const Shape& weights, std::int64_t groups, const Shape& pads, const Shape& strides,
                const Shape& dilations) {
    const Shape in = at_.shape;
    Shape out{1, weights[0]};
    for (const std::size_t d : {2U, 3U}) {
      const std::int64_t reach = (weights[d] - 1) * dilations[d - 2] + 1;
      out.push_back((in[d] + pads[d - 2] + pads[d] - reach) / strides[d - 2] + 1);
    }
    float step = 0;
    Names inputs{real(at_)};
    for (const std::string& input : weights_and_bias(weights, 0, pick(0, 3) > 0, step))
      inputs.push_back(input);
    const std::string sum = add("Conv", inputs,
                                {attribute("group", groups), attribute("pads", pads),
                                 attribute("strides", strides), attribute("dilations", dilations)});
    at_ = quantized(sum, out, scale_of_sum(weights[1] * weights[2] * weights[3], step));
  }

  void any_convolution() {
    const Shape in = at_.shape;
    const std::int64_t groups = pick(0, 2) == 0 ? in[1] : 1;
    Shape weights{groups * pick(1, groups == 1 ? 7 : 2), in[1] / groups};
    Shape pads(4), strides, dilations;
    for (const std::size_t d : {2U, 3U}) {
      const std::int64_t taps = pick(1, std::min<std::int64_t>(3, in[d]));
      weights.push_back(taps);
      dilations.push_back(taps * 2 - 1 <= in[d] && pick(0, 3) == 0 ? 2 : 1);
      strides.push_back(pick(1, 2));
      pads[d - 2] = pick(0, taps - 1);
      pads[d] = pick(0, taps - 1);
    }
    convolve(weights, groups, pads, strides, dilations);
  }

  void function() {
    const Shape in = at_.shape;
    const bool is_sigmoid = pick(0, 1) == 0;
    const std::string result =
        is_sigmoid ? add("Sigmoid", {real(at_)}) : add("LeakyRelu", {real(at_)}, {attribute("alpha", 0.1F)});
    at_ = quantized(result, in, scale_near(is_sigmoid ? 0.006F : at_.step));
  }

  /// The most, in the same scale or another one, or the mean, with or without padding.
  void pool() {
    const Shape in = at_.shape;
    const std::int64_t stride = pick(1, 2);
    const bool is_mean = pick(0, 1) == 0;
    const std::int64_t pad = is_mean ? pick(0, 1) : 0;
    const Shape out{1, in[1], (in[2] + pad - 2) / stride + 1, (in[3] + pad - 2) / stride + 1};
    NodeAttributes attributes{attribute("kernel_shape", Shape{2, 2}),
                              attribute("strides", Shape{stride, stride}),
                              attribute("pads", Shape{pad, pad, 0, 0})};
    if (is_mean) attributes.push_back(attribute("count_include_pad", pick(0, 1)));
    const std::string name = add(is_mean ? "AveragePool" : "MaxPool", {real(at_)}, attributes);
    at_ = is_mean || pick(0, 1) == 0 ? quantized(name, out, scale_near(at_.step)) : requantized(name, out);
  }

  void classify() {
    if (pick(0, 1) == 0) {
      const std::string mean = pick(0, 1) == 0
                                   ? add("GlobalAveragePool", {real(at_)})
                                   : add("ReduceMean", {real(at_)},
                                         {attribute("axes", pick(0, 1) == 0 ? Shape{2, 3} : Shape{-2, -1})});
      at_ = quantized(mean, {1, at_.shape[1], 1, 1}, scale_near(at_.step * 0.5F));
    }
    const std::int64_t all = at_.shape[1] * at_.shape[2] * at_.shape[3];
    at_ = requantized(add("Flatten", {real(at_)}), {1, all});
    const std::int64_t kind = pick(0, 2);
    const Shape shape = kind == 0 ? Shape{5, all} : Shape{all, 5};
    float step = 0;
    Names inputs{real(at_)};
    for (const std::string& input : weights_and_bias(shape, kind == 0 ? 0 : 1, kind < 2, step))
      inputs.push_back(input);
    const std::string sum = kind == 2
                                ? add("MatMul", inputs)
                                : add("Gemm", inputs, {attribute("transB", std::int64_t{kind == 0 ? 1 : 0})});
    at_ = quantized(sum, {1, 5}, scale_of_sum(all, step));
  }

  std::mt19937_64 random_;
  bool is_signed_;
  OnnxParts parts_{};
  Bytes8 at_{};
};

}  // namespace

onnx::ModelProto random_quantized_model(std::uint64_t seed, const QuantizedOptions& options) {
  return QuantizedMaker(seed).make(options);
}

}  // namespace stowage::testing
