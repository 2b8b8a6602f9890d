#include "layer_networks.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernel_calls.h"

namespace stowage::testing {
namespace {

using OperatorSettings = std::vector<std::pair<std::string, Attributes::Value>>;

class LayerMaker {
 public:
  LayerMaker(std::uint64_t seed, DType dtype) : random_(seed), dtype_(dtype) {
    graph_.name = "layers";
    graph_.subgraphs.resize(1);
    network_.details.resize(1);
  }

  Network make() {
    const std::int64_t batch = pick(0, 9) == 0 ? 2 : 1;
    // Of windows over many channels: there rows are worth computing again.
    const bool is_chain = batch == 1 && pick(0, 2) == 0;
    std::vector<TensorId> inputs{add("x", TensorKind::input, {batch, pick(4, 11), pick(3, 8), pick(1, 6)})};
    if (pick(0, 5) == 0) inputs.push_back(add("second", TensorKind::input, *graph_.tensors[inputs[0]].shape));
    graph_.subgraphs[0].inputs = inputs;
    TensorId at = inputs[0];
    if (inputs.size() > 1) at = binary("ADD", at, inputs[1]);
    const std::int64_t layers = is_chain ? pick(2, 4) : pick(1, 7);
    for (std::int64_t i = 0; i < layers; ++i) at = is_chain ? expanded(at, true) : layer(at);
    if (pick(0, 2) > 0) at = classifier(at);
    if (at == inputs[0]) at = unary(at);
    finish(at);
    network_.input.content = graph_;
    network_.input.info.name = "layers";
    add_rows(network_);
    return std::move(network_);
  }

 private:
  [[nodiscard]] bool is_quantized() const { return dtype_ != DType::float32; }
  /// The zero point with the same distance from the least number as one of int8. Only 0 for int16.
  [[nodiscard]] std::int64_t zero_point(std::int64_t of_int8) const {
    return dtype_ == DType::uint8 ? of_int8 + 128 : dtype_ == DType::int16 ? 0 : of_int8;
  }
  /// Of an output that fills its type, or half of it if it has both signs.
  void quantize_unit(bool is_signed) {
    const float steps = dtype_ == DType::int16 ? 32768.0F : is_signed ? 128.0F : 256.0F;
    quantize({{1 / steps}, {zero_point(is_signed ? 0 : -128)}});
  }
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  float scale() { return 0.01F * static_cast<float>(pick(1, 30)); }
  [[nodiscard]] const Shape& shape(TensorId t) const { return *graph_.tensors[t].shape; }
  [[nodiscard]] DType type(TensorId t) const { return graph_.tensors[t].dtype; }

  TensorId add(const std::string& name, TensorKind kind, const Shape& shape,
               std::optional<DType> dtype = {}) {
    const DType own = dtype.value_or(dtype_);
    graph_.tensors.push_back(
        {.name = name, .kind = kind, .dtype = own, .shape = shape, .bytes = bytes_of(own, shape)});
    network_.quantizations.emplace_back();
    if (own == DType::int8) quantize({{scale()}, {pick(-20, 20)}});
    if (own == DType::uint8) quantize({{scale()}, {pick(108, 148)}});
    if (own == DType::int16) quantize({{scale() / 100}, {0}});
    return graph_.tensors.size() - 1;
  }
  void quantize(const Quantization& quantization) { network_.quantizations.back() = quantization; }

  TensorId constant(const Array& array) {
    const TensorId t =
        add("c" + std::to_string(graph_.tensors.size()), TensorKind::weight, array.shape, array.dtype);
    network_.input.constants.set(t, array.data);
    return t;
  }
  TensorId values(const Shape& shape, DType dtype) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < kernels::count_of(shape); ++i)
      all.push_back(static_cast<double>(pick(-127, 127)) / (is_quantized() ? 1 : 100));
    if (dtype == DType::int8) return constant(array<std::int8_t>(shape, all));
    if (dtype == DType::float32) return constant(array<float>(shape, all));
    for (double& value : all) value = dtype == DType::uint8 ? value + 128 : value * 200;
    return constant(dtype == DType::uint8 ? array<std::uint8_t>(shape, all)
                                          : array<std::int16_t>(shape, all));
  }
  TensorId values(const Shape& shape) { return values(shape, dtype_); }
  /// Weights with scales of channels, or one.
  TensorId weights(const Shape& shape, std::size_t axis) {
    const TensorId t = values(shape, dtype_ == DType::int16 ? DType::int8 : dtype_);
    if (!is_quantized()) return t;
    Quantization own{.axis = axis};
    const bool has_one = dtype_ == DType::uint8 || pick(0, 1) == 0;
    const std::int64_t scales = has_one ? 1 : shape[axis];
    const float unit = dtype_ == DType::int16 ? 100 : 20;
    for (std::int64_t i = 0; i < scales; ++i) {
      own.scales.push_back(scale() / unit);
      own.zero_points.push_back(dtype_ == DType::uint8 ? pick(100, 156) : 0);
    }
    quantize(own);
    return t;
  }
  TensorId bias(std::int64_t channels) {
    std::vector<double> all(static_cast<std::size_t>(channels));
    for (double& value : all) value = static_cast<double>(pick(-900, 900)) / (is_quantized() ? 1 : 100);
    if (!is_quantized()) return constant(array<float>({channels}, all));
    if (dtype_ == DType::int16 && pick(0, 2) > 0) return constant(array<std::int64_t>({channels}, all));
    return constant(array<std::int32_t>({channels}, all));
  }
  TensorId numbers(const std::vector<double>& values, const Shape& shape) {
    return constant(array<std::int32_t>(shape, values));
  }

  TensorId op(const std::string& type, const std::vector<TensorId>& inputs, const Shape& shape,
              const OperatorSettings& settings = {}, std::optional<DType> dtype = {}) {
    const TensorId output =
        add("t" + std::to_string(graph_.tensors.size()), TensorKind::temporary, shape, dtype);
    Operator added{.name = type + std::to_string(graph_.subgraphs[0].operators.size()), .type = type};
    for (const TensorId input : inputs) added.inputs.emplace_back(input);
    added.outputs = {output};
    graph_.subgraphs[0].operators.push_back(added);
    OperatorDetails details;
    for (const auto& [name, value] : settings) details.attributes.set(name, value);
    network_.details[0].push_back(details);
    return output;
  }
  void keep_quantization(TensorId from) {
    network_.quantizations[graph_.tensors.size() - 1] = network_.quantizations[from];
  }

  TensorId layer(TensorId x) {
    switch (pick(0, 13)) {
      case 0:
        return pool(x);
      case 1:
        return padded(x);
      case 2:
        return unary(x);
      case 3:
        return branch(x);
      case 4:
        return joined(x);
      case 5:
        return scaled(x);
      case 6:
        return moved(x);
      case 7:
        return requantized(x);
      case 8:
        return expanded(x);
      case 9:
        return resized(x);
      default:
        return convolution(x);
    }
  }

  /// A window that fits: its taps, stride and dilation, and the outputs.
  struct Dimension {
    std::int64_t taps = 1;
    std::int64_t stride = 1;
    std::int64_t dilation = 1;
    std::int64_t out = 1;
  };
  Dimension dimension(std::int64_t in, bool is_same) {
    Dimension it{.taps = pick(1, 4), .stride = pick(1, 3), .dilation = pick(0, 3) == 0 ? 2 : 1};
    if (it.stride > 1) it.dilation = 1;
    const auto reach = [&] { return (it.taps - 1) * it.dilation + 1; };
    while (!is_same && reach() > in) --it.taps;
    it.out = ((is_same ? in : in - reach() + 1) + it.stride - 1) / it.stride;
    return it;
  }
  static OperatorSettings window(const Dimension& high, const Dimension& wide, bool is_same,
                                 std::int64_t activation) {
    return {{"padding", std::int64_t{is_same ? 0 : 1}},
            {"stride_h", high.stride},
            {"stride_w", wide.stride},
            {"dilation_h_factor", high.dilation},
            {"dilation_w_factor", wide.dilation},
            {"filter_height", high.taps},
            {"filter_width", wide.taps},
            {"fused_activation_function", activation}};
  }

  TensorId convolution(TensorId x) {
    const Shape in = shape(x);
    const bool is_same = pick(0, 1) == 0;
    const Dimension high = dimension(in[1], is_same);
    const Dimension wide = dimension(in[2], is_same);
    const bool is_depthwise = pick(0, 1) == 0;
    const std::int64_t channels = is_depthwise ? in[3] * (pick(0, 3) == 0 ? 2 : 1) : pick(1, 9);
    const Shape of_weights = is_depthwise ? Shape{1, high.taps, wide.taps, channels}
                                          : Shape{channels, high.taps, wide.taps, in[3]};
    std::vector<TensorId> inputs{x, weights(of_weights, is_depthwise ? 3 : 0)};
    if (pick(0, 5) > 0) inputs.push_back(bias(channels));
    return op(is_depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D", inputs, {in[0], high.out, wide.out, channels},
              window(high, wide, is_same, pick(0, 3)));
  }

  TensorId resized(TensorId x) {
    const Shape in = shape(x);
    const Shape out{in[0], pick(1, 12), pick(1, 9), in[3]};
    const std::int64_t way = pick(0, 2);
    const TensorId y = op(pick(0, 1) == 0 ? "RESIZE_BILINEAR" : "RESIZE_NEAREST_NEIGHBOR",
                          {x, numbers({static_cast<double>(out[1]), static_cast<double>(out[2])}, {2})}, out,
                          {{"align_corners", std::int64_t{way == 1 ? 1 : 0}},
                           {"half_pixel_centers", std::int64_t{way == 2 ? 1 : 0}}});
    keep_quantization(x);
    return y;
  }

  /// Windows over many channels, between few.
  TensorId expanded(TensorId x, bool is_narrow = false) {
    const Shape in = shape(x);
    const Dimension one{.out = in[1]};
    const std::int64_t many = pick(12, 24);
    const std::int64_t few = pick(1, is_narrow ? 1 : 4);
    const TensorId wide = op("CONV_2D", {x, weights({many, 1, 1, in[3]}, 0), bias(many)},
                             {in[0], in[1], in[2], many}, window(one, one, true, 1));
    const Dimension high = is_narrow ? Dimension{.taps = 3, .out = in[1]} : dimension(in[1], true);
    const Dimension across = is_narrow ? Dimension{.taps = 3, .out = in[2]} : dimension(in[2], true);
    const TensorId y =
        op("DEPTHWISE_CONV_2D", {wide, weights({1, high.taps, across.taps, many}, 3), bias(many)},
           {in[0], high.out, across.out, many}, window(high, across, true, 0));
    return op("CONV_2D", {y, weights({few, 1, 1, many}, 0), bias(few)}, {in[0], high.out, across.out, few},
              window(one, one, true, 0));
  }

  TensorId pool(TensorId x) {
    const Shape in = shape(x);
    const bool is_same = pick(0, 1) == 0;
    Dimension high = dimension(in[1], is_same);
    Dimension wide = dimension(in[2], is_same);
    high = {high.taps, high.stride, 1,
            ((is_same ? in[1] : in[1] - high.taps + 1) + high.stride - 1) / high.stride};
    wide = {wide.taps, wide.stride, 1,
            ((is_same ? in[2] : in[2] - wide.taps + 1) + wide.stride - 1) / wide.stride};
    const TensorId y = op(pick(0, 1) == 0 ? "MAX_POOL_2D" : "AVERAGE_POOL_2D", {x},
                          {in[0], high.out, wide.out, in[3]}, window(high, wide, is_same, pick(0, 1)));
    keep_quantization(x);
    return y;
  }

  TensorId padded(TensorId x) {
    const Shape in = shape(x);
    Shape out = in;
    std::vector<double> paddings(8, 0);
    for (std::size_t d = 1; d < (pick(0, 3) == 0 ? 4U : 3U); ++d) {
      const std::int64_t before = pick(0, 2);
      const std::int64_t after = pick(0, 2);
      paddings[2 * d] = static_cast<double>(before);
      paddings[2 * d + 1] = static_cast<double>(after);
      out[d] += before + after;
    }
    const bool is_mirrored = in[1] > 2 && in[2] > 2 && paddings[6] + paddings[7] == 0 && pick(0, 2) == 0;
    const TensorId y =
        op(is_mirrored ? "MIRROR_PAD" : "PAD", {x, numbers(paddings, {4, 2})}, out, {{"mode", pick(0, 1)}});
    keep_quantization(x);
    return y;
  }

  TensorId unary(TensorId x) {
    static const std::vector<std::string> types{"RELU", "RELU6", "HARD_SWISH", "LOGISTIC", "TANH"};
    const std::string type = types[static_cast<std::size_t>(pick(0, 4))];
    if (type == "RELU6" && dtype_ == DType::int8) return unary(x);
    if (type == "HARD_SWISH" && dtype_ == DType::int16) return unary(x);
    const TensorId y = op(type, {x}, shape(x));
    if (is_quantized() && type == "LOGISTIC") quantize_unit(false);
    if (is_quantized() && type == "TANH") quantize_unit(true);
    if (is_quantized() && type == "HARD_SWISH")
      quantize({{network_.quantizations[x]->scales[0]}, {zero_point(3)}});
    return y;
  }

  TensorId binary(const std::string& type, TensorId a, TensorId b) {
    return op(type, {a, b}, shape(a), {{"fused_activation_function", pick(0, 1)}});
  }

  /// A sum with what a convolution of the same shape makes of it.
  TensorId branch(TensorId x) {
    const Shape in = shape(x);
    const Dimension three{.taps = 3, .out = in[1]};
    const TensorId y =
        op("CONV_2D", {x, weights({in[3], 3, 3, in[3]}, 0), bias(in[3])}, in, window(three, three, true, 1));
    return pick(0, 1) == 0 ? binary("ADD", x, y) : binary("SUB", y, x);
  }

  /// Two branches side by side.
  TensorId joined(TensorId x) {
    const Shape in = shape(x);
    const Dimension one{.out = in[1]};
    const std::int64_t channels = pick(1, 4);
    const std::int64_t axis = channels == in[3] ? pick(1, 3) : 3;
    Shape own = in;
    own[3] = channels;
    const TensorId y = op("CONV_2D", {x, weights({channels, 1, 1, in[3]}, 0), bias(channels)}, own,
                          window(one, one, true, 0));
    if (dtype_ != DType::uint8 || pick(0, 1) == 0) keep_quantization(x);
    Shape out = in;
    out[static_cast<std::size_t>(axis)] += own[static_cast<std::size_t>(axis)];
    const TensorId z = op("CONCATENATION", {x, y}, out, {{"axis", axis}});
    keep_quantization(x);
    return z;
  }

  /// Times or plus a number for each channel, each column, or all.
  TensorId scaled(TensorId x) {
    const Shape in = shape(x);
    const std::vector<Shape> shapes{{1, 1, 1, in[3]}, {in[3]}, {1, 1, in[2], 1}, {1, in[1], 1, in[3]}, {1}};
    const TensorId factor = values(shapes[static_cast<std::size_t>(pick(0, 4))]);
    return binary(pick(0, 1) == 0 ? "MUL" : "ADD", x, factor);
  }

  TensorId moved(TensorId x) {
    const Shape in = shape(x);
    if (pick(0, 1) == 0) {
      const TensorId y = op("TRANSPOSE", {x, numbers({0, 1, 3, 2}, {4})}, {in[0], in[1], in[3], in[2]});
      keep_quantization(x);
      return y;
    }
    const Shape out =
        pick(0, 1) == 0 ? Shape{in[0], in[1], 1, in[2] * in[3]} : Shape{in[0], in[1] * in[2], 1, in[3]};
    const TensorId y = op("RESHAPE", {x, numbers(std::vector<double>(out.begin(), out.end()), {4})}, out);
    keep_quantization(x);
    return y;
  }

  /// To other scales, or through another type and back.
  TensorId requantized(TensorId x) {
    if (!is_quantized()) return unary(x);
    if (pick(0, 2) == 0) return op("QUANTIZE", {x}, shape(x));
    const bool is_real = pick(0, 1) == 0;
    const TensorId y =
        op(is_real ? "DEQUANTIZE" : "QUANTIZE", {x}, shape(x), {}, is_real ? DType::float32 : DType::int16);
    return op("QUANTIZE", {y}, shape(x));
  }

  TensorId classifier(TensorId x) {
    const Shape in = shape(x);
    if (pick(0, 2) == 0) {
      const std::int64_t all = kernels::count_of(in) / in[0];
      x = op("RESHAPE", {x, numbers({static_cast<double>(in[0]), static_cast<double>(all)}, {2})},
             {in[0], all});
      keep_quantization(graph_.subgraphs[0].operators.back().inputs[0].value());
      x = op("FULLY_CONNECTED", {x, weights({5, all}, 0), bias(5)}, {in[0], 5});
    } else {
      x = op("MEAN", {x, numbers({1, 2}, {2})}, {in[0], in[3]});
      x = op("FULLY_CONNECTED", {x, weights({5, in[3]}, 0), bias(5)}, {in[0], 5},
             {{"fused_activation_function", pick(0, 1)}});
    }
    if (pick(0, 1) == 0) return x;
    const TensorId y = op("SOFTMAX", {x}, {in[0], 5}, {{"beta", 1.0F}});
    if (is_quantized()) quantize_unit(false);
    return y;
  }

  void finish(TensorId at) {
    graph_.tensors[at].kind = TensorKind::output;
    graph_.subgraphs[0].outputs = {at};
  }

  std::mt19937_64 random_;
  DType dtype_;
  Graph graph_{};
  Network network_{};
};

}  // namespace

Network random_layer_network(std::uint64_t seed, DType dtype) { return LayerMaker(seed, dtype).make(); }

}  // namespace stowage::testing
