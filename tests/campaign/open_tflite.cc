#include <cstring>
#include <map>

#include "open_net.h"
#include "tflite_models.h"

namespace stowage::campaign {
namespace {

using testing::TfliteOperator;
using testing::TfliteSpec;
using testing::TfliteSubgraph;
using testing::TfliteTensor;
using Numbers = std::vector<std::int64_t>;

DType dtype_of_elements(Elements elements) {
  return elements == Elements::real    ? DType::float32
         : elements == Elements::whole ? DType::int32
         : elements == Elements::wide  ? DType::int64
                                       : DType::boolean;
}

std::string bytes_of(const std::vector<std::int32_t>& numbers) {
  std::string bytes(numbers.size() * sizeof(std::int32_t), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// Writes nodes in the words of TFLite. Every graph is a subgraph with tensors of its own.
class LiteWriter {
 public:
  explicit LiteWriter(const OpenNet& net) : net_(net) {}

  std::string bytes() {
    spec_.subgraphs.emplace_back();
    write(net_.main, 0);
    return testing::tflite_model(spec_);
  }

 private:
  using Tensors = std::map<std::string, std::int32_t>;

  /// In the subgraph that is written: tensors that are known by name.
  std::int32_t index_of(const std::string& name, TfliteSubgraph& subgraph, Tensors& tensors) {
    if (const auto known = tensors.find(name); known != tensors.end()) return known->second;
    const auto index = static_cast<std::int32_t>(subgraph.tensors.size());
    tensors[name] = index;
    TfliteTensor tensor{.name = name, .dtype = dtype_of_elements(net_.elements.at(name))};
    if (const auto constant = net_.constants.find(name); constant != net_.constants.end()) {
      tensor.name += "_" + subgraph.name;
      for (const std::int64_t extent : constant->second.shape)
        tensor.shape.push_back(static_cast<std::int32_t>(extent));
      tensor.data = bytes_of({constant->second.numbers.begin(), constant->second.numbers.end()});
    } else {
      bool is_open = false;
      for (const std::int64_t extent : net_.declared.at(name)) {
        is_open = is_open || extent < 0;
        tensor.signature.push_back(static_cast<std::int32_t>(extent));
        tensor.shape.push_back(extent < 0 ? 1 : static_cast<std::int32_t>(extent));
      }
      if (!is_open) tensor.signature.clear();
    }
    subgraph.tensors.push_back(tensor);
    return index;
  }

  static std::int32_t add_constant(const Numbers& numbers, bool is_single, TfliteSubgraph& subgraph) {
    TfliteTensor tensor{.name = "a" + std::to_string(subgraph.tensors.size()) + "_" + subgraph.name,
                        .dtype = DType::int32,
                        .data = bytes_of({numbers.begin(), numbers.end()})};
    if (!is_single) tensor.shape = {static_cast<std::int32_t>(numbers.size())};
    subgraph.tensors.push_back(tensor);
    return static_cast<std::int32_t>(subgraph.tensors.size() - 1);
  }

  void write(const OpenGraph& graph, std::size_t place) {
    TfliteSubgraph subgraph{.name = graph.name};
    Tensors tensors;
    for (const OpenInput& input : graph.inputs)
      subgraph.inputs.push_back(index_of(input.name, subgraph, tensors));
    for (const OpenNode& node : graph.nodes) write(node, subgraph, tensors);
    for (const std::string& output : graph.outputs)
      subgraph.outputs.push_back(index_of(output, subgraph, tensors));
    spec_.subgraphs[place] = std::move(subgraph);
  }

  void write(const OpenNode& node, TfliteSubgraph& subgraph, Tensors& tensors) {
    TfliteOperator op;
    for (const std::string& input : node.inputs) op.inputs.push_back(index_of(input, subgraph, tensors));
    for (const std::string& output : node.outputs) op.outputs.push_back(index_of(output, subgraph, tensors));
    for (const OpenGraph& body : node.bodies) {
      op.bodies.push_back(static_cast<std::int32_t>(spec_.subgraphs.size()));
      spec_.subgraphs.emplace_back();
      write(body, spec_.subgraphs.size() - 1);
    }
    const Numbers& numbers = node.numbers;
    const auto also = [&](const Numbers& constant, bool is_single) {
      op.inputs.push_back(add_constant(constant, is_single, subgraph));
    };
    static const std::map<std::string, std::string> names{
        {"Relu", "RELU"},      {"Sigmoid", "LOGISTIC"}, {"Tanh", "TANH"},       {"Neg", "NEG"},
        {"Exp", "EXP"},        {"Cast", "CAST"},        {"Add", "ADD"},         {"Mul", "MUL"},
        {"Sub", "SUB"},        {"Max", "MAXIMUM"},      {"Greater", "GREATER"}, {"Less", "LESS"},
        {"Softmax", "SOFTMAX"}};
    switch (node.kind) {
      case OpenKind::unary:
      case OpenKind::binary:
      case OpenKind::rows:
        op.type = names.at(node.type);
        break;
      case OpenKind::concat:
        op.type = "CONCATENATION";
        op.numbers = {static_cast<std::int32_t>(numbers[0]), 0};
        break;
      case OpenKind::split:
        op.type = "SPLIT";
        op.inputs.insert(op.inputs.begin(), add_constant({numbers[0]}, true, subgraph));
        break;
      case OpenKind::slice:
        op.type = "STRIDED_SLICE";
        also({numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2), numbers.end()}, false);
        op.numbers = {0, 0, 0, 0, 0, 0};
        break;
      case OpenKind::gather:
        op.type = "GATHER";
        op.numbers = {static_cast<std::int32_t>(numbers[0]), 0};
        break;
      case OpenKind::reshape:
        op.type = "RESHAPE";
        break;
      case OpenKind::transpose:
        op.type = "TRANSPOSE";
        also(numbers, false);
        break;
      case OpenKind::unsqueeze:
        op.type = "EXPAND_DIMS";
        also(numbers, true);
        break;
      case OpenKind::shape:
        op.type = "SHAPE";
        break;
      case OpenKind::nonzero:
        op.type = "WHERE";
        break;
      case OpenKind::unique:
        op.type = "UNIQUE";
        break;
      case OpenKind::topk:
        op.type = "TOPK_V2";
        break;
      case OpenKind::range:
        op.type = "RANGE";
        break;
      case OpenKind::expand:
        op.type = "BROADCAST_TO";
        break;
      case OpenKind::pad:
        op.type = "PAD";
        break;
      case OpenKind::tile:
        op.type = "TILE";
        break;
      case OpenKind::fill: {
        op.type = "FILL";
        const std::int32_t value = add_constant({0}, true, subgraph);
        subgraph.tensors.back().dtype = DType::float32;
        op.inputs.push_back(value);
        break;
      }
      case OpenKind::reduce:
        op.type = "MEAN";
        also({numbers[0]}, false);
        if (numbers[1] != 0) op.numbers = {1};
        break;
      case OpenKind::branch:
        op.type = "IF";
        break;
      case OpenKind::repeat:
        op.type = "WHILE";
        break;
      case OpenKind::squeeze:
      case OpenKind::flatten:
      case OpenKind::compress:
      case OpenKind::multiply:
      case OpenKind::loop:
      case OpenKind::scan:
        break;
    }
    subgraph.operators.push_back(op);
  }

  const OpenNet& net_;
  TfliteSpec spec_;
};

}  // namespace

std::string tflite_of(const OpenNet& net) { return LiteWriter(net).bytes(); }

}  // namespace stowage::campaign
