// Visits operators in dependence order, and bodies at the position of their operator. Every dimension
// of the inputs is bound before, so all shapes are concrete numbers. What ONNX calls data propagation is then
// plain constant folding of the few small integer tensors that shapes are computed from (onnx_evaluate.cc).
// Each operator has a rule (operators/). The file's own declaration settles what rules leave open; if both
// exist, they must agree.

#include "import/onnx_shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "import/given_values.h"
#include "import/onnx_attributes.h"
#include "import/onnx_evaluate.h"
#include "import/onnx_inference.h"
#include "import/onnx_quantized.h"
#include "operators/facts.h"
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

bool is_useful_type(const Type& type) {
  return has_element_type(type) || (type.kind != Type::Kind::tensor && type.kind != Type::Kind::none);
}

std::string note_of(const std::map<TensorId, std::string>& contradicted) {
  if (contradicted.empty()) return "";
  constexpr std::size_t most = 3;
  std::string text = "declared shapes that operators contradict do not count";
  std::size_t shown = 0;
  for (const auto& [tensor, words] : contradicted) {
    if (shown == most) break;
    text += (shown++ == 0 ? ": " : "; ") + words;
  }
  if (contradicted.size() > most) text += fmt::format("; and {} more", contradicted.size() - most);
  return text;
}

}  // namespace

Inference::Inference(OnnxGraph& model, const Versions& versions, const std::filesystem::path& folder,
                     const ImportOptions& options, const Reading& reading)
    : model_(model),
      versions_(versions),
      options_(options),
      reading_(reading),
      files_(folder),
      given_(model, options),
      orders_(topological_orders(model.graph)),
      captures_(captures_of(model.graph)),
      types_(model.graph.tensors.size()),
      values_(model.graph.tensors.size()),
      is_constant_(model.graph.tensors.size(), false),
      is_result_(model.graph.tensors.size(), false),
      is_passed_(model.graph.tensors.size(), false) {
  for (const Subgraph& subgraph : model.graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      for (const auto& output : op.outputs)
        if (output) is_result_[*output] = true;
    }
    if (&subgraph == &model.graph.subgraphs[0]) continue;
    for (const TensorId input : subgraph.inputs) is_passed_[input] = true;
  }
  for (const TensorId input : model.graph.subgraphs[0].inputs) {
    const wire::TypeProto* const declared = model.declared[input];
    if (declared == nullptr || !declared->shape) continue;
    for (const wire::Dimension& dimension : *declared->shape) dims_of_caller_.insert(dimension.name);
  }
}

Inferred Inference::run() {
  for (TensorId t = 0; t < types_.size(); ++t) {
    if (model_.declared[t] != nullptr) {
      const Type declared = declared_type(*model_.declared[t], options_.dims);
      merge_types(declared, types_[t], place(t), "declaration");
    }
    if (model_.graph.tensors[t].kind == TensorKind::weight) know_weight(t);
    if (reading_.number == 0 || !is_result_[t]) apply_given_shape(t);
  }
  if (!reading_.leaves_sizes_open) expect_inputs_settled();
  know_values();
  infer(0);
  Inferred result;
  result.is_drawn = is_drawn_;
  result.decided = std::move(decided_);
  if (!result.decided.empty() || reading_.leaves_sizes_open) return result;
  for (TensorId t = 0; t < types_.size(); ++t) settle(t);
  expect_settled();
  if (reading_.number == 0) result.ranges = given_.ranges(types_);
  for (TensorId t = 0; t < reading_.varying.size(); ++t) {
    if (reading_.varying[t]) values_[t].reset();
  }
  result.own = given_.own_types();
  result.types = std::move(types_);
  result.values = std::move(values_);
  result.given_rounds = std::move(given_rounds_);
  result.note = note_of(contradicted_);
  return result;
}

void Inference::know_weight(TensorId t) {
  is_constant_[t] = true;
  const wire::TensorProto* const initializer = model_.initializers[t];
  if (initializer == nullptr) return;  // sparse: no shape depends on it here
  check_data(*initializer, place(t));
  types_[t] = tensor_type(initializer->data_type, initializer->dims);
  values_[t] = value_of(*initializer, files_);
  given_.know(t, types_[t]);
}

bool Inference::is_given(TensorId t) const {
  return !options_.shapes.empty() && options_.shapes.contains(graph().tensors[t].name);
}

/// A shape from the user fills what the file leaves open, and must agree with the rest.
void Inference::apply_given_shape(TensorId t) {
  if (!is_given(t) || is_constant_[t]) return;
  Type shape = tensor_type(0, largest(options_.shapes.at(graph().tensors[t].name)));
  for (std::size_t d = 0; d < shape.dims->size(); ++d) {
    if (!is_decided_by_user(t, d, shape.dims->size())) (*shape.dims)[d].reset();
  }
  merge_types(shape, types_[t], place(t), "--shape");
}

/// Values from the user are known like those of constants, but stay inputs.
void Inference::know_values() {
  if (options_.values.empty()) return;
  for (const TensorId input : graph().subgraphs[0].inputs) {
    const auto given = options_.values.find(graph().tensors[input].name);
    const auto shape = concrete_shape(types_[input].dims);
    if (given == options_.values.end() || is_constant_[input] || !shape) continue;
    values_[input] = known_value(given->second, types_[input].elem_type, *shape, graph().tensors[input]);
  }
}

/// Whether an extent of a given shape is one that the model leaves to it; at the largest sizes nobody knows yet.
bool Inference::is_decided_by_user(TensorId t, std::size_t axis, std::size_t rank) const {
  if (reading_.own == nullptr) return true;
  const auto& own = (*reading_.own)[t].dims;
  return !own || own->size() != rank || !(*own)[axis];
}

/// At smaller sizes a shape from the user is one of what the rules leave open; they decide the other extents.
void Inference::fill_given_shape(TensorId t) {
  if (reading_.number == 0 || !is_given(t) || is_constant_[t]) return;
  const Type given = tensor_type(0, largest(options_.shapes.at(graph().tensors[t].name)));
  Type& type = types_[t];
  if (!type.dims) {
    merge_types(given, type, place(t), "--shape");
    return;
  }
  for (std::size_t d = 0; d < type.dims->size() && type.dims->size() == given.dims->size(); ++d) {
    if (!(*type.dims)[d]) (*type.dims)[d] = (*given.dims)[d];
  }
}

void Inference::infer(std::size_t subgraph) {
  for (const std::size_t o : orders_[subgraph]) infer_operator(subgraph, o);
}

void Inference::infer_operator(std::size_t subgraph, std::size_t o) {
  Operator& op = graph().subgraphs[subgraph].operators[o];
  const wire::NodeProto& node = *model_.nodes[subgraph][o];
  if (op.type == "Loop") {
    infer_loop(op, subgraph, o);
  } else if (op.type == "If") {
    infer_if(op, subgraph, o);
  } else if (op.type == "Scan") {
    infer_scan(op, node, subgraph, o);
  } else {
    ++rounds_;
    for (const std::size_t body : op.bodies) infer(body);
    --rounds_;
    infer_plain(op, node, subgraph, o);
  }
  for (const auto& output : op.outputs) {
    if (output) fill_given_shape(*output);
  }
  if (op.bodies.empty()) compute(op, node);
  fold(op);
}

void Inference::infer_plain(const Operator& op, const wire::NodeProto& node, std::size_t subgraph,
                            std::size_t o) {
  std::vector<const Type*> inputs;
  for (const auto& input : op.inputs) inputs.push_back(input ? &types_[*input] : nullptr);
  auto context = context_of(op, node, std::move(inputs));
  if (!context) return;
  apply_rule(op, node, *context, subgraph, o);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i]) learn(*op.outputs[i], context->outputs()[i]);
  }
}

/// The operator as its rule sees it, with these types of its inputs; none if too little is known of them.
std::optional<operators::NodeContext> Inference::context_of(const Operator& op, const wire::NodeProto& node,
                                                            std::vector<const Type*> inputs) const {
  for (const Type* const input : inputs) {
    if (input != nullptr && !is_useful_type(*input)) return std::nullopt;
  }
  const auto version = versions_.find(node.domain == "ai.onnx" ? "" : node.domain);
  // Exporters forget the version of contributed operators; ours come from no exporter.
  const bool has_one_version = node.domain == contributed_domain || node.domain == own_domain;
  if (version == versions_.end() && !has_one_version) return std::nullopt;
  return operators::NodeContext(views_of(node), version == versions_.end() ? 1 : version->second,
                                op.outputs.size(), std::move(inputs), values_of(op));
}

std::vector<const Value*> Inference::values_of(const Operator& op) const {
  std::vector<const Value*> values;
  for (const auto& input : op.inputs)
    values.push_back(input && values_[*input] ? &*values_[*input] : nullptr);
  return values;
}

void Inference::apply_rule(const Operator& op, const wire::NodeProto& node, operators::NodeContext& context,
                           std::size_t subgraph, std::size_t o) {
  if (op.type == node.op_type) expect_sane_attributes(node);
  context.set_always_runs(subgraph == 0);
  try {
    infer_types(operators::Format::onnx, op.type, context);
  } catch (const Misfit& problem) {
    throw Error(
        describe(graph(), subgraph, o),
        fmt::format("is not valid ONNX: {}", base::quoted(problem.what())) + undecided_branch(subgraph));
  }
}

/// Whether options give the extents that differ only as sizes of inputs, which the file declares for this tensor, too.
bool Inference::is_declared_by_inputs(TensorId t, const Type& inferred) const {
  const wire::TypeProto* const declared = model_.declared[t];
  if (declared == nullptr || !declared->shape || is_given(t) || (!is_result_[t] && !is_passed_[t]) ||
      !inferred.dims || inferred.dims->size() != declared->shape->size())
    return false;
  for (std::size_t d = 0; d < inferred.dims->size(); ++d) {
    const std::string_view name = (*declared->shape)[d].name;
    const auto given = name.empty() ? options_.dims.end() : options_.dims.find(std::string(name));
    if (given == options_.dims.end() || !(*inferred.dims)[d] || dims_of_caller_.contains(name)) continue;
    if (given->second.most != *(*inferred.dims)[d]) return false;
  }
  return true;
}

/// A declared shape that a rule contradicts does not count: exporters leave wrong ones behind, and runtimes do not mind.
void Inference::drop_wrong_declaration(TensorId t, const Type& inferred) {
  Type& known = types_[t];
  if (model_.declared[t] == nullptr || (!is_result_[t] && !is_passed_[t]) || is_given(t) ||
      contradicted_.contains(t))
    return;
  if (inferred.kind != Type::Kind::tensor || !inferred.dims || is_compatible(inferred, known)) return;
  const Type declared = declared_type(*model_.declared[t], options_.dims);
  Type as_inferred = known;
  as_inferred.dims = inferred.dims;
  if (is_compatible(inferred, declared) || !is_compatible(inferred, as_inferred)) return;
  contradicted_.emplace(t, fmt::format("{} is {} by shape inference but {} in the file", place(t),
                                       show_type(inferred), show_type(declared)));
  known = as_inferred;
}

/// Merges an inferred type with what is known of the tensor.
void Inference::learn(TensorId t, const Type& inferred) {
  Type& known = types_[t];
  if (given_.are_any() && !is_compatible(inferred, known) && is_compatible(inferred, given_.own_type(t)) &&
      !is_declared_by_inputs(t, inferred))
    throw Error(place(t), fmt::format("is {} by the model itself but {} by --dim or --shape",
                                      show_type(inferred), show_type(known)));
  drop_wrong_declaration(t, inferred);
  given_.know(t, inferred);
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

/// The values that shapes might depend on: of the first output, of TopK and Unique all. `Shape` and `Size` need only the
/// shape of their input.
void Inference::compute(const Operator& op, const wire::NodeProto& node) {
  if (op.outputs.empty() || !op.outputs[0] || op.type != node.op_type) return;
  const TensorId output = *op.outputs[0];
  if (op.type == "Shape" || op.type == "Size") {
    if (op.inputs.empty() || !op.inputs[0]) return;
    const Type& type = types_[*op.inputs[0]];
    values_[output] = op.type == "Shape" ? shape_value(type, node) : size_value(type);
    return;
  }
  if (op.type == "Split") return compute_parts(op, node);
  const std::size_t computed = op.type == "TopK" || op.type == "Unique" ? op.outputs.size() : 1;
  for (std::size_t i = 0; i < computed; ++i) {
    const auto shape = op.outputs[i] ? concrete_shape(types_[*op.outputs[i]].dims) : std::nullopt;
    if (!shape) continue;
    values_[*op.outputs[i]] =
        evaluate(node, values_of(op), *shape, types_[*op.outputs[i]].elem_type, files_, i);
  }
}

/// The parts of a Split of known elements.
void Inference::compute_parts(const Operator& op, const wire::NodeProto& node) {
  if (op.inputs.empty() || !op.inputs[0] || !values_[*op.inputs[0]]) return;
  const Value& whole = *values_[*op.inputs[0]];
  const auto found = std::ranges::find(node.attribute, "axis", &wire::AttributeProto::name);
  const auto* const given = found == node.attribute.end() ? nullptr : found->get<std::int64_t>();
  const std::size_t along = operators::axis_in(given == nullptr ? 0 : *given, whole.shape.size());
  std::int64_t begin = 0;
  for (const auto& output : op.outputs) {
    const auto shape = output ? concrete_shape(types_[*output].dims) : std::nullopt;
    if (!shape || along >= shape->size()) return;
    values_[*output] = part_of(whole, along, begin, *shape);
    begin += (*shape)[along];
  }
}

bool Inference::is_deterministic(std::size_t subgraph) const {
  const auto& operators = model_.graph.subgraphs[subgraph].operators;
  return std::all_of(operators.begin(), operators.end(), [&](const Operator& op) {
    return !is_random(op) && std::all_of(op.bodies.begin(), op.bodies.end(),
                                         [&](std::size_t body) { return is_deterministic(body); });
  });
}

/// Folds an operator, computed once ahead of time, if all its inputs are constant, or if its only result follows
/// from what is known of them. A result that is known from a given shape alone, as that of ConstantOfShape, is not
/// folded: the run still has to compare this shape with the input.
void Inference::fold(Operator& op) {
  const auto is_varying = [&](TensorId t) { return !reading_.varying.empty() && reading_.varying[t]; };
  const bool is_shape_query = op.type == "Shape" || op.type == "Size";
  const bool are_inputs_known = std::ranges::all_of(
      op.inputs, [&](const auto& input) { return !input || is_constant_[*input] || values_[*input]; });
  const bool is_known = (is_shape_query || are_inputs_known) && op.outputs.size() == 1 && op.outputs[0] &&
                        values_[*op.outputs[0]] && !is_varying(*op.outputs[0]);
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
  op.folded = is_known || (all_constant && (reads_something || op.type == "Constant"));
  if (!op.folded) return;
  for (const auto& output : op.outputs) {
    if (!output) continue;
    is_constant_[*output] = true;
    graph().tensors[*output].kind = TensorKind::weight;
  }
}

/// Writes the known type of a tensor into the graph.
void Inference::settle(TensorId t) {
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

Inferred infer_shapes(OnnxGraph& model, const Versions& versions, const std::filesystem::path& folder,
                      const ImportOptions& options, const Reading& reading) {
  try {
    return Inference(model, versions, folder, options, reading).run();
  } catch (const Inference::RoundsUnlike&) {
    return {.are_rounds_unlike = true};
  }
}

}  // namespace stowage::import
