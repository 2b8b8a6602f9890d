// Idea. Visits operators in dependence order, and bodies at the position of their operator. Every dimension
// of the inputs is bound before, so all shapes are concrete numbers. What ONNX calls data propagation is then
// plain constant folding of the few small integer tensors that shapes are computed from (onnx_evaluate.cc).
// Each operator has a rule (onnx_rules.cc). The file's own declaration settles what rules leave open; if both
// exist, they must agree.

#include "import/onnx_shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "import/onnx_context.h"
#include "import/onnx_evaluate.h"
#include "import/onnx_rules.h"
#include "import/onnx_types.h"
#include "import/onnx_unread.h"
#include "import/onnx_values.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

/// Gives another result in each run. Dropout does so only in training mode.
bool is_random(const Operator& op) {
  const bool trains = op.type == "Dropout" && op.inputs.size() > 2;
  return trains || op.type.find("Random") != std::string::npos || op.type == "Multinomial" ||
         op.type == "Bernoulli";
}

/// The domain of onnxruntime's own operators.
constexpr std::string_view contributed_domain = "com.microsoft";

class Inference {
 public:
  Inference(OnnxGraph& model, const Versions& versions, const std::filesystem::path& folder,
            const ImportOptions& options)
      : model_(model),
        versions_(versions),
        options_(options),
        files_(folder),
        orders_(topological_orders(model.graph)),
        captures_(captures_of(model.graph)),
        types_(model.graph.tensors.size()),
        values_(model.graph.tensors.size()),
        is_constant_(model.graph.tensors.size(), false) {}

  std::vector<std::optional<Value>> run() {
    for (TensorId t = 0; t < types_.size(); ++t) {
      if (model_.declared[t] != nullptr) {
        const Type declared = declared_type(*model_.declared[t], options_.dims);
        merge_types(declared, types_[t], place(t), "declaration");
      }
      if (model_.graph.tensors[t].kind == TensorKind::weight) know_weight(t);
      apply_given_shape(t);
    }
    for (const TensorId input : model_.graph.subgraphs[0].inputs)
      expect_settled(input, [] { return std::string(); });
    infer(0);
    for (TensorId t = 0; t < types_.size(); ++t) settle(t);
    expect_sizes_of(0);
    return std::move(values_);
  }

 private:
  Graph& graph() { return model_.graph; }
  [[nodiscard]] std::string place(TensorId t) const { return describe(model_.graph, t); }

  void know_weight(TensorId t) {
    is_constant_[t] = true;
    const wire::TensorProto* const initializer = model_.initializers[t];
    if (initializer == nullptr) return;  // sparse: no shape depends on it here
    check_data(*initializer, place(t));
    types_[t] = tensor_type(initializer->data_type, initializer->dims);
    values_[t] = value_of(*initializer, files_);
  }

  /// A shape from the user fills what the file leaves open, and must agree with the rest.
  void apply_given_shape(TensorId t) {
    if (options_.shapes.empty()) return;
    const auto given = options_.shapes.find(graph().tensors[t].name);
    if (given == options_.shapes.end() || is_constant_[t]) return;
    const Type shape = tensor_type(0, largest(given->second));
    merge_types(shape, types_[t], place(t), "--shape");
  }

  void infer(std::size_t subgraph) {
    for (const std::size_t o : orders_[subgraph]) infer_operator(subgraph, o);
  }

  void infer_operator(std::size_t subgraph, std::size_t o) {
    Operator& op = graph().subgraphs[subgraph].operators[o];
    const wire::NodeProto& node = *model_.nodes[subgraph][o];
    if (op.type == "Loop") {
      infer_loop(op, subgraph, o);
    } else if (op.type == "If") {
      infer_if(op);
    } else if (op.type == "Scan") {
      infer_scan(op, node, subgraph, o);
    } else {
      for (const std::size_t body : op.bodies) infer(body);
      infer_plain(op, node, subgraph, o);
    }
    if (op.bodies.empty()) compute(op, node);
    fold(op);
  }

  void infer_plain(const Operator& op, const wire::NodeProto& node, std::size_t subgraph, std::size_t o) {
    std::vector<const Type*> inputs;
    std::vector<const Value*> values;
    inputs.reserve(op.inputs.size());
    values.reserve(op.inputs.size());
    bool are_known = true;
    for (const auto& input : op.inputs) {
      inputs.push_back(input ? &types_[*input] : nullptr);
      values.push_back(input && values_[*input] ? &*values_[*input] : nullptr);
      are_known = are_known && (!input || is_useful(types_[*input]));
    }
    const auto version = versions_.find(node.domain == "ai.onnx" ? "" : node.domain);
    // Exporters forget the version of contributed operators.
    if (!are_known || (version == versions_.end() && node.domain != contributed_domain)) return;
    NodeContext context(node, version == versions_.end() ? 1 : version->second, std::move(inputs),
                        std::move(values));
    apply_rule(context, op.type, subgraph, o);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i]) learn(*op.outputs[i], context.outputs()[i]);
    }
  }

  static bool is_useful(const Type& type) {
    return has_element_type(type) || (type.kind != Type::Kind::tensor && type.kind != Type::Kind::none);
  }

  void apply_rule(NodeContext& context, const std::string& type, std::size_t subgraph, std::size_t o) {
    if (type == context.node().op_type) expect_sane_attributes(context.node());
    try {
      infer_by_rule(context, type);
    } catch (const Misfit& problem) {
      throw Error(describe(graph(), subgraph, o),
                  fmt::format("is not valid ONNX: {}", base::quoted(problem.what())));
    }
  }

  /// Merges an inferred type with what is known of the tensor.
  void learn(TensorId t, const Type& inferred) {
    Type& known = types_[t];
    if (inferred.kind == known.kind && inferred.elem_type == known.elem_type && inferred.dims == known.dims &&
        known.kind == Type::Kind::tensor)
      return;
    if (known.kind == Type::Kind::none && concrete_shape(inferred.dims) &&
        std::ranges::all_of(*inferred.dims, [](const Dim& d) { return *d >= 0 && *d <= largest_value; })) {
      known = inferred;  // most of all: without the words for errors
      return;
    }
    merge_types(inferred, known, place(t), "shape inference");
  }

  /// Branches may differ in a dimension; then it stays open.
  void infer_if(const Operator& op) {
    for (const std::size_t body : op.bodies) infer(body);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i]) continue;
      std::optional<Type> common;
      for (const std::size_t body : op.bodies) {
        const auto& outputs = graph().subgraphs[body].outputs;
        if (i >= outputs.size())
          throw Error(place(*op.outputs[i]), fmt::format("has no value from subgraph {}", body));
        common = common ? common_type(*common, types_[outputs[i]]) : types_[outputs[i]];
      }
      if (common) learn(*op.outputs[i], *common);
    }
  }

  [[noreturn]] void reject(std::size_t subgraph, std::size_t o, const std::string& problem) {
    throw Error(describe(graph(), subgraph, o), problem);
  }

  /// Body: (iteration, condition, carried...) -> (condition, carried..., one row of each result...).
  void infer_loop(const Operator& op, std::size_t subgraph, std::size_t o) {
    if (op.bodies.size() != 1 || op.inputs.size() < 2)
      reject(subgraph, o, "is a Loop without body or inputs");
    const std::size_t carried = op.inputs.size() - 2;
    const std::vector<TensorId> inputs = graph().subgraphs[op.bodies[0]].inputs;
    const std::vector<TensorId> results = graph().subgraphs[op.bodies[0]].outputs;
    if (inputs.size() != carried + 2 || results.size() < carried + 1 ||
        op.outputs.size() > results.size() - 1) {
      reject(subgraph, o,
             fmt::format("carries {} values but its body takes {} and returns {}", carried, inputs.size(),
                         results.size()));
    }
    learn(inputs[0], tensor_type(wire::element::int64, Shape{}));
    learn(inputs[1], tensor_type(wire::element::boolean, Shape{}));
    for (std::size_t i = 0; i < carried; ++i) {
      if (op.inputs[i + 2]) enter_body(*op.inputs[i + 2], inputs[i + 2]);
    }
    infer(op.bodies[0]);
    for (std::size_t i = 0; i < carried; ++i) expect_same_after_round(inputs[i + 2], results[i + 1]);
    std::optional<std::int64_t> rounds;
    if (op.inputs[0] && values_[*op.inputs[0]] && values_[*op.inputs[0]]->integers.size() == 1)
      rounds = values_[*op.inputs[0]]->integers[0];
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i]) continue;
      learn(*op.outputs[i],
            i < carried ? types_[inputs[i + 2]] : with_dimension(types_[results[i + 1]], 0, rounds));
    }
  }

  /// A value passed to a body; a shape that the user gave for the body's input may be larger.
  void enter_body(TensorId from, TensorId to) {
    if (options_.shapes.contains(graph().tensors[to].name)) {
      learn(to, tensor_type(types_[from].elem_type, std::nullopt));
    } else {
      learn(to, types_[from]);
    }
  }

  void expect_same_after_round(TensorId before, TensorId after) {
    if (options_.shapes.contains(graph().tensors[before].name) ||
        is_compatible(types_[before], types_[after]))
      return;
    throw Error(
        place(before),
        fmt::format("is {} before the loop and {} after a round; give its largest shape with --shape {}=...",
                    show_type(types_[before]), show_type(types_[after]), graph().tensors[before].name));
  }

  /// Body: (state..., one slice of each scanned input...) -> (state..., one row of each result...).
  void infer_scan(const Operator& op, const wire::NodeProto& node, std::size_t subgraph, std::size_t o) {
    constexpr int first_without_batch = 9;
    const NodeContext attributes(node, 0, {}, {});
    const auto scanned =
        static_cast<std::size_t>(std::max<std::int64_t>(attributes.integer("num_scan_inputs", 0), 0));
    if (op.bodies.size() != 1 || scanned > op.inputs.size())
      reject(subgraph, o, "is a Scan without body or inputs");
    const auto version = versions_.find("");
    if (version == versions_.end() || version->second < first_without_batch)
      reject(subgraph, o, "is a Scan of operator set 8, expected 9 or later");
    const std::size_t states = op.inputs.size() - scanned;
    const std::vector<TensorId> inputs = graph().subgraphs[op.bodies[0]].inputs;
    const std::vector<TensorId> results = graph().subgraphs[op.bodies[0]].outputs;
    if (inputs.size() != op.inputs.size() || results.size() < states || op.outputs.size() > results.size()) {
      reject(subgraph, o,
             fmt::format("has {} inputs but its body takes {} and returns {}", op.inputs.size(),
                         inputs.size(), results.size()));
    }
    const Shape input_axes = attributes.integer_list("scan_input_axes").value_or(Shape(scanned, 0));
    const Shape output_axes =
        attributes.integer_list("scan_output_axes").value_or(Shape(op.outputs.size(), 0));
    std::optional<std::int64_t> length;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i]) continue;
      if (i < states) {
        enter_body(*op.inputs[i], inputs[i]);
      } else {
        const std::int64_t axis = i - states < input_axes.size() ? input_axes[i - states] : 0;
        length = dimension_at(types_[*op.inputs[i]], axis);
        learn(inputs[i], without_dimension(types_[*op.inputs[i]], axis));
      }
    }
    infer(op.bodies[0]);
    for (std::size_t i = 0; i < states; ++i) expect_same_after_round(inputs[i], results[i]);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i]) continue;
      const std::int64_t axis = i >= states && i - states < output_axes.size() ? output_axes[i - states] : 0;
      learn(*op.outputs[i],
            i < states ? types_[inputs[i]] : with_dimension(types_[results[i]], axis, length));
    }
  }

  /// The value of the first output, if shapes might depend on it. `Shape` and `Size` need only the shape of
  /// their input.
  void compute(const Operator& op, const wire::NodeProto& node) {
    if (op.outputs.empty() || !op.outputs[0] || op.type != node.op_type) return;
    const TensorId output = *op.outputs[0];
    if (op.type == "Shape" || op.type == "Size") {
      if (op.inputs.empty() || !op.inputs[0]) return;
      const Type& type = types_[*op.inputs[0]];
      values_[output] = op.type == "Shape" ? shape_value(type, node) : size_value(type);
      return;
    }
    const auto shape = concrete_shape(types_[output].dims);
    if (!shape) return;
    std::vector<const Value*> inputs;
    for (const auto& input : op.inputs)
      inputs.push_back(input && values_[*input] ? &*values_[*input] : nullptr);
    values_[output] = evaluate(node, inputs, *shape, types_[output].elem_type, files_);
  }

  [[nodiscard]] bool is_deterministic(std::size_t subgraph) const {
    const auto& operators = model_.graph.subgraphs[subgraph].operators;
    return std::all_of(operators.begin(), operators.end(), [&](const Operator& op) {
      return !is_random(op) && std::all_of(op.bodies.begin(), op.bodies.end(),
                                           [&](std::size_t body) { return is_deterministic(body); });
    });
  }

  /// Folds an operator, computed once ahead of time, if all its inputs are constant.
  void fold(Operator& op) {
    const bool is_shape_query = (op.type == "Shape" || op.type == "Size") && op.outputs.size() == 1 &&
                                op.outputs[0] && values_[*op.outputs[0]];
    bool reads_something = false;
    bool all_constant = !is_random(op);
    const auto read = [&](TensorId tensor) {
      reads_something = true;
      all_constant = all_constant && is_constant_[tensor];
    };
    for (const auto& input : op.inputs) {
      if (input) read(*input);
    }
    for (const std::size_t body : op.bodies) {
      for (const TensorId tensor : captures_[body]) read(tensor);
      all_constant = all_constant && is_deterministic(body);
    }
    op.folded = is_shape_query || (all_constant && (reads_something || op.type == "Constant"));
    if (!op.folded) return;
    for (const auto& output : op.outputs) {
      if (!output) continue;
      is_constant_[*output] = true;
      graph().tensors[*output].kind = TensorKind::weight;
    }
  }

  /// Writes the known type of a tensor into the graph.
  void settle(TensorId t) {
    Tensor& tensor = graph().tensors[t];
    if (!has_element_type(types_[t])) return;
    const auto dtype = known_dtype(types_[t].elem_type);
    tensor.dtype = dtype ? *dtype : dtype_of(types_[t].elem_type, place(t));
    tensor.shape = concrete_shape(types_[t].dims);
    if (!tensor.shape || !bits_of(tensor.dtype)) return;
    try {
      tensor.bytes = bytes_of(tensor.dtype, *tensor.shape);
    } catch (const Error& error) {
      throw Error(place(t), error.what());
    }
  }

  /// Every tensor that steps of this subgraph write needs a size, or a bound from the user.
  void expect_sizes_of(std::size_t subgraph) {
    for (const TensorId input : graph().subgraphs[subgraph].inputs)
      expect_settled(input, [] { return std::string(); });
    for (std::size_t o = 0; o < graph().subgraphs[subgraph].operators.size(); ++o) {
      const Operator& op = graph().subgraphs[subgraph].operators[o];
      if (op.folded) continue;
      for (const auto& output : op.outputs) {
        if (!output) continue;
        expect_settled(*output,
                       [&] { return fmt::format("a result of {}, ", describe(graph(), subgraph, o)); });
      }
      for (const std::size_t body : op.bodies) expect_sizes_of(body);
    }
  }

  /// `origin` says for errors where the tensor comes from.
  template <typename Origin>
  void expect_settled(TensorId t, const Origin& origin) {
    Tensor& tensor = graph().tensors[t];
    const Type& type = types_[t];
    if (type.kind != Type::Kind::none && type.kind != Type::Kind::tensor) {
      throw Error(place(t), fmt::format("{}is of type {}, expected a dense tensor: others cannot be planned",
                                        origin(), kind_of_type(type)));
    }
    const auto is_known = [](const Dim& dim) { return dim.has_value(); };
    if (has_element_type(type) && type.dims && std::ranges::all_of(*type.dims, is_known)) {
      const auto known = known_dtype(type.elem_type);
      const DType dtype = known ? *known : dtype_of(type.elem_type, place(t));
      if (!bits_of(dtype))
        throw Error(place(t),
                    fmt::format("is of element type {}, which has no fixed size and cannot be planned",
                                name_of(dtype)));
      return;
    }
    const auto bound = options_.bounds.find(tensor.name);
    if (bound != options_.bounds.end()) {
      tensor.shape.reset();
      tensor.bytes = bound->second;
      return;
    }
    throw Error(place(t), origin() + open_dimension(type, model_.declared[t], tensor.name) +
                              unread_data_behind(model_, t, files_));
  }

  OnnxGraph& model_;
  const Versions& versions_;
  const ImportOptions& options_;
  NearbyFiles files_;
  std::vector<std::vector<std::size_t>> orders_;
  std::vector<std::vector<TensorId>> captures_;
  std::vector<Type> types_;
  std::vector<std::optional<Value>> values_;
  std::vector<bool> is_constant_;
};

}  // namespace

std::vector<std::optional<Value>> infer_shapes(OnnxGraph& model, const Versions& versions,
                                               const std::filesystem::path& folder,
                                               const ImportOptions& options) {
  return Inference(model, versions, folder, options).run();
}

}  // namespace stowage::import
