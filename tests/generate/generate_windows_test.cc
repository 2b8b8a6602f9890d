// Windows of all kinds as C: over signals of one dimension and images, batches of them, transposed, in integers. They
// give what the interpreter gives, bit for bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "c_packages.h"
#include "long_tests.h"
#include "onnx_models.h"
#include "packages_in_turn.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;

/// A chain of windows over signals or images.
class WindowMaker {
 public:
  explicit WindowMaker(std::uint64_t seed) : random_(seed) {}

  Network make() {
    const bool is_signal = pick(0, 2) > 0;
    at_ = {pick(0, 2) == 0 ? pick(2, 3) : 1, pick(1, 4)};
    if (!is_signal) at_.push_back(pick(4, 8));
    at_.push_back(is_signal ? pick(9, 20) : pick(3, 7));
    parts_.inputs = {testing::tensor_value("x", {at_.begin(), at_.end()})};
    const std::int64_t layers = pick(2, 4);
    for (std::int64_t i = 0; i < layers; ++i) add_layer();
    if (pick(0, 3) == 0) {
      Shape one(at_.size(), 1);
      std::copy_n(at_.begin(), 2, one.begin());
      add("GlobalAveragePool", {name_}, one);
    }
    parts_.outputs = {testing::tensor_value(name_, {at_.begin(), at_.end()})};
    return parse_network(testing::onnx_model(parts_).SerializeAsString(), "m.onnx", {.constants = true});
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  std::string constant(int type, const Shape& shape, std::int64_t least, std::int64_t most, float unit = 1) {
    onnx::TensorProto& tensor = parts_.initializers.emplace_back();
    tensor.set_name("w" + std::to_string(parts_.initializers.size()));
    tensor.set_data_type(type);
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
      tensor.add_dims(extent);
      count *= extent;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t number = pick(least, most);
      if (type == onnx::TensorProto::FLOAT) {
        tensor.add_float_data(static_cast<float>(number) * unit);
      } else {
        tensor.add_int32_data(static_cast<std::int32_t>(number));
      }
    }
    return tensor.name();
  }
  std::string weights(const Shape& shape) {
    return constant(onnx::TensorProto::FLOAT, shape, -99, 99, 1.0F / 64);
  }
  void add(const std::string& type, const std::vector<std::string>& inputs, const Shape& shape,
           const testing::NodeAttributes& attributes = {}) {
    name_ = "t" + std::to_string(parts_.nodes.size());
    parts_.nodes.push_back(node(type, inputs, {name_}, attributes));
    at_ = shape;
  }
  Shape shape_of(std::int64_t channels, const Shape& extents) const {
    Shape shape{at_[0], channels};
    shape.insert(shape.end(), extents.begin(), extents.end());
    return shape;
  }

  struct Window {
    Shape taps{};
    Shape strides{};
    Shape dilations{};
    Shape pads{};
    Shape out{};
  };
  Window window(bool has_dilations) {
    Window it;
    Shape after;
    for (std::size_t d = 2; d < at_.size(); ++d) {
      const std::int64_t taps = pick(1, std::min<std::int64_t>(3, at_[d]));
      const std::int64_t dilation = has_dilations && taps * 2 - 1 <= at_[d] && pick(0, 3) == 0 ? 2 : 1;
      const std::int64_t stride = pick(1, 2);
      it.taps.push_back(taps);
      it.strides.push_back(stride);
      it.dilations.push_back(dilation);
      it.pads.push_back(pick(0, taps - 1));
      after.push_back(pick(0, taps - 1));
      const std::int64_t free = at_[d] + it.pads.back() + after.back() - ((taps - 1) * dilation + 1);
      it.out.push_back(free / stride + 1);
    }
    it.pads.insert(it.pads.end(), after.begin(), after.end());
    return it;
  }

  void add_layer() {
    switch (pick(0, 6)) {
      case 0:
        return add("Relu", {name_}, at_);
      case 1:
        return pool();
      case 2:
      case 3:
        return transposed();
      case 4:
        return in_integers();
      default:
        return convolution();
    }
  }
  void convolution() {
    const std::int64_t groups = pick(0, 2) == 0 ? at_[1] : 1;
    const std::int64_t channels = groups * pick(1, groups == 1 ? 5 : 2);
    const Window it = window(true);
    Shape shape{channels, at_[1] / groups};
    shape.insert(shape.end(), it.taps.begin(), it.taps.end());
    std::vector<std::string> inputs{name_, weights(shape)};
    if (pick(0, 2) > 0) inputs.push_back(weights({channels}));
    add("Conv", inputs, shape_of(channels, it.out),
        {attribute("group", groups), attribute("strides", it.strides), attribute("dilations", it.dilations),
         attribute("pads", it.pads)});
  }
  void pool() {
    const Window it = window(false);
    const bool is_average = pick(0, 1) == 0;
    testing::NodeAttributes attributes{attribute("kernel_shape", it.taps), attribute("strides", it.strides),
                                       attribute("pads", it.pads)};
    if (is_average) attributes.push_back(attribute("count_include_pad", pick(0, 1)));
    add(is_average ? "AveragePool" : "MaxPool", {name_}, shape_of(at_[1], it.out), attributes);
  }
  void transposed() {
    Window it;
    Shape more, after;
    for (std::size_t d = 2; d < at_.size(); ++d) {
      const std::int64_t taps = pick(1, 4), stride = pick(1, 3), dilation = pick(0, 3) == 0 ? 2 : 1;
      const std::int64_t reach = (taps - 1) * dilation + 1;
      more.push_back(stride > 1 ? pick(0, stride - 1) : 0);
      it.pads.push_back(pick(0, std::min<std::int64_t>(reach - 1, 2)));
      after.push_back(pick(0, std::min<std::int64_t>(reach - 1, 2)));
      it.taps.push_back(taps);
      it.strides.push_back(stride);
      it.dilations.push_back(dilation);
      it.out.push_back(stride * (at_[d] - 1) + more.back() + reach - it.pads.back() - after.back());
    }
    if (*std::ranges::min_element(it.out) < 1 || *std::ranges::max_element(it.out) > 60) return;
    it.pads.insert(it.pads.end(), after.begin(), after.end());
    const std::int64_t groups = pick(0, 2) == 0 ? at_[1] : 1;
    const std::int64_t channels = pick(1, 3);
    Shape shape{at_[1], channels};
    shape.insert(shape.end(), it.taps.begin(), it.taps.end());
    std::vector<std::string> inputs{name_, weights(shape)};
    if (pick(0, 1) == 0) inputs.push_back(weights({groups * channels}));
    add("ConvTranspose", inputs, shape_of(groups * channels, it.out),
        {attribute("group", groups), attribute("strides", it.strides), attribute("dilations", it.dilations),
         attribute("pads", it.pads), attribute("output_padding", more)});
  }
  void in_integers() {
    using onnx::TensorProto;
    const auto scale = [&] { return constant(TensorProto::FLOAT, {}, 20, 60, 1.0F / 512); };
    const auto zero = [&] { return constant(TensorProto::UINT8, {}, 100, 150); };
    const std::string in_scale = scale(), in_zero = zero(), out_scale = scale(), out_zero = zero();
    add("QuantizeLinear", {name_, in_scale, in_zero}, at_);
    const Window it = window(true);
    const std::int64_t channels = pick(1, 5);
    Shape shape{channels, at_[1]};
    shape.insert(shape.end(), it.taps.begin(), it.taps.end());
    add("QLinearConv",
        {name_, in_scale, in_zero, constant(TensorProto::INT8, shape, -90, 90), scale(),
         constant(TensorProto::INT8, {}, 0, 0), out_scale, out_zero},
        shape_of(channels, it.out),
        {attribute("strides", it.strides), attribute("dilations", it.dilations), attribute("pads", it.pads)});
    const Window pooled = window(false);
    add("MaxPool", {name_}, shape_of(channels, pooled.out),
        {attribute("kernel_shape", pooled.taps), attribute("strides", pooled.strides),
         attribute("pads", pooled.pads)});
    add("DequantizeLinear", {name_, out_scale, out_zero}, at_);
  }

  std::mt19937_64 random_;
  testing::OnnxParts parts_{};
  std::string name_ = "x";
  Shape at_{};
};

TEST(GenerateWindows, OnnxNetworksGiveWhatTheInterpreterGives) {
  testing::expect_bits_of_the_interpreter(testing::has_time()        ? 400
                                          : testing::is_in_a_hurry() ? 8
                                                                     : 40,
                                          [](std::uint64_t seed) { return WindowMaker(seed).make(); });
}

/// Transposed convolutions of TFLite, of float32, of int8 and that of MediaPipe, one behind the other.
std::string transposed_model(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(random);
  };
  testing::TfliteSubgraph main;
  const auto tensor = [&](testing::TfliteTensor it) {
    it.name = "t" + std::to_string(main.tensors.size());
    main.tensors.push_back(std::move(it));
    return static_cast<std::int32_t>(main.tensors.size() - 1);
  };
  const auto numbers_of = [&](std::int64_t count, auto of) {
    std::string text;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto number = static_cast<decltype(of)>(pick(-90, 90));
      text.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    return text;
  };
  const bool is_real = pick(0, 1) == 0;
  const DType dtype = is_real ? DType::float32 : DType::int8;
  std::vector<std::int32_t> shape{1, pick(2, 5), pick(2, 5), pick(1, 4)};
  const auto image = [&] {
    testing::TfliteTensor it{.shape = shape, .dtype = dtype};
    if (!is_real) {
      it.scale = {0.05F};
      it.zero_point = {pick(-9, 9)};
    }
    return tensor(it);
  };
  main.inputs = {image()};
  std::int32_t at = main.inputs[0];
  for (int layer = 0; layer < 2; ++layer) {
    const std::int32_t channels = pick(1, 4), high = pick(1, 4), wide = pick(1, 4);
    const std::int32_t stride_high = pick(1, 3), stride_wide = pick(1, 3);
    const bool is_same = pick(0, 1) == 0;
    const std::int32_t taps = high * wide * channels * shape[3];
    testing::TfliteTensor weights{.shape = {channels, high, wide, shape[3]}, .dtype = dtype};
    weights.data = is_real ? numbers_of(taps, float{}) : numbers_of(taps, std::int8_t{});
    testing::TfliteTensor bias{.shape = {channels}};
    if (is_real) {
      bias.data = numbers_of(channels, float{});
    } else {
      bias.dtype = DType::int32;
      for (std::int32_t c = 0; c < channels; ++c) {
        weights.scale.push_back(0.01F * static_cast<float>(c + 1));
        weights.zero_point.push_back(0);
        const std::int32_t number = pick(-300, 300);
        bias.data.append(reinterpret_cast<const char*>(&number), sizeof number);
      }
    }
    const std::int32_t w = tensor(weights), b = tensor(bias);
    const auto extent = [&](std::size_t d, std::int32_t stride, std::int32_t reach) {
      return is_same ? shape[d] * stride : shape[d] * stride + std::max(reach - stride, 0);
    };
    shape = {1, extent(1, stride_high, high), extent(2, stride_wide, wide), channels};
    const std::int32_t out = image();
    if (is_real && layer == 1) {
      const std::int32_t options[3] = {is_same ? 1 : 2, stride_wide, stride_high};
      main.operators.push_back(
          {.type = "Convolution2DTransposeBias",
           .inputs = {at, w, b},
           .outputs = {out},
           .custom_options = std::string(reinterpret_cast<const char*>(options), sizeof options)});
    } else {
      std::string extents(reinterpret_cast<const char*>(shape.data()), 4 * sizeof(std::int32_t));
      const std::int32_t size = tensor({.shape = {4}, .dtype = DType::int32, .data = extents});
      main.operators.push_back({.type = "TRANSPOSE_CONV",
                                .inputs = {size, w, at, b},
                                .outputs = {out},
                                .numbers = {is_same ? 0 : 1, stride_wide, stride_high, pick(0, 1)}});
    }
    at = out;
  }
  main.outputs = {at};
  return testing::tflite_model({.subgraphs = {main}});
}

TEST(GenerateWindows, TransposedConvolutionsOfTfliteGiveWhatTheInterpreterGives) {
  testing::expect_bits_of_the_interpreter(testing::is_in_a_hurry() ? 4 : 16, [](std::uint64_t seed) {
    return parse_network(transposed_model(seed), "m.tflite", {.constants = true});
  });
}

}  // namespace
}  // namespace stowage
