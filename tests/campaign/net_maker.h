#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <string>
#include <vector>

#include "random.h"
#include "stowage/graph.h"

namespace stowage::campaign {

/// An ONNX model that grows node by node. Shapes of tensors in between are left to the reader.
class NetMaker {
 public:
  using Names = std::vector<std::string>;
  explicit NetMaker(Random& random) : random_(random) {}

  std::string input(const Shape& shape);
  /// Constants of random numbers between -1 and 1, or of the given ones.
  std::string weights(const Shape& shape);
  std::string reals(const std::vector<float>& values);
  std::string integers(const std::vector<std::int64_t>& values);

  class Node {
   public:
    explicit Node(onnx::NodeProto& proto) : proto_(proto) {}
    Node& with(const std::string& name, std::int64_t value);
    Node& with(const std::string& name, float value);
    Node& with(const std::string& name, const std::string& value);
    Node& with(const std::string& name, const std::vector<std::int64_t>& values);

   private:
    onnx::AttributeProto& attribute(const std::string& name);
    onnx::NodeProto& proto_;
  };
  /// What the node writes is named in order: `outputs` names, or one.
  Node add(const std::string& type, const Names& inputs, const Names& outputs);
  [[nodiscard]] std::string fresh() { return "t" + std::to_string(names_++); }

  void output(const std::string& name);
  [[nodiscard]] std::string bytes();

 private:
  Random& random_;
  onnx::GraphProto graph_;
  std::size_t names_ = 0;
};

}  // namespace stowage::campaign
