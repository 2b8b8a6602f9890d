#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "stowage/graph.h"
#include "stowage/import.h"

/// ONNX models made up for tests. Example, a ReLU over a batch of unknown size:
///
///     const onnx::ModelProto model = onnx_model({.nodes = {node("Relu", {"x"}, {"y"})},
///                                                .inputs = {tensor_value("x", {"N", 8})},
///                                                .outputs = {tensor_value("y", {"N", 8})}});
///     const Graph graph = read_model(model, {.dims = {{"N", 2}}});
namespace stowage::testing {

inline constexpr int newest_known_set = 17;

/// A dimension: its size, its name, or "?" when the file leaves it open.
struct Dimension {
  Dimension(std::int64_t size) : value(size) {}
  Dimension(const char* name) : value(std::string(name)) {}

  std::variant<std::int64_t, std::string> value;
};
using Dimensions = std::vector<Dimension>;

/// A value of the graph that is declared with an element type and a shape, or without shape.
[[nodiscard]] onnx::ValueInfoProto tensor_value(const std::string& name, const Dimensions& dimensions,
                                                int elem_type = onnx::TensorProto::FLOAT);
[[nodiscard]] onnx::ValueInfoProto value_of_any_shape(const std::string& name,
                                                      int elem_type = onnx::TensorProto::FLOAT);
/// A value that is only named.
[[nodiscard]] onnx::ValueInfoProto untyped_value(const std::string& name);

/// A constant whose data are zero bytes, as many as its shape wants.
[[nodiscard]] onnx::TensorProto zeros(const std::string& name, const Shape& shape,
                                      int elem_type = onnx::TensorProto::FLOAT);
/// A constant whose data is in another file, which tells its length in these words.
[[nodiscard]] onnx::TensorProto external(const std::string& name, const Shape& shape,
                                         const std::string& length);
/// A vector of whole numbers, or one of them without dimensions.
[[nodiscard]] onnx::TensorProto vector_of(const std::string& name, const std::vector<std::int64_t>& elements);
[[nodiscard]] onnx::TensorProto scalar(const std::string& name, std::int64_t element);
[[nodiscard]] onnx::TensorProto reals(const std::string& name, const std::vector<float>& elements);
[[nodiscard]] onnx::TensorProto truth(const std::string& name, bool element);

using AttributeValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                                    onnx::TensorProto, onnx::GraphProto>;

[[nodiscard]] onnx::AttributeProto attribute(const std::string& name, const AttributeValue& value);
/// An attribute of a function's node that takes the value of the call's.
[[nodiscard]] onnx::AttributeProto attribute_reference(const std::string& name, const std::string& of);

using Names = std::vector<std::string>;
using NodeAttributes = std::vector<onnx::AttributeProto>;

/// An operator, named after its first output; `domain` is that of its type.
[[nodiscard]] onnx::NodeProto node(const std::string& type, const Names& inputs, const Names& outputs,
                                   const NodeAttributes& attributes = {}, const std::string& domain = "");

struct OnnxParts {
  std::vector<onnx::NodeProto> nodes{};
  std::vector<onnx::ValueInfoProto> inputs{};
  std::vector<onnx::ValueInfoProto> outputs{};
  std::vector<onnx::TensorProto> initializers{};
  std::vector<onnx::ValueInfoProto> declared{};  ///< Of values in between.
  std::string name = "main";
};

[[nodiscard]] onnx::GraphProto onnx_graph(const OnnxParts& parts);
[[nodiscard]] onnx::ModelProto onnx_model(const OnnxParts& parts, int operator_set = newest_known_set);

/// A function of the model, in the domain "local".
[[nodiscard]] onnx::FunctionProto function(const std::string& name, const Names& inputs, const Names& outputs,
                                           const std::vector<onnx::NodeProto>& nodes);
/// A call of one.
[[nodiscard]] onnx::NodeProto call(const std::string& name, const Names& inputs, const Names& outputs,
                                   const NodeAttributes& attributes = {});
[[nodiscard]] onnx::ModelProto with_functions(onnx::ModelProto model,
                                              const std::vector<onnx::FunctionProto>& functions);

/// A Loop of three rounds over "x", of four elements. It carries "old" into "new", whose last value is
/// "last", and collects the "row" of each round in "rows"; its body reads "scale" from outside.
[[nodiscard]] OnnxParts counting_loop();

/// Reads the model as a file "x.onnx".
[[nodiscard]] Graph read_model(const onnx::ModelProto& model, const ImportOptions& options = {});
[[nodiscard]] Graph read_model(const std::string& bytes, const ImportOptions& options = {});

/// What the Error, or the UsageError, says that reading the model ends with; empty when there is none.
[[nodiscard]] std::string error_of_model(const onnx::ModelProto& model, const ImportOptions& options = {});
[[nodiscard]] std::string usage_error_of_model(const onnx::ModelProto& model, const ImportOptions& options);

/// The tensor of that name; fails the test when there is none, or more than one.
[[nodiscard]] const Tensor& tensor_named(const Graph& graph, const std::string& name);
/// The operator that writes the tensor of that name.
[[nodiscard]] const Operator& writer_of(const Graph& graph, const std::string& name);

/// Fails the test unless the message says each of the parts.
void expect_message(const std::string& message, const std::vector<std::string>& parts);

}  // namespace stowage::testing
