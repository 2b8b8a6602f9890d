// Operators between DequantizeLinear and QuantizeLinear become operators on integers, which give what the real ones
// give, or the next number.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "onnx_models.h"
#include "quantized_networks.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;
using testing::tensor_value;

Network network_of(const onnx::ModelProto& model) {
  return parse_network(model.SerializeAsString(), "m.onnx", {.constants = true});
}

/// The same with all real results as outputs, which keeps their operators: something else reads them.
onnx::ModelProto with_real_outputs(onnx::ModelProto model) {
  for (const onnx::NodeProto& node : model.graph().node())
    if (node.op_type() == "QuantizeLinear" && node.input(0) != "x")
      *model.mutable_graph()->add_output() = testing::value_of_any_shape(node.input(0));
  return model;
}

std::vector<std::string> types_of(const Graph& graph) {
  std::vector<std::string> types;
  for (const Operator& op : graph.subgraphs[0].operators) types.push_back(op.type);
  std::ranges::sort(types);
  return types;
}

std::vector<std::string> types_of(const testing::OnnxParts& parts) {
  return types_of(testing::read_model(testing::onnx_model(parts)));
}

Array output_of(const Network& network, std::uint64_t seed) {
  PlanOptions options;
  options.solve.time_limit = std::chrono::milliseconds(10);
  const RunResult result =
      run_plan(network, make_plan(network.input, options).plan, {.kernels = KernelSet::plain, .seed = seed});
  EXPECT_FALSE(result.fault);
  return result.outputs.at(0).array;
}

/// Operators that compute integers and round them.
std::size_t rounding_operators(const std::vector<std::string>& types) {
  return static_cast<std::size_t>(std::ranges::count_if(types, [](const std::string& type) {
    return type.find("QLinear") != std::string::npos || type == "com.microsoft.QGemm" ||
           type == "stowage.Requantize";
  }));
}

int step_between(DType dtype, std::byte a, std::byte b) {
  const auto number = [&](std::byte byte) {
    const int plain = std::to_integer<int>(byte);
    return dtype == DType::int8 && plain > 127 ? plain - 256 : plain;
  };
  return std::abs(number(a) - number(b));
}

TEST(OnnxQuantized, GroupsGiveWhatRealOperatorsGiveOrTheNextNumber) {
  std::size_t compared = 0;
  std::size_t numbers = 0;
  std::size_t differing = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const onnx::ModelProto model =
        testing::random_quantized_model(seed, {.least_layers = 1, .most_layers = 1});
    const Network joined = network_of(model);
    const Network kept = network_of(with_real_outputs(model));
    const std::vector<std::string> types = types_of(joined.graph());
    EXPECT_GE(rounding_operators(types) + static_cast<std::size_t>(std::ranges::count(types, "MaxPool")), 1U)
        << seed;
    if (rounding_operators(types) != 1) continue;  // differences would grow
    EXPECT_EQ(rounding_operators(types_of(kept.graph())), 0U) << seed;
    const Array a = output_of(joined, seed);
    const Array b = output_of(kept, seed);
    ASSERT_EQ(a.data.size(), b.data.size());
    if (a.dtype == DType::float32) continue;
    ++compared;
    for (std::size_t i = 0; i < a.data.size(); ++i) {
      ++numbers;
      differing += a.data[i] == b.data[i] ? 0 : 1;
      EXPECT_LE(step_between(a.dtype, a.data[i], b.data[i]), 1) << "seed " << seed << ", number " << i;
    }
  }
  EXPECT_GT(compared, 10U);
  EXPECT_LT(100 * differing, numbers);
}

/// x -> QuantizeLinear -> DequantizeLinear -> Conv -> Relu -> QuantizeLinear, with that zero point of its output.
testing::OnnxParts convolution(std::int64_t zero) {
  const auto byte = [](const std::string& name, std::int64_t element) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT8);
    tensor.add_int32_data(static_cast<std::int32_t>(element));
    return tensor;
  };
  onnx::TensorProto scale = testing::reals("s", {0.5F});
  scale.clear_dims();
  return {.nodes = {node("QuantizeLinear", {"x", "s", "z"}, {"xq"}),
                    node("DequantizeLinear", {"xq", "s", "z"}, {"xr"}),
                    node("DequantizeLinear", {"w", "s"}, {"wr"}), node("Conv", {"xr", "wr"}, {"c"}),
                    node("Relu", {"c"}, {"r"}), node("QuantizeLinear", {"r", "s", "yz"}, {"y"})},
          .inputs = {tensor_value("x", {1, 2, 4, 4})},
          .outputs = {tensor_value("y", {1, 3, 4, 4}, onnx::TensorProto::INT8)},
          .initializers = {scale, byte("z", 3), byte("yz", zero),
                           testing::zeros("w", {3, 2, 1, 1}, onnx::TensorProto::INT8)}};
}

TEST(OnnxQuantized, ReluThatCutsOffNothingDisappears) {
  EXPECT_EQ(types_of(convolution(-128)), (std::vector<std::string>{"QLinearConv", "QuantizeLinear"}));
}

TEST(OnnxQuantized, ReluThatCutsOffSomethingStays) {
  const auto types = types_of(convolution(0));
  EXPECT_EQ(std::ranges::count(types, "Conv"), 1);
  EXPECT_EQ(std::ranges::count(types, "Relu"), 1);
}

/// x -> DequantizeLinear -> an operator -> QuantizeLinear with another scale, [1, 3, 8, 8] of int8 before it.
testing::OnnxParts between(const std::string& type, const testing::NodeAttributes& attributes,
                           std::size_t inputs = 1) {
  testing::OnnxParts parts;
  for (const char* const name : {"s", "t"}) {
    onnx::TensorProto& scale =
        parts.initializers.emplace_back(testing::reals(name, {*name == 's' ? 0.02F : 0.03F}));
    scale.clear_dims();
  }
  parts.initializers.push_back(testing::zeros("z", {}, onnx::TensorProto::INT8));
  testing::Names reals;
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::string name = "x" + std::to_string(i);
    parts.inputs.push_back(tensor_value(name, {1, 3, 8, 8}, onnx::TensorProto::INT8));
    reals.push_back(name + "r");
    parts.nodes.push_back(node("DequantizeLinear", {name, "s", "z"}, {reals.back()}));
  }
  parts.nodes.push_back(node(type, reals, {"r"}, attributes));
  parts.nodes.push_back(node("QuantizeLinear", {"r", "t", "z"}, {"y"}));
  parts.outputs = {testing::value_of_any_shape("y")};
  parts.outputs[0].mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT8);
  return parts;
}

Bytes peak_of(const testing::OnnxParts& parts) {
  return make_plan(
             {{.name = "m", .format = ModelFormat::onnx}, testing::read_model(testing::onnx_model(parts))})
      .plan.memories.at(0)
      .peak;
}

TEST(OnnxQuantized, FunctionsAndMeansRunOnBytes) {
  const auto half = attribute("kernel_shape", Shape{2, 2});
  const auto stride = attribute("strides", Shape{2, 2});
  const auto axes = [](const Shape& list) { return attribute("axes", list); };
  EXPECT_EQ(types_of(between("Sigmoid", {})), (std::vector<std::string>{"com.microsoft.QLinearSigmoid"}));
  EXPECT_EQ(types_of(between("LeakyRelu", {})), (std::vector<std::string>{"com.microsoft.QLinearLeakyRelu"}));
  EXPECT_EQ(types_of(between("Relu", {})), (std::vector<std::string>{"com.microsoft.QLinearLeakyRelu"}));
  EXPECT_EQ(types_of(between("Sub", {}, 2)), (std::vector<std::string>{"stowage.QLinearSub"}));
  EXPECT_EQ(types_of(between("AveragePool", {half})),
            (std::vector<std::string>{"com.microsoft.QLinearAveragePool"}));
  EXPECT_EQ(types_of(between("ReduceMean", {axes({2, 3})})),
            (std::vector<std::string>{"com.microsoft.QLinearReduceMean"}));
  EXPECT_EQ(types_of(between("MaxPool", {half})),
            (std::vector<std::string>{"MaxPool", "stowage.Requantize"}));
  // Each byte is read and written in place; float32 would take 768 and more.
  EXPECT_EQ(peak_of(between("Sigmoid", {})), 192);
  EXPECT_EQ(peak_of(between("LeakyRelu", {})), 192);
  EXPECT_EQ(peak_of(between("Sub", {}, 2)), 384);
  EXPECT_EQ(peak_of(between("AveragePool", {half, stride})), 256);
  EXPECT_EQ(peak_of(between("MaxPool", {half, stride})), 256);
}

TEST(OnnxQuantized, ReluOfBytesIsThatOfRealNumbers) {
  const onnx::ModelProto model = testing::onnx_model(between("Relu", {}));
  EXPECT_EQ(output_of(network_of(model), 3), output_of(network_of(with_real_outputs(model)), 3));
}

TEST(OnnxQuantized, MeansOverNoAxesStayReal) {
  testing::OnnxParts parts = between("ReduceMean", {attribute("noop_with_empty_axes", std::int64_t{1})});
  const std::vector<std::string> types = types_of(parts);
  EXPECT_EQ(std::ranges::count(types, "ReduceMean"), 1);
  EXPECT_EQ(rounding_operators(types), 0U);
}

TEST(OnnxQuantized, MeansAreThoseOfRealNumbersOverAnyAxes) {
  for (const Shape& axes : {Shape{2, 3}, Shape{1}, Shape{-1}, Shape{1, 3}, Shape{0, 1, 2, 3}}) {
    for (const std::int64_t keeps : {0, 1}) {
      const onnx::ModelProto model =
          testing::onnx_model(between("ReduceMean", {attribute("axes", axes), attribute("keepdims", keeps)}));
      const Array a = output_of(network_of(model), 7);
      const Array b = output_of(network_of(with_real_outputs(model)), 7);
      ASSERT_EQ(a.shape, b.shape);
      for (std::size_t i = 0; i < a.data.size(); ++i)
        EXPECT_LE(step_between(a.dtype, a.data[i], b.data[i]), 1) << axes.size() << " axes, number " << i;
    }
  }
}

TEST(OnnxQuantized, ScalesMayBeBesideTheModel) {
  testing::OnnxParts parts = convolution(-128);
  onnx::TensorProto scale = testing::external("s", {}, "4");
  parts.initializers[0] = scale;
  const testing::TemporaryDirectory directory;
  directory.write("m.onnx", testing::onnx_model(parts).SerializeAsString());
  directory.write("weights.bin", std::string("\0\0\0\x3f", 4));  // 0.5
  EXPECT_EQ(types_of(std::get<Graph>(read_input(directory / "m.onnx").content)),
            (std::vector<std::string>{"QLinearConv", "QuantizeLinear"}));
}

TEST(OnnxQuantized, ReadOnlyOnceOrNotAtAll) {
  testing::OnnxParts parts = convolution(-128);
  parts.outputs.push_back(tensor_value("c", {1, 3, 4, 4}));
  EXPECT_EQ(std::ranges::count(types_of(parts), "Conv"), 1);
}

}  // namespace
}  // namespace stowage
