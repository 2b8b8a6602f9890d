#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "import/onnx_wire.h"

namespace stowage::import {

/// Nodes that take the place of one in the file, with constants and names of their own.
struct MadeNodes {
  wire::ModelProto& model;
  std::int64_t version = 0;  ///< The operator set of the model.
  wire::GraphProto* graph = nullptr;
  std::vector<wire::NodeProto> nodes{};

  /// Appends a node and gives the name of its output.
  std::string_view add(wire::NodeProto node);
  /// Names the output of the last node.
  std::string_view name_last(std::string_view name) {
    nodes.back().output = {name};
    return name;
  }
  std::string_view keep_name();
  std::string_view constant(float value);
  std::string_view constants(const std::vector<std::int64_t>& values);
  std::string_view scalar(std::int64_t value);
  std::string_view scalar(std::int32_t value);
  /// The product of integers, times both scales, plus a bias if there is one. `product`: what MatMulInteger reads.
  std::string_view scaled_product(std::string_view name, std::vector<std::string_view> product,
                                  const std::vector<std::string_view>& scales, std::string_view bias);
};

/// The name of an input; "" if it is left out.
[[nodiscard]] inline std::string_view input_of(const wire::NodeProto& node, std::size_t i) {
  return i < node.input.size() ? node.input[i] : std::string_view();
}
[[nodiscard]] inline std::string_view output_of(const wire::NodeProto& node, std::size_t i) {
  return i < node.output.size() ? node.output[i] : std::string_view();
}

}  // namespace stowage::import
