// What onnxruntime's optimiser writes, as C: gives what the interpreter gives, bit for bit.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "c_packages.h"
#include "onnx_models.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::NodeAttributes;
using testing::tensor_value;

onnx::NodeProto fused(const std::string& type, const testing::Names& inputs, const testing::Names& outputs,
                      const NodeAttributes& attributes = {}) {
  return testing::node(type, inputs, outputs, attributes, "com.microsoft");
}

onnx::AttributeProto number(const std::string& name, std::int64_t value) { return testing::attribute(name, value); }

/// Faults of the network as C, as a whole and by rows.
std::vector<std::string> faults_of(const testing::OnnxParts& parts) {
  const Network network =
      parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  PlanOptions options;
  options.solve.effort = 1;
  packages.add("whole", generate_package(network, make_plan(network.input, options).plan, {.name = "whole"}));
  options.stream = StreamOptions{};
  packages.add("rows", generate_package(network, make_plan(network.input, options).plan, {.name = "rows"}));
  return packages.run();
}

/// Along different axes, of both types, with steps of which a whole has few and many.
TEST(GenerateFused, SharesOfBytes) {
  testing::OnnxParts parts{.inputs = {tensor_value("x", {2, 7, 3})}};
  const auto constant = [&](const std::string& name, int type) -> onnx::TensorProto& {
    onnx::TensorProto& tensor = parts.initializers.emplace_back();
    tensor.set_name(name);
    tensor.set_data_type(type);
    return tensor;
  };
  constant("small", onnx::TensorProto::FLOAT).add_float_data(0.002F);
  constant("step", onnx::TensorProto::FLOAT).add_float_data(0.03F);
  constant("u", onnx::TensorProto::UINT8).add_int32_data(7);
  constant("i", onnx::TensorProto::INT8).add_int32_data(-100);
  for (const std::string zero : {"u", "i"}) {
    parts.nodes.push_back(testing::node("QuantizeLinear", {"x", "step", zero}, {"x" + zero}));
    for (const std::int64_t axis : {1, 2})
      for (const std::int64_t set : {12, 13})
        for (const std::string step : {"step", "small"}) {
          const std::string name = zero + std::to_string(axis) + std::to_string(set) + step;
          parts.nodes.push_back(fused("QLinearSoftmax", {"x" + zero, "step", zero, step, zero}, {name},
                                      {number("axis", axis), number("opset", set)}));
          parts.outputs.push_back(tensor_value(
              name, {2, 7, 3}, zero == "u" ? onnx::TensorProto::UINT8 : onnx::TensorProto::INT8));
        }
  }
  for (const std::string& fault : faults_of(parts)) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage
