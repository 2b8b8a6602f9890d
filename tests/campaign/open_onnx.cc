#include <onnx/onnx_pb.h>

#include <functional>
#include <set>

#include "open_net.h"

namespace stowage::campaign {
namespace {

using Numbers = std::vector<std::int64_t>;

int onnx_type_of(Elements elements) {
  return elements == Elements::real    ? onnx::TensorProto::FLOAT
         : elements == Elements::truth ? onnx::TensorProto::BOOL
                                       : onnx::TensorProto::INT64;
}

/// Writes nodes in the words of ONNX, set 17.
class OnnxWriter {
 public:
  explicit OnnxWriter(const OpenNet& net) : net_(net) {}

  std::string bytes() {
    onnx::ModelProto model;
    model.set_ir_version(8);
    auto* set = model.add_opset_import();
    set->set_domain("");
    set->set_version(17);
    main_ = model.mutable_graph();
    write(net_.main, *main_);
    for (const OpenInput& input : net_.main.inputs) {
      auto* shape = declare(*main_->add_input(), input.name).mutable_shape();
      for (const OpenDim& dim : input.dims) {
        auto* written = shape->add_dim();
        if (dim.symbol.empty()) written->set_dim_value(dim.size);
        if (dim.is_named) written->set_dim_param(dim.symbol);
      }
    }
    for (const std::string& constant : constants_) write(constant, net_.constants.at(constant));
    return model.SerializeAsString();
  }

 private:
  onnx::TypeProto_Tensor& declare(onnx::ValueInfoProto& value, const std::string& name) {
    value.set_name(name);
    auto* type = value.mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx_type_of(net_.elements.at(name)));
    return *type;
  }

  void write(const std::string& name, const OpenConstant& constant) {
    onnx::TensorProto& tensor = *main_->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx_type_of(constant.elements));
    std::int64_t count = 1;
    for (const std::int64_t extent : constant.shape) {
      tensor.add_dims(extent);
      count *= extent;
    }
    for (const std::int64_t number : constant.numbers) tensor.add_int64_data(number);
    for (std::int64_t i = 0; i < count && constant.elements == Elements::real; ++i)
      tensor.add_float_data(static_cast<float>(i % 7) / 8.0F);
  }

  std::string constant(const Numbers& numbers) {
    onnx::TensorProto& tensor = *main_->add_initializer();
    tensor.set_name("a" + std::to_string(added_++));
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(numbers.size()));
    for (const std::int64_t number : numbers) tensor.add_int64_data(number);
    return tensor.name();
  }

  static void put(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
    onnx::AttributeProto& made = *node.add_attribute();
    made.set_name(name);
    made.set_type(onnx::AttributeProto::INT);
    made.set_i(value);
  }

  static void put(onnx::NodeProto& node, const std::string& name, const Numbers& values) {
    onnx::AttributeProto& made = *node.add_attribute();
    made.set_name(name);
    made.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) made.add_ints(value);
  }

  void put(onnx::NodeProto& node, const std::string& name, const OpenGraph& body) {
    onnx::AttributeProto& made = *node.add_attribute();
    made.set_name(name);
    made.set_type(onnx::AttributeProto::GRAPH);
    write(body, *made.mutable_g());
    for (const OpenInput& input : body.inputs) declare(*made.mutable_g()->add_input(), input.name);
    for (onnx::ValueInfoProto& input : *made.mutable_g()->mutable_input())
      if (net_.ranks.at(input.name()) == 0) input.mutable_type()->mutable_tensor_type()->mutable_shape();
  }

  void write(const OpenGraph& from, onnx::GraphProto& graph) {
    graph.set_name(from.name);
    for (const OpenNode& node : from.nodes) write(node, *graph.add_node());
    for (const std::string& output : from.outputs) declare(*graph.add_output(), output);
  }

  void write(const OpenNode& node, onnx::NodeProto& written) {
    for (const std::string& input : node.inputs) {
      written.add_input(input);
      if (net_.constants.contains(input)) constants_.insert(input);
    }
    for (const std::string& output : node.outputs) written.add_output(output);
    written.set_name("n_" + node.outputs[0]);
    const Numbers& numbers = node.numbers;
    const auto be = [&](const char* type) { written.set_op_type(type); };
    switch (node.kind) {
      case OpenKind::unary:
      case OpenKind::binary:
      case OpenKind::rows:
        be(node.type.c_str());
        if (node.type == "Cast") put(written, "to", std::int64_t{onnx::TensorProto::FLOAT});
        break;
      case OpenKind::concat:
        be("Concat");
        put(written, "axis", numbers[0]);
        break;
      case OpenKind::split:
        be("Split");
        put(written, "axis", numbers[0]);
        if (numbers.size() > 1) written.add_input(constant({numbers.begin() + 1, numbers.end()}));
        break;
      case OpenKind::slice: {
        be("Slice");
        const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
        written.add_input(constant({numbers.begin(), middle}));
        written.add_input(constant({middle, numbers.end()}));
        break;
      }
      case OpenKind::gather:
        be("Gather");
        put(written, "axis", numbers[0]);
        break;
      case OpenKind::reshape:
        be("Reshape");
        break;
      case OpenKind::transpose:
        be("Transpose");
        put(written, "perm", numbers);
        break;
      case OpenKind::squeeze:
        be("Squeeze");
        written.add_input(constant(numbers));
        break;
      case OpenKind::unsqueeze:
        be("Unsqueeze");
        written.add_input(constant(numbers));
        break;
      case OpenKind::flatten:
        be("Flatten");
        put(written, "axis", numbers[0]);
        break;
      case OpenKind::shape:
        be("Shape");
        break;
      case OpenKind::nonzero:
        be("NonZero");
        break;
      case OpenKind::compress:
        be("Compress");
        put(written, "axis", numbers[0]);
        break;
      case OpenKind::unique:
        be("Unique");
        break;
      case OpenKind::topk:
        be("TopK");
        put(written, "axis", numbers[0]);
        break;
      case OpenKind::range:
        be("Range");
        break;
      case OpenKind::expand:
        be("Expand");
        break;
      case OpenKind::pad:
        be("Pad");
        break;
      case OpenKind::tile:
        be("Tile");
        break;
      case OpenKind::fill:
        be("ConstantOfShape");
        break;
      case OpenKind::reduce:
        be("ReduceMean");
        put(written, "axes", Numbers{numbers[0]});
        put(written, "keepdims", numbers[1]);
        break;
      case OpenKind::multiply:
        be("MatMul");
        break;
      case OpenKind::branch:
        be("If");
        put(written, "then_branch", node.bodies[0]);
        put(written, "else_branch", node.bodies[1]);
        break;
      case OpenKind::loop:
        be("Loop");
        written.mutable_input()->Clear();
        written.add_input(node.inputs[0]);
        written.add_input("");
        for (std::size_t k = 1; k < node.inputs.size(); ++k) written.add_input(node.inputs[k]);
        put(written, "body", node.bodies[0]);
        break;
      case OpenKind::scan:
        be("Scan");
        put(written, "num_scan_inputs", std::int64_t{1});
        put(written, "body", node.bodies[0]);
        break;
      case OpenKind::repeat:
        break;
    }
  }

  const OpenNet& net_;
  onnx::GraphProto* main_ = nullptr;
  std::set<std::string> constants_;
  std::size_t added_ = 0;
};

}  // namespace

std::string onnx_of(const OpenNet& net) { return OnnxWriter(net).bytes(); }

}  // namespace stowage::campaign
