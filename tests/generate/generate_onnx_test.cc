// Random ONNX networks of float32 images as C: they give what the interpreter gives, bit for bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "long_tests.h"
#include "onnx_models.h"
#include "packages_in_turn.h"
#include "quantized_networks.h"
#include "stowage/network.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;

/// Draws convolutions, pools, sums, joins and a classifier.
class ImageMaker {
 public:
  explicit ImageMaker(std::uint64_t seed) : random_(seed) {}

  Network make() {
    const bool is_line = pick(0, 9) == 0;  // a signal, whose rows are columns
    at_ = {1, pick(1, 4), is_line ? 1 : pick(4, 9), is_line ? pick(9, 20) : pick(3, 8)};
    parts_.inputs = {testing::tensor_value("x", {at_.begin(), at_.end()})};
    const std::int64_t layers = pick(2, 6);
    for (std::int64_t i = 0; i < layers; ++i) add_layer();
    if (pick(0, 2) > 0) classify();
    parts_.outputs = {testing::tensor_value(name_, {at_.begin(), at_.end()})};
    return parse_network(testing::onnx_model(parts_).SerializeAsString(), "m.onnx", {.constants = true});
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  std::string limit(float value) {
    onnx::TensorProto& tensor = parts_.initializers.emplace_back();
    tensor.set_name("w" + std::to_string(parts_.initializers.size()));
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(value);
    return tensor.name();
  }
  std::string weights(const Shape& shape, std::int64_t least = -99) {
    onnx::TensorProto& tensor = parts_.initializers.emplace_back();
    tensor.set_name("w" + std::to_string(parts_.initializers.size()));
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
      tensor.add_dims(extent);
      count *= extent;
    }
    for (std::int64_t i = 0; i < count; ++i) tensor.add_float_data(static_cast<float>(pick(least, 99)) / 64);
    return tensor.name();
  }
  void add(const std::string& type, std::vector<std::string> inputs, const Shape& shape,
           const testing::NodeAttributes& attributes = {}) {
    name_ = "t" + std::to_string(parts_.nodes.size());
    parts_.nodes.push_back(node(type, inputs, {name_}, attributes));
    at_ = shape;
  }

  void add_layer() {
    const std::string x = name_;
    const Shape in = at_;
    switch (pick(0, 16)) {
      case 16:
        return attended();
      case 14:
        return normalized();
      case 15:
        return sliced();
      case 0:
        return pool();
      case 11:
        return activation();
      case 12:
        return resized();
      case 13:
        add("Conv", {x, weights({in[1], in[1], 1, 1})}, in);
        return add("Sum", {name_, x, name_}, in);
      case 9:
        return padded();
      case 10:
        return in_other_order();
      case 1:
        return add("Relu", {x}, in);
      case 2:
        add("Conv", {x, weights({in[1], in[1], 3, 3})}, in, {attribute("pads", Shape{1, 1, 1, 1})});
        return add(pick(0, 1) == 0 ? "Add" : "Sub", {x, name_}, in);
      case 3:
        add("Conv", {x, weights({2, in[1], 1, 1}), weights({2})}, {1, 2, in[2], in[3]});
        return add("Concat", {x, name_}, {1, in[1] + 2, in[2], in[3]}, {attribute("axis", std::int64_t{1})});
      case 4:
        return add(pick(0, 1) == 0 ? "Mul" : "Add", {x, weights({1, in[1], 1, 1})}, in);
      case 5:
        return add("Clip", {x, limit(-0.5F), limit(1.5F)}, in);
      case 6:
        return add("BatchNormalization",
                   {x, weights({in[1]}), weights({in[1]}), weights({in[1]}), weights({in[1]}, 1)}, in);
      default:
        return convolution();
    }
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
    for (const std::size_t d : {2U, 3U}) {
      const std::int64_t taps = pick(1, std::min<std::int64_t>(3, at_[d]));
      const std::int64_t dilation = has_dilations && taps * 2 - 1 <= at_[d] && pick(0, 3) == 0 ? 2 : 1;
      const std::int64_t stride = pick(1, 2);
      const std::int64_t before = pick(0, taps - 1);
      const std::int64_t behind = pick(0, taps - 1);
      const std::int64_t reach = (taps - 1) * dilation + 1;
      it.taps.push_back(taps);
      it.strides.push_back(stride);
      it.dilations.push_back(dilation);
      it.pads.push_back(before);
      after.push_back(behind);
      it.out.push_back((at_[d] + before + behind - reach) / stride + 1);
    }
    it.pads.insert(it.pads.end(), after.begin(), after.end());
    return it;
  }
  void convolution() {
    const std::int64_t groups = pick(0, 2) == 0 ? at_[1] : 1;
    const std::int64_t channels = groups * pick(1, groups == 1 ? 5 : 2);
    const Window it = window(true);
    std::vector<std::string> inputs{name_, weights({channels, at_[1] / groups, it.taps[0], it.taps[1]})};
    if (pick(0, 2) > 0) inputs.push_back(weights({channels}));
    add("Conv", inputs, {1, channels, it.out[0], it.out[1]},
        {attribute("group", groups), attribute("strides", it.strides), attribute("dilations", it.dilations),
         attribute("pads", it.pads)});
  }
  void pool() {
    const Window it = window(false);
    add(pick(0, 1) == 0 ? "MaxPool" : "AveragePool", {name_}, {1, at_[1], it.out[0], it.out[1]},
        {attribute("kernel_shape", it.taps), attribute("strides", it.strides), attribute("pads", it.pads)});
  }
  void padded() {
    const Shape pads{0, pick(0, 1), pick(0, 2), pick(0, 2), 0, pick(0, 1), pick(0, 1), pick(0, 1)};
    Shape out;
    for (std::size_t d = 0; d < 4; ++d) out.push_back(at_[d] + pads[d] + pads[d + 4]);
    parts_.initializers.push_back(testing::vector_of("p" + std::to_string(parts_.initializers.size()), pads));
    std::vector<std::string> inputs{name_, parts_.initializers.back().name()};
    const auto fits = [&](std::size_t d) { return std::max(pads[d], pads[d + 4]) < at_[d]; };
    if (fits(1) && fits(2) && fits(3) && pick(0, 1) == 0)
      return add("Pad", inputs, out, {attribute("mode", std::string("reflect"))});
    if (pick(0, 1) == 0) inputs.push_back(limit(0.75F));
    add("Pad", inputs, out);
  }
  /// Places that look at each other, with a norm of all channels before that.
  void attended() {
    const Shape in = at_;
    const std::int64_t places = in[2] * in[3];
    const Shape flat{1, in[1], places};
    add("Reshape", {name_, numbers(flat)}, flat);
    add("InstanceNormalization", {name_, weights({in[1]}), weights({in[1]})}, flat);
    const std::string keys = name_;
    add("Transpose", {keys}, {1, places, in[1]}, {attribute("perm", Shape{0, 2, 1})});
    const std::string queries = name_;
    add("MatMul", {queries, keys}, {1, places, places});
    add("Softmax", {name_}, at_, {attribute("axis", std::int64_t{-1})});
    add("MatMul", {name_, queries}, {1, places, in[1]});
    add("Transpose", {name_}, flat, {attribute("perm", Shape{0, 2, 1})});
    add("Reshape", {name_, numbers(in)}, in);
  }
  void normalized() {
    const bool is_instance = pick(0, 1) == 0;
    if (is_instance) return add("InstanceNormalization", {name_, weights({at_[1]}), weights({at_[1]})}, at_);
    const std::int64_t groups = at_[1] % 2 == 0 && pick(0, 1) == 0 ? at_[1] / 2 : 1;
    add("GroupNormalization", {name_, weights({groups}), weights({groups})}, at_,
        {attribute("num_groups", groups)});
  }
  std::string numbers(const Shape& values) {
    const std::string name = "n" + std::to_string(parts_.initializers.size());
    parts_.initializers.push_back(testing::vector_of(name, values));
    return name;
  }
  /// Along two dimensions, forwards or backwards.
  void sliced() {
    Shape out = at_;
    Shape starts, ends, axes, steps;
    for (const std::int64_t axis : {pick(1, 2), std::int64_t{3}}) {
      const std::int64_t extent = at_[static_cast<std::size_t>(axis)];
      const std::int64_t begin = pick(0, extent > 1 ? 1 : 0);
      const std::int64_t step = pick(1, 2);
      const bool is_back = axis != 2 && pick(0, 3) == 0;
      const std::int64_t length = (extent - begin + step - 1) / step;
      axes.push_back(axis);
      starts.push_back(is_back ? begin + (length - 1) * step : begin);
      ends.push_back(is_back ? (begin == 0 ? -extent - 1 : begin - 1) : extent);
      steps.push_back(is_back ? -step : step);
      out[static_cast<std::size_t>(axis)] = length;
    }
    add("Slice", {name_, numbers(starts), numbers(ends), numbers(axes), numbers(steps)}, out);
  }
  void activation() {
    const std::string x = name_;
    switch (pick(0, 4)) {
      case 0:
        return add("HardSigmoid", {x}, at_, {attribute("alpha", 1.0F / 6)});
      case 1:
        return add("HardSwish", {x}, at_);
      case 2:
        return add("LeakyRelu", {x}, at_, {attribute("alpha", 0.1F)});
      case 3:
        return add("Tanh", {x}, at_);
      default:
        return add("Sigmoid", {x}, at_);
    }
  }
  void resized() {
    const Shape out{1, at_[1], pick(1, 12), pick(1, 9)};
    parts_.initializers.push_back(testing::vector_of("s" + std::to_string(parts_.initializers.size()), out));
    const std::array<std::string, 3> modes{"nearest", "linear", "cubic"};
    const std::array<std::string, 3> coordinates{"half_pixel", "asymmetric", "align_corners"};
    const auto draw = [&](const auto& names) { return names[static_cast<std::size_t>(pick(0, 2))]; };
    const std::string mode = draw(modes);
    add("Resize", {name_, "", "", parts_.initializers.back().name()}, out,
        {attribute("mode", mode), attribute("coordinate_transformation_mode", draw(coordinates)),
         attribute("exclude_outside", std::int64_t{mode == "cubic" && pick(0, 1) == 0 ? 1 : 0})});
  }
  /// Channels last, a product of all channels, and back.
  void in_other_order() {
    const Shape in = at_;
    add("Transpose", {name_}, {1, in[2], in[3], in[1]}, {attribute("perm", Shape{0, 2, 3, 1})});
    const std::int64_t channels = pick(1, 4);
    add("MatMul", {name_, weights({in[1], channels})}, {1, in[2], in[3], channels});
    add("Transpose", {name_}, {1, channels, in[2], in[3]}, {attribute("perm", Shape{0, 3, 1, 2})});
  }

  void classify() {
    if (pick(0, 1) == 0) add("GlobalAveragePool", {name_}, {1, at_[1], 1, 1});
    const std::int64_t all = at_[1] * at_[2] * at_[3];
    add("Flatten", {name_}, {1, all});
    const bool is_turned = pick(0, 1) == 0;
    add("Gemm", {name_, weights(is_turned ? Shape{5, all} : Shape{all, 5}), weights({5})}, {1, 5},
        {attribute("transB", std::int64_t{is_turned ? 1 : 0})});
    if (pick(0, 1) == 0) add("Softmax", {name_}, {1, 5});
  }

  std::mt19937_64 random_;
  testing::OnnxParts parts_{};
  std::string name_ = "x";
  Shape at_{};
};

TEST(GenerateOnnx, RandomNetworksGiveWhatTheInterpreterGives) {
  testing::expect_bits_of_the_interpreter(testing::has_time()        ? 400
                                          : testing::is_in_a_hurry() ? 8
                                                                     : 100,
                                          [](std::uint64_t seed) { return ImageMaker(seed).make(); });
}

/// What runs through a sequence, and how many gates it has.
struct Recurrent {
  const char* type;
  std::int64_t gates;
  bool has_byte_weights = false;
};
constexpr const char* cell_functions[] = {"Affine",   "Elu",        "HardSigmoid",    "LeakyRelu",
                                          "Relu",     "ScaledTanh", "Sigmoid",        "Softplus",
                                          "Softsign", "Tanh",       "ThresholdedRelu"};
constexpr Recurrent recurrents[] = {{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}, {"DynamicQuantizeLSTM", 4, true}};

/// Steps of sequences through one or two recurrent operators in any direction, with what is in front of the first step
/// and behind the last one, lengths and peepholes, and functions of all kinds. The last one may leave its first output out.
Network random_sequence_network(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const auto is_drawn = [&](std::int64_t of) { return pick(1, of) == 1; };
  testing::OnnxParts parts;
  const auto constant = [&](const Shape& shape, int type) -> onnx::TensorProto& {
    onnx::TensorProto& tensor = parts.initializers.emplace_back();
    tensor.set_name("w" + std::to_string(parts.initializers.size()));
    tensor.set_data_type(type);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    return tensor;
  };
  const auto reals = [&](const Shape& shape, double divisor = 64) {
    onnx::TensorProto& tensor = constant(shape, onnx::TensorProto::FLOAT);
    for (std::int64_t i = 0; i < kernels::count_of(shape); ++i)
      tensor.add_float_data(static_cast<float>(static_cast<double>(pick(-99, 99)) / divisor));
    return tensor.name();
  };
  const auto bytes = [&](const Shape& shape, int type, std::int64_t low, std::int64_t high) {
    onnx::TensorProto& tensor = constant(shape, type);
    for (std::int64_t i = 0; i < kernels::count_of(shape); ++i)
      tensor.add_int32_data(static_cast<std::int32_t>(pick(low, high)));
    return tensor.name();
  };
  const std::int64_t steps = is_drawn(6) ? 1 : pick(6, 16), batch = is_drawn(6) ? 2 : 1;
  std::int64_t width = pick(1, 5);
  std::string name = "x";
  parts.inputs = {testing::tensor_value("x", {steps, batch, width})};
  const std::int64_t layers = pick(1, 2);
  for (std::int64_t i = 0; i < layers; ++i) {
    const Recurrent& kind = recurrents[static_cast<std::size_t>(pick(0, 3))];
    const std::string n = std::to_string(i);
    const std::int64_t cells = seed % 8 == 5 ? pick(129, 140) : pick(1, 12), rows = kind.gates * cells;
    const std::string direction =
        std::vector{"forward", "forward", "reverse", "bidirectional"}[static_cast<std::size_t>(pick(0, 3))];
    const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
    const int type = is_drawn(2) ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8;
    const std::int64_t least = type == onnx::TensorProto::INT8 ? -128 : 0;
    const auto weights = [&](std::int64_t terms) {
      return kind.has_byte_weights ? bytes({directions, terms, rows}, type, least, least + 255)
                                   : reals({directions, rows, terms});
    };
    std::vector<std::string> inputs{name, weights(width), weights(cells), "", "", "", "", ""};
    if (!is_drawn(3)) inputs[3] = reals({directions, 2 * rows});
    if (is_drawn(3) && !kind.has_byte_weights) inputs[4] = bytes({batch}, onnx::TensorProto::INT32, 0, steps);
    if (is_drawn(2)) inputs[5] = reals({directions, batch, cells});
    if (is_drawn(2) && kind.gates == 4) inputs[6] = reals({directions, batch, cells});
    if (is_drawn(2) && kind.gates == 4) inputs[7] = reals({directions, 3 * cells});
    if (kind.has_byte_weights) {
      const std::int64_t zero = pick(least, least + 255);
      for (int k = 0; k < 2; ++k) {
        inputs.push_back(is_drawn(2) ? reals({directions, rows}, 10000) : reals({directions}, 10000));
        inputs.push_back(bytes({directions}, type, zero, zero));
      }
    }
    while (inputs.back().empty()) inputs.pop_back();
    std::vector<std::string> outputs{"y" + n};
    const std::int64_t more = i + 1 == layers ? pick(0, kind.gates == 4 ? 2 : 1) : 0;
    for (std::int64_t o = 0; o < more; ++o) {
      outputs.push_back(o == 0 && more == 2 && is_drawn(2) ? "" : (o == 0 ? "h" : "c") + n);
      if (!outputs.back().empty())
        parts.outputs.push_back(testing::tensor_value(outputs.back(), {directions, batch, cells}));
    }
    const bool is_end = more > 0 && seed % 3 == 0;
    if (is_end) outputs[0] = "";
    onnx::NodeProto made = node(kind.type, inputs, outputs,
                                {attribute("hidden_size", cells), attribute("direction", direction)});
    if (kind.gates == 3) *made.add_attribute() = attribute("linear_before_reset", pick(0, 1));
    if (kind.gates == 4 && is_drawn(4)) *made.add_attribute() = attribute("input_forget", std::int64_t{1});
    if (is_drawn(3)) *made.add_attribute() = attribute("clip", 0.5F);
    const auto named = (static_cast<std::int64_t>(seed) + i) % 3;
    if (named < 2) {  // the usual functions, written out, or any
      onnx::AttributeProto& functions = *made.add_attribute();
      functions.set_name("activations");
      functions.set_type(onnx::AttributeProto::STRINGS);
      const std::vector<std::string> names = kind.gates == 4
                                                 ? std::vector<std::string>{"Sigmoid", "Tanh", "tanh"}
                                             : kind.gates == 3 ? std::vector<std::string>{"sigmoid", "Tanh"}
                                                               : std::vector<std::string>{"Tanh"};
      for (std::int64_t k = 0; k < directions; ++k)
        for (const std::string& f : names)
          functions.add_strings(named == 0 ? f : cell_functions[static_cast<std::size_t>(pick(0, 10))]);
    }
    for (const char* const list : {"activation_alpha", "activation_beta"}) {
      if (named != 1 || is_drawn(3)) continue;
      onnx::AttributeProto& numbers = *made.add_attribute();
      numbers.set_name(list);
      numbers.set_type(onnx::AttributeProto::FLOATS);
      for (const float number : {0.25F, 0.5F, 0.75F}) numbers.add_floats(number);
    }
    if (kind.has_byte_weights) made.set_domain("com.microsoft");
    parts.nodes.push_back(made);
    if (is_end)
      return parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
    if (directions == 1) {
      parts.initializers.push_back(testing::vector_of("a" + n, {1}));
      parts.nodes.push_back(node("Squeeze", {"y" + n, "a" + n}, {"s" + n}));
    } else {
      parts.initializers.push_back(testing::vector_of("a" + n, {0, batch, directions * cells}));
      parts.nodes.push_back(node("Transpose", {"y" + n}, {"t" + n}, {attribute("perm", Shape{0, 2, 1, 3})}));
      parts.nodes.push_back(node("Reshape", {"t" + n, "a" + n}, {"s" + n}));
    }
    name = "s" + n;
    width = directions * cells;
  }
  parts.outputs.push_back(testing::tensor_value(name, {steps, batch, width}));
  return parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
}

TEST(GenerateOnnx, SequencesGiveWhatTheInterpreterGives) {
  const auto by_steps =
      testing::expect_bits_of_the_interpreter(testing::is_in_a_hurry() ? 4 : 24, random_sequence_network,
                                              StreamAxes::searched, "stowage_recurrent_step_f32");
  EXPECT_GE(by_steps, testing::is_in_a_hurry() ? 0 : 4);
}

/// An image whose scale is computed, through a convolution and a product of bytes; sums are the outputs.
Network random_dynamic_network(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  testing::OnnxParts parts;
  const int type = pick(0, 1) == 0 ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8;
  const std::int64_t least = type == onnx::TensorProto::INT8 ? -128 : 0;
  const auto bytes = [&](const std::string& name, const Shape& shape) {
    onnx::TensorProto& tensor = parts.initializers.emplace_back();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    for (std::int64_t i = 0; i < kernels::count_of(shape); ++i)
      tensor.add_int32_data(static_cast<std::int32_t>(pick(least, least + 255)));
  };
  const std::int64_t groups = pick(1, 2), in = groups * pick(1, 2), out = groups * pick(1, 3);
  const std::int64_t height = pick(4, 7), width = pick(4, 7), high = pick(1, 3), wide = pick(1, 3);
  const std::int64_t stride = pick(1, 2), pad = pick(0, 1), columns = pick(1, 5);
  bytes("w", {out, in / groups, high, wide});
  bytes("w_zero", pick(0, 1) == 0 ? Shape{} : Shape{out});
  bytes("m", {width, columns});
  bytes("m_zero", pick(0, 1) == 0 ? Shape{} : Shape{columns});
  const bool has_zeros = pick(0, 3) > 0;
  const auto with_zeros = [&](const char* zero) {
    return has_zeros ? std::vector<std::string>{"zero", zero} : std::vector<std::string>{};
  };
  std::vector<std::string> image{"q", "w"}, product{"q", "m"};
  for (const std::string& zero : with_zeros("w_zero")) image.push_back(zero);
  for (const std::string& zero : with_zeros("m_zero")) product.push_back(zero);
  parts.inputs = {testing::tensor_value("x", {1, in, height, width})};
  parts.nodes = {node("DynamicQuantizeLinear", {"x"}, {"q", "scale", "zero"}),
                 node("ConvInteger", image, {"y"},
                      {attribute("group", groups), attribute("strides", Shape{stride, stride}),
                       attribute("pads", Shape(4, pad))}),
                 node("MatMulInteger", product, {"z"})};
  parts.outputs = {
      testing::tensor_value(
          "y", {1, out, (height + 2 * pad - high) / stride + 1, (width + 2 * pad - wide) / stride + 1},
          onnx::TensorProto::INT32),
      testing::tensor_value("z", {1, in, height, columns}, onnx::TensorProto::INT32),
      testing::tensor_value("scale", {})};
  return parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
}

TEST(GenerateOnnx, DynamicQuantizationGivesWhatTheInterpreterGives) {
  testing::expect_bits_of_the_interpreter(testing::is_in_a_hurry() ? 4 : 12, random_dynamic_network);
}

TEST(GenerateOnnx, QuantizedNetworksGiveWhatTheInterpreterGives) {
  testing::expect_bits_of_the_interpreter(
      testing::has_time()        ? 400
      : testing::is_in_a_hurry() ? 8
                                 : 32,
      [](std::uint64_t seed) {
        const onnx::ModelProto model = testing::random_quantized_model(seed);
        return parse_network(model.SerializeAsString(), "m.onnx", {.constants = true});
      });
}

}  // namespace
}  // namespace stowage
