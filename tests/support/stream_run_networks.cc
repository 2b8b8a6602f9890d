#include "stream_run_networks.h"

#include <algorithm>
#include <random>
#include <string>

#include "kernel_calls.h"

namespace stowage::testing {
namespace {

using Settings = std::vector<std::pair<std::string, Attributes::Value>>;

class Maker {
 public:
  Maker(std::uint64_t seed, ImageNetwork kind) : random_(seed), kind_(kind) {
    graph_.name = "images";
    graph_.subgraphs.resize(1);
    network_.details.resize(1);
  }

  Network make() {
    TensorId at = add("x", TensorKind::input, image(pick(6, 12), pick(3, 6), 4));
    graph_.subgraphs[0].inputs = {at};
    const std::int64_t blocks = pick(3, 6);
    for (std::int64_t i = 0; i < blocks; ++i) at = block(at);
    if (pick(0, 3) > 0) at = classifier(at);
    graph_.tensors[at].kind = TensorKind::output;
    graph_.subgraphs[0].outputs = {at};
    network_.input.content = graph_;
    add_rows(network_);
    return std::move(network_);
  }

 private:
  [[nodiscard]] bool is_onnx() const { return kind_ == ImageNetwork::onnx; }
  [[nodiscard]] bool is_int8() const { return kind_ == ImageNetwork::tflite_int8; }
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  [[nodiscard]] Shape image(std::int64_t h, std::int64_t w, std::int64_t c) const {
    return is_onnx() ? Shape{1, c, h, w} : Shape{1, h, w, c};
  }
  [[nodiscard]] std::int64_t size(TensorId t, char what) const {
    const Shape& shape = *graph_.tensors[t].shape;
    const std::size_t first = is_onnx() ? 2 : 1;
    return what == 'h' ? shape[first] : what == 'w' ? shape[first + 1] : shape[is_onnx() ? 1 : 3];
  }

  TensorId add(const std::string& name, TensorKind kind, const Shape& shape,
               std::optional<DType> dtype = {}) {
    const DType own = dtype.value_or(is_int8() ? DType::int8 : DType::float32);
    graph_.tensors.push_back(
        {.name = name, .kind = kind, .dtype = own, .shape = shape, .bytes = bytes_of(own, shape)});
    network_.quantizations.emplace_back();
    if (own == DType::int8)
      network_.quantizations.back() = Quantization{{0.05F}, {kind == TensorKind::weight ? 0 : 3}};
    return graph_.tensors.size() - 1;
  }

  TensorId constant(const Array& array) {
    const TensorId t =
        add("c" + std::to_string(graph_.tensors.size()), TensorKind::weight, array.shape, array.dtype);
    network_.input.constants.set(t, array.data);
    return t;
  }
  TensorId weights(const Shape& shape) {
    std::vector<double> values(static_cast<std::size_t>(bytes_of(DType::int8, shape)));
    for (double& value : values) value = static_cast<double>(pick(-40, 40)) / (is_int8() ? 1 : 40);
    return constant(is_int8() ? array<std::int8_t>(shape, values) : array<float>(shape, values));
  }
  TensorId bias(std::int64_t channels) {
    std::vector<double> values(static_cast<std::size_t>(channels));
    for (double& value : values) value = static_cast<double>(pick(-9, 9));
    return constant(is_int8() ? array<std::int32_t>({channels}, values) : array<float>({channels}, values));
  }
  TensorId numbers(const std::vector<double>& values, const Shape& shape) {
    return constant(is_onnx() ? array<std::int64_t>(shape, values) : array<std::int32_t>(shape, values));
  }

  TensorId op(const std::string& type, const std::vector<TensorId>& inputs, const Shape& shape,
              const Settings& settings = {}) {
    const TensorId output = add("t" + std::to_string(graph_.tensors.size()), TensorKind::temporary, shape);
    Operator added{.name = type + std::to_string(graph_.subgraphs[0].operators.size()), .type = type};
    for (const TensorId input : inputs) added.inputs.emplace_back(input);
    added.outputs = {output};
    graph_.subgraphs[0].operators.push_back(added);
    OperatorDetails details{.version = is_onnx() ? 17 : 1};
    for (const auto& [name, value] : settings) details.attributes.set(name, value);
    network_.details[0].push_back(details);
    return output;
  }

  TensorId block(TensorId x) {
    switch (pick(0, 12)) {
      case 0:
        return add_branch(x);
      case 1:
        return pool(x);
      case 2:
        return resized(x);
      case 3:
        return padded(x);
      case 4:
        return mirrored(x);
      case 5:
        return cut(x);
      case 6:
        return spread(x);
      case 7:
        return op(is_onnx() ? "Relu" : "RELU", {x}, *graph_.tensors[x].shape);
      default:
        return convolution(x, pick(1, 2));
    }
  }

  TensorId convolution(TensorId x, std::int64_t stride) {
    const std::int64_t kernel = pick(1, 3);
    const std::int64_t channels = size(x, 'c');
    const Shape out =
        image((size(x, 'h') + stride - 1) / stride, (size(x, 'w') + stride - 1) / stride, channels);
    if (is_onnx())
      return op("Conv", {x, weights({channels, channels, kernel, kernel}), bias(channels)}, out,
                {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Shape{stride, stride}}});
    const bool is_depthwise = pick(0, 1) == 0;
    const Shape shape =
        is_depthwise ? Shape{1, kernel, kernel, channels} : Shape{channels, kernel, kernel, channels};
    return op(is_depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D", {x, weights(shape), bias(channels)}, out,
              window(stride, kernel));
  }

  static Settings window(std::int64_t stride, std::int64_t kernel) {
    return {{"padding", std::int64_t{0}},
            {"stride_h", stride},
            {"stride_w", stride},
            {"dilation_h_factor", std::int64_t{1}},
            {"dilation_w_factor", std::int64_t{1}},
            {"depth_multiplier", std::int64_t{1}},
            {"filter_height", kernel},
            {"filter_width", kernel}};
  }

  TensorId add_branch(TensorId x) {
    const TensorId branch = convolution(convolution(x, 1), 1);
    return op(is_onnx() ? "Add" : "ADD", {x, branch}, *graph_.tensors[x].shape);
  }

  TensorId pool(TensorId x) {
    const Shape out = image((size(x, 'h') + 1) / 2, (size(x, 'w') + 1) / 2, size(x, 'c'));
    if (!is_onnx()) return op(pick(0, 1) == 0 ? "MAX_POOL_2D" : "AVERAGE_POOL_2D", {x}, out, window(2, 3));
    return op(
        pick(0, 1) == 0 ? "MaxPool" : "AveragePool", {x}, out,
        {{"kernel_shape", Shape{3, 3}}, {"strides", Shape{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}});
  }

  TensorId resized(TensorId x) {
    const Shape out = image(2 * size(x, 'h'), 2 * size(x, 'w'), size(x, 'c'));
    if (size(x, 'h') > 12) return x;
    if (!is_onnx())
      return op(pick(0, 1) == 0 ? "RESIZE_BILINEAR" : "RESIZE_NEAREST_NEIGHBOR",
                {x, numbers({static_cast<double>(out[1]), static_cast<double>(out[2])}, {2})}, out);
    const TensorId none = constant(array<float>({0}, {}));
    std::vector<double> sizes(out.begin(), out.end());
    return op("Resize", {x, none, none, numbers(sizes, {4})}, out,
              {{"mode", std::string(pick(0, 1) == 0 ? "nearest" : "linear")}});
  }

  TensorId padded(TensorId x) {
    const Shape out = image(size(x, 'h') + 2, size(x, 'w') + 1, size(x, 'c'));
    if (is_onnx()) return op("Pad", {x, numbers({0, 0, 1, 0, 0, 0, 1, 1}, {8})}, out);
    return op("PAD", {x, numbers({0, 0, 1, 1, 0, 1, 0, 0}, {4, 2})}, out);
  }

  TensorId mirrored(TensorId x) {
    const std::int64_t most = std::min<std::int64_t>(2, size(x, 'h') - 1);
    if (most < 1 || size(x, 'h') > 16) return x;
    const auto front = static_cast<double>(pick(0, most));
    const auto behind = static_cast<double>(pick(0, most));
    const Shape out =
        image(size(x, 'h') + static_cast<std::int64_t>(front + behind), size(x, 'w'), size(x, 'c'));
    if (is_onnx())
      return op("Pad", {x, numbers({0, 0, front, 0, 0, 0, behind, 0}, {8})}, out,
                {{"mode", std::string(pick(0, 1) == 0 ? "reflect" : "edge")}});
    return op("MIRROR_PAD", {x, numbers({0, 0, front, behind, 0, 0, 0, 0}, {4, 2})}, out,
              {{"mode", pick(0, 1)}});
  }

  /// Rows with a step, forwards or backwards.
  TensorId cut(TensorId x) {
    const std::int64_t rows = size(x, 'h');
    const std::int64_t step = pick(1, 2);
    const bool is_backwards = pick(0, 1) == 0;
    const auto begin = static_cast<double>(is_backwards ? rows - 1 : 0);
    const auto end = static_cast<double>(is_backwards ? -rows - 1 : rows);
    const auto pace = static_cast<double>(is_backwards ? -step : step);
    const Shape out = image((rows + step - 1) / step, size(x, 'w'), size(x, 'c'));
    if (is_onnx())
      return op("Slice",
                {x, numbers({begin}, {1}), numbers({end}, {1}), numbers({2}, {1}), numbers({pace}, {1})},
                out);
    return op(
        "STRIDED_SLICE",
        {x, numbers({0, begin, 0, 0}, {4}), numbers({1, end, 0, 0}, {4}), numbers({1, pace, 1, 1}, {4})}, out,
        {{"end_mask", std::int64_t{12}}});
  }

  /// A transposed convolution.
  TensorId spread(TensorId x) {
    if (size(x, 'h') > 8) return x;
    const std::int64_t channels = size(x, 'c');
    const std::int64_t kernel = pick(2, 3);
    const Shape out = image(2 * size(x, 'h'), 2 * size(x, 'w'), channels);
    if (is_onnx())
      return op("ConvTranspose", {x, weights({channels, channels, kernel, kernel})}, out,
                {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Shape{2, 2}}});
    std::vector<double> sizes(out.begin(), out.end());
    return op("TRANSPOSE_CONV", {numbers(sizes, {4}), weights({channels, kernel, kernel, channels}), x}, out,
              {{"padding", std::int64_t{0}}, {"stride_h", std::int64_t{2}}, {"stride_w", std::int64_t{2}}});
  }

  TensorId classifier(TensorId x) {
    const std::int64_t channels = size(x, 'c');
    if (is_onnx()) {
      x = op("GlobalAveragePool", {x}, {1, channels, 1, 1});
      x = op("Flatten", {x}, {1, channels});
      return op("Gemm", {x, weights({channels, 5})}, {1, 5});
    }
    x = op("MEAN", {x, numbers({1, 2}, {2})}, {1, channels});
    return op("FULLY_CONNECTED", {x, weights({5, channels}), bias(5)}, {1, 5});
  }

  std::mt19937_64 random_;
  ImageNetwork kind_;
  Graph graph_{};
  Network network_{};
};

}  // namespace

Network random_image_network(std::uint64_t seed, ImageNetwork kind) { return Maker(seed, kind).make(); }

StreamedOptions random_options(std::uint64_t seed) {
  return {.granule = seed % 3 == 0 ? 3 : 1,
          .form = seed % 4 == 0   ? Form::ring
                  : seed % 4 == 1 ? Form::rows
                  : seed % 4 == 2 ? Form::whole
                                  : Form::any,
          .io_by_rows = seed % 2 == 0,
          .in_place = seed % 5 != 0,
          .seed = seed % 7 == 0 ? std::nullopt : std::optional(seed)};
}

}  // namespace stowage::testing
