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

Inference::Inference(SharedReading& shared, const ImportOptions& options, const Reading& reading)
    : shared_(shared),
      model_(shared.model),
      options_(options),
      reading_(reading),
      are_sizes_given_(!options.dims.empty() || !options.shapes.empty() || !options.bounds.empty()),
      types_(shared.no_types()),
      values_(shared.no_values()) {
  if (reading.number == 0) given_.emplace(model_, options);
}

Inferred Inference::run() {
  for (TensorId t = 0; t < types_.size(); ++t) {
    declare(t);
    if (shared_.is_weight[t]) know_weight(t);
    if (reading_.number == 0 || !shared_.is_result[t]) apply_given_shape(t);
  }
  if (!reading_.leaves_sizes_open) expect_inputs_settled();
  know_values();
  infer(0);
  Inferred result;
  result.is_drawn = is_drawn_;
  result.decided = std::move(decided_);
  if (!result.decided.empty() || reading_.leaves_sizes_open) return result;
  for (TensorId t = 0; t < types_.size(); ++t)
    if (!expect_size(t).is_settled) result.has_open_sizes = true;
  if (reading_.number == 0 || !reading_.varying.empty() || result.has_open_sizes) {
    folding_ = fold(shared_, values_, reading_.varying);
    expect_settled();
  }
  for (TensorId t = 0; t < reading_.varying.size(); ++t) {
    if (reading_.varying[t]) values_.set_number(t, 0);
  }
  result.types = std::move(types_);
  result.values = std::move(values_);
  result.folding = std::move(folding_);
  result.bounded = std::move(bounded_);
  if (reading_.number != 0) return result;
  result.ranges = given_->ranges(result.types);
  result.own = given_->own_types();
  result.elements = std::move(elements_);
  result.given_rounds = std::move(given_rounds_);
  result.note = note_of(contradicted_);
  return result;
}

/// The type that the file declares, with the given sizes.
void Inference::declare(TensorId t) {
  const Id declaration = shared_.declarations[t];
  if (declaration == 0) return;
  if (declaration >= declared_.size()) declared_.resize(declaration + 1);
  if (!declared_[declaration]) {
    merge(declared_type(*model_.declared[t], options_.dims), t, "declaration");
    declared_[declaration] = types_.number(t);
  }
  types_.set_number(t, *declared_[declaration]);
}

void Inference::know_weight(TensorId t) {
  const wire::TensorProto* const initializer = model_.initializers[t];
  if (initializer == nullptr) return;  // sparse: no shape depends on it here
  auto& weight = shared_.weights[t];
  if (!weight) {
    check_data(*initializer, place(t));
    types_.set(t, tensor_type(initializer->data_type, initializer->dims));
    values_.set(t, value_of(*initializer, shared_.files));
    weight = {types_.number(t), values_.number(t)};
  }
  types_.set_number(t, weight->type);
  values_.set_number(t, weight->value);
  if (given_) given_->know(t, types_[t]);
}

bool Inference::is_given(TensorId t) const {
  return !options_.shapes.empty() && options_.shapes.contains(graph().tensors[t].name);
}

/// A shape from the user fills what the file leaves open, and must agree with the rest.
void Inference::apply_given_shape(TensorId t) {
  if (!is_given(t) || shared_.is_weight[t]) return;
  Type shape = tensor_type(0, largest(options_.shapes.at(graph().tensors[t].name)));
  for (std::size_t d = 0; d < shape.dims->size(); ++d) {
    if (!is_decided_by_user(t, d, shape.dims->size())) (*shape.dims)[d].reset();
  }
  merge(shape, t, "--shape");
}

/// Values from the user are known like those of constants, but stay inputs.
void Inference::know_values() {
  if (options_.values.empty()) return;
  for (const TensorId input : graph().subgraphs[0].inputs) {
    const auto given = options_.values.find(graph().tensors[input].name);
    const auto shape = concrete_shape(types_[input].dims);
    if (given == options_.values.end() || shared_.is_weight[input] || !shape) continue;
    Tensor tensor{.name = graph().tensors[input].name};
    values_.set(input, known_value(given->second, types_[input].elem_type, *shape, tensor));
    elements_.emplace(input, std::move(tensor.value));
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
  if (reading_.number == 0 || !is_given(t) || shared_.is_weight[t]) return;
  const Type given = tensor_type(0, largest(options_.shapes.at(graph().tensors[t].name)));
  if (!types_[t].dims) return merge(given, t, "--shape");
  Type type = types_[t];
  for (std::size_t d = 0; d < type.dims->size() && type.dims->size() == given.dims->size(); ++d) {
    if (!(*type.dims)[d]) (*type.dims)[d] = (*given.dims)[d];
  }
  types_.set(t, type);
}

void Inference::infer(std::size_t subgraph) {
  for (const std::size_t o : shared_.orders[subgraph]) infer_operator(subgraph, o);
}

void Inference::infer_operator(std::size_t subgraph, std::size_t o) {
  const Operator& op = graph().subgraphs[subgraph].operators[o];
  const wire::NodeProto& node = *model_.nodes[subgraph][o];
  if (op.type == "Loop") {
    infer_loop(op, subgraph, o);
  } else if (op.type == "If") {
    infer_if(op, subgraph, o);
  } else if (op.type == "Scan") {
    infer_scan(op, node, subgraph, o);
  } else if (op.bodies.empty()) {
    return infer_call(op, node, subgraph, o);
  } else {
    ++rounds_;
    for (const std::size_t body : op.bodies) infer(body);
    --rounds_;
    const KnownCall found = inferred_types(op, node, subgraph, o);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (op.outputs[i] && found[i].inferred) learn(*op.outputs[i], *found[i].inferred);
  }
  for (const auto& output : op.outputs) {
    if (output) fill_given_shape(*output);
  }
}

/// An operator without bodies. What was found for another one of its kind with the same inputs holds for this one, as far
/// as it is not about what the file declares, or the user gives, for its outputs.
void Inference::infer_call(const Operator& op, const wire::NodeProto& node, std::size_t subgraph,
                           std::size_t o) {
  const KnownCall* known = shared_.known_call(subgraph, o, types_, values_);
  KnownCall fresh;
  if (known == nullptr) fresh = inferred_types(op, node, subgraph, o);
  bool are_as_known = known != nullptr;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i]) continue;
    const KnownOutput& found = known != nullptr ? (*known)[i] : fresh[i];
    if (found.inferred) learn(*op.outputs[i], *found.inferred);
    fill_given_shape(*op.outputs[i]);
    are_as_known = are_as_known && types_.number(*op.outputs[i]) == found.type;
  }
  if (!are_as_known) compute(op, node);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i]) continue;
    if (are_as_known) values_.set_number(*op.outputs[i], (*known)[i].value);
    if (known != nullptr) continue;
    fresh[i].type = types_.number(*op.outputs[i]);
    fresh[i].value = values_.number(*op.outputs[i]);
  }
  if (known == nullptr) shared_.note_call(std::move(fresh));
}

/// The types of the outputs by the rule of the operator.
KnownCall Inference::inferred_types(const Operator& op, const wire::NodeProto& node, std::size_t subgraph,
                                    std::size_t o) {
  std::vector<const Type*> inputs;
  inputs.reserve(op.inputs.size());
  for (const auto& input : op.inputs) inputs.push_back(input ? &types_[*input] : nullptr);
  KnownCall found(op.outputs.size());
  auto context = context_of(op, node, std::move(inputs));
  if (!context) return found;
  apply_rule(op, node, *context, subgraph, o);
  for (std::size_t i = 0; i < found.size(); ++i) found[i].inferred = types_.number_of(context->outputs()[i]);
  return found;
}

/// The operator as its rule sees it, with these types of its inputs; none if too little is known of them.
std::optional<operators::NodeContext> Inference::context_of(const Operator& op, const wire::NodeProto& node,
                                                            std::vector<const Type*> inputs) const {
  for (const Type* const input : inputs) {
    if (input != nullptr && !is_useful_type(*input)) return std::nullopt;
  }
  const auto version = shared_.versions.find(node.domain == "ai.onnx" ? "" : node.domain);
  // Exporters forget the version of contributed operators; ours come from no exporter.
  const bool has_one_version = node.domain == contributed_domain || node.domain == own_domain;
  if (version == shared_.versions.end() && !has_one_version) return std::nullopt;
  return operators::NodeContext(views_of(node), version == shared_.versions.end() ? 1 : version->second,
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
  if (declared == nullptr || !declared->shape || is_given(t) ||
      (!shared_.is_result[t] && !shared_.is_passed[t]) || !inferred.dims ||
      inferred.dims->size() != declared->shape->size())
    return false;
  for (std::size_t d = 0; d < inferred.dims->size(); ++d) {
    const std::string_view name = (*declared->shape)[d].name;
    const auto given = name.empty() ? options_.dims.end() : options_.dims.find(std::string(name));
    if (given == options_.dims.end() || !(*inferred.dims)[d] || shared_.dims_of_caller.contains(name))
      continue;
    if (given->second.most != *(*inferred.dims)[d]) return false;
  }
  return true;
}

/// A declared shape that a rule contradicts does not count: exporters leave wrong ones behind, and runtimes do not mind.
void Inference::drop_wrong_declaration(TensorId t, const Type& inferred) {
  const Type& known = types_[t];
  if (model_.declared[t] == nullptr || (!shared_.is_result[t] && !shared_.is_passed[t]) || is_given(t) ||
      contradicted_.contains(t))
    return;
  if (inferred.kind != Type::Kind::tensor || !inferred.dims || is_compatible(inferred, known)) return;
  const Type declared = declared_type(*model_.declared[t], options_.dims);
  Type as_inferred = known;
  as_inferred.dims = inferred.dims;
  if (is_compatible(inferred, declared) || !is_compatible(inferred, as_inferred)) return;
  contradicted_.emplace(t, fmt::format("{} is {} by shape inference but {} in the file", place(t),
                                       show_type(inferred), show_type(declared)));
  types_.set(t, as_inferred);
}

/// Merges an inferred type with what is known of the tensor.
void Inference::learn(TensorId t, Id inferred) {
  const bool is_same = types_.number(t) == inferred || types_.number(t) == 0;
  if (!is_same || !shared_.size_of(inferred).is_plain) return learn(t, Type(types_.of(inferred)));
  types_.set_number(t, inferred);  // most of all
  if (given_) given_->know(t, types_[t]);
}

void Inference::learn(TensorId t, const Type& inferred) {
  const auto own_type = [&] {
    return model_.declared[t] == nullptr ? Type() : declared_type(*model_.declared[t], {});
  };
  if (are_sizes_given_ && !is_compatible(inferred, types_[t]) && is_compatible(inferred, own_type()) &&
      !is_declared_by_inputs(t, inferred))
    throw Error(place(t), fmt::format("is {} by the model itself but {} by --dim or --shape",
                                      show_type(inferred), show_type(types_[t])));
  drop_wrong_declaration(t, inferred);
  if (given_) given_->know(t, inferred);
  merge(inferred, t, "shape inference");
}

void Inference::merge(const Type& found, TensorId t, std::string_view source) {
  Type merged = types_[t];
  merge_types(
      found, merged, [&] { return place(t); }, source);
  types_.set(t, merged);
}

/// The values that shapes might depend on: of the first output, of TopK and Unique all. `Shape` and `Size` need only the
/// shape of their input.
void Inference::compute(const Operator& op, const wire::NodeProto& node) {
  if (op.outputs.empty() || !op.outputs[0] || op.type != node.op_type) return;
  const TensorId output = *op.outputs[0];
  if (op.type == "Shape" || op.type == "Size") {
    if (op.inputs.empty() || !op.inputs[0]) return;
    const Type& type = types_[*op.inputs[0]];
    values_.set(output, op.type == "Shape" ? shape_value(type, node) : size_value(type));
    return;
  }
  if (op.type == "Split") return compute_parts(op, node);
  const std::size_t computed = op.type == "TopK" || op.type == "Unique" ? op.outputs.size() : 1;
  for (std::size_t i = 0; i < computed; ++i) {
    if (!op.outputs[i]) continue;
    const Type& type = types_[*op.outputs[i]];
    const auto shape = concrete_shape(type.dims);
    if (!shape || !small_count(type.elem_type, *shape)) continue;
    values_.set(*op.outputs[i], evaluate(node, values_of(op), *shape, type.elem_type, shared_.files, i));
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
    values_.set(*output, part_of(whole, along, begin, *shape));
    begin += (*shape)[along];
  }
}

/// What its type says of the tensor's size. Throws Error if that is not possible.
const SizeOfType& Inference::expect_size(TensorId t) const {
  const SizeOfType& known = shared_.size_of(types_.number(t));
  if (known.size) return known;
  const DType dtype = dtype_of(types_[t].elem_type, place(t));
  try {
    static_cast<void>(bytes_of(dtype, *concrete_shape(types_[t].dims)));
  } catch (const Error& error) {
    throw Error(place(t), error.what());
  }
  return known;
}

Inferred infer_shapes(SharedReading& shared, const ImportOptions& options, const Reading& reading) {
  try {
    return Inference(shared, options, reading).run();
  } catch (const Inference::RoundsUnlike&) {
    return {.are_rounds_unlike = true};
  }
}

}  // namespace stowage::import
