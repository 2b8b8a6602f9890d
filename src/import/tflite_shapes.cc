// A file has a shape for each tensor, but where it leaves a size open, as -1 in the tensor's signature, that
// shape has a 1 in its place, whatever the size is in a run:
//
//     x int32[1,1]  signature [-1,-1]     SHAPE x -> s     FILL s -> y  float32[1,1], signature [-1,-1]
//
// So in such files shapes are inferred. Operators are visited in dependence order, and bodies at the position of
// their operator, with every size of the inputs known. Each operator has a rule (operators/); small tensors from
// which shapes are computed are computed, too (tflite_evaluate.cc). What rules leave open the signature settles, and
// the shape in the file if none of the operator's inputs has another size than there. What is still open is asked
// for. A value that a loop makes larger from round to round is open before the loop.
//
// Cost: operators, times 4 for each loop around them.

#include "import/tflite_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "import/open_sizes.h"
#include "import/tflite_attributes.h"
#include "import/tflite_evaluate.h"
#include "import/tflite_inference.h"
#include "import/tflite_tables.h"
#include "operators/facts.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

using tflite::BuiltinOperator;

bool is_below_zero(std::int64_t size) { return size < 0; }

/// The one dimension that is open follows from the number of elements.
void complete_dims(Dims& dims, const Dim& elements) {
  const auto open = std::ranges::find(dims, Dim());
  if (open == dims.end() || std::count(open, dims.end(), Dim()) > 1) return;
  *open = 1;
  const Dim others = product_of(dims, 0, dims.size());
  *open = quotient(elements, others);
  if (*open && product_of(**open, *others) != *elements)
    misfit("cannot reshape ", *elements, " elements into parts of ", *others);
}

/// The larger or the smaller of both in each dimension; unknown if one of them is.
template <typename Choose>
std::optional<Dims> one_of_each(const std::optional<Dims>& a, const std::optional<Dims>& b, Choose choose) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Dims result(a->size());
  for (std::size_t d = 0; d < a->size(); ++d) {
    if ((*a)[d] && (*b)[d]) result[d] = choose(*(*a)[d], *(*b)[d]);
  }
  return result;
}

std::optional<Dims> larger_dims(const std::optional<Dims>& a, const std::optional<Dims>& b) {
  return one_of_each(a, b, [](std::int64_t x, std::int64_t y) { return std::max(x, y); });
}

std::optional<Dims> smaller_dims(const std::optional<Dims>& a, const std::optional<Dims>& b) {
  return one_of_each(a, b, [](std::int64_t x, std::int64_t y) { return std::min(x, y); });
}

/// Of a tensor that is not constant. Old files do not say whether a result without dimensions is a number; those of
/// custom operators hardly ever are.
bool has_open_size(const tflite::Tensor& tensor, bool is_of_custom_operator) {
  return std::ranges::any_of(integers_in(tensor.shape()), is_below_zero) ||
         std::ranges::any_of(integers_in(tensor.shape_signature()), is_below_zero) ||
         (is_of_custom_operator && !fixed_dims(tensor));
}

}  // namespace

bool has_open_sizes(const tflite::Model& model, const Graph& graph) {
  TensorId first = 0;
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    const tflite::SubGraph& subgraph = at(model.subgraphs(), s);
    std::set<TensorId> custom;
    for (std::size_t o = 0; o < count(subgraph.operators()); ++o) {
      const std::uint32_t code = at(subgraph.operators(), o).opcode_index();
      if (builtin_of(at(model.operator_codes(), code)) != BuiltinOperator::CUSTOM) continue;
      for (const auto& output : graph.subgraphs[s].operators[o].outputs)
        if (output) custom.insert(*output);
    }
    for (std::size_t i = 0; i < count(subgraph.tensors()); ++i) {
      const TensorId t = first + i;
      if (!is_constant(graph.tensors[t].kind) && has_open_size(at(subgraph.tensors(), i), custom.contains(t)))
        return true;
    }
    first += count(subgraph.tensors());
  }
  return false;
}

Shape integers_in(const flatbuffers::Vector<std::int32_t>* numbers) {
  return numbers == nullptr ? Shape{} : Shape(numbers->begin(), numbers->end());
}

std::optional<Dims> fixed_dims(const tflite::Tensor& tensor) {
  const Shape signature = integers_in(tensor.shape_signature());
  const Shape shape = integers_in(tensor.shape());
  const bool has_handle = tensor.type() == tflite::TensorType::RESOURCE;
  if (signature.empty() && shape.empty() && !tensor.has_rank() && !has_handle) return std::nullopt;
  Dims dims;
  for (const std::int64_t size : signature.empty() ? shape : signature)
    dims.push_back(size < 0 ? Dim() : Dim(size));
  return dims;
}

TfliteInference::TfliteInference(const tflite::Model& model, std::string_view file, const Graph& graph,
                                 const ImportOptions& options, std::size_t reading,
                                 const std::function<void(std::size_t bytes)>& spend)
    : model_(model),
      file_(file),
      graph_(graph),
      options_(options),
      reading_(reading),
      spend_(spend),
      orders_(topological_orders(graph)),
      known_(graph.tensors.size()),
      entered_(graph.tensors.size()),
      is_inferred_(graph.subgraphs.size(), false) {
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    first_tensor_.push_back(subgraph_of_.size());
    subgraph_of_.resize(subgraph_of_.size() + count(at(model.subgraphs(), s).tensors()), s);
  }
}

InferredShapes TfliteInference::run() {
  know_constants();
  InferredShapes result{.note = know_inputs()};
  know_values(result);
  try {
    infer(0);
  } catch (const Error&) {
    if (open_.empty()) throw;
    ask_for_open();  // the inputs come first
  }
  collect_open();
  if (!open_.empty()) ask_for_open();
  expect_agreement();
  result.ranges = ranges();
  result.is_drawn = is_drawn_;
  for (TensorId t = 0; t < known_.size(); ++t) result.shapes.push_back(shape_of(t));
  if (!is_drawn_ && !has_ranges(result.ranges)) result.known = known_results();
  result.turns = turns_in(graph_, [&](TensorId t) { return known_[t].value ? &*known_[t].value : nullptr; });
  return result;
}

/// Whole numbers and booleans: sizes, and what is computed of them.
std::map<TensorId, Value> TfliteInference::known_results() const {
  std::map<TensorId, Value> results;
  for (const Subgraph& subgraph : graph_.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      for (const auto& output : op.outputs) {
        if (!output || !known_[*output].value || known_[*output].value->is_real()) continue;
        results.emplace(*output, *known_[*output].value);
      }
    }
  }
  return results;
}

/// Tensors that nothing writes have no size in a run.
std::optional<Shape> TfliteInference::shape_of(TensorId t) const {
  const Tensor& tensor = graph_.tensors[t];
  if (auto shape = concrete_shape(known_[t].dims)) return shape;
  if (!is_constant(tensor.kind) && options_.bounds.contains(tensor.name)) return std::nullopt;
  Shape shape = *tensor.shape;
  std::ranges::replace_if(shape, is_below_zero, 0);
  return shape;
}

const tflite::Tensor& TfliteInference::source_of(TensorId t) const {
  const std::size_t s = subgraph_of_[t];
  return at(at(model_.subgraphs(), s).tensors(), t - first_tensor_[s]);
}

/// Some files have lists without entries as tensors without data, which nothing writes.
void TfliteInference::know_constants() {
  std::vector<bool> is_written(known_.size(), false);
  for (const Subgraph& subgraph : graph_.subgraphs) {
    for (const TensorId input : subgraph.inputs) is_written[input] = true;
    for (const Operator& op : subgraph.operators) {
      for (const auto& output : op.outputs)
        if (output) is_written[*output] = true;
    }
  }
  for (TensorId t = 0; t < known_.size(); ++t) {
    const Tensor& tensor = graph_.tensors[t];
    const bool is_empty = !is_written[t] && tensor.kind == TensorKind::temporary;
    if (!is_constant(tensor.kind) && !is_empty) continue;
    const Shape& shape = *tensor.shape;
    if (std::ranges::any_of(shape, is_below_zero)) continue;
    known_[t].dims = Dims(shape.begin(), shape.end());
    known_[t].value = value_of(model_, file_, source_of(t), shape, spend_);
  }
}

void TfliteInference::infer(std::size_t subgraph) {
  is_inferred_[subgraph] = true;
  for (const std::size_t o : orders_[subgraph]) {
    try {
      infer_operator(subgraph, o);
    } catch (const Misfit& problem) {
      throw Error(describe(graph_, subgraph, o),
                  fmt::format("does not fit the sizes of its inputs: {}", base::quoted(problem.what())));
    }
  }
}

void TfliteInference::infer_operator(std::size_t subgraph, std::size_t o) {
  const Operator& op = graph_.subgraphs[subgraph].operators[o];
  const tflite::Operator& source = at(at(model_.subgraphs(), subgraph).operators(), o);
  const BuiltinOperator builtin = builtin_of(at(model_.operator_codes(), source.opcode_index()));
  if (builtin == BuiltinOperator::IF) return infer_if(op);
  if (builtin == BuiltinOperator::WHILE) return infer_while(op);
  for (const std::size_t body : op.bodies) enter(body, {});
  infer_plain(op, source, builtin);
}

void TfliteInference::infer_plain(const Operator& op, const tflite::Operator& source,
                                  BuiltinOperator builtin) {
  std::vector<Type> types;
  for (const auto& input : op.inputs)
    types.push_back(tensor_type(0, input ? known_[*input].dims : std::nullopt));
  std::vector<const Type*> inputs;
  std::vector<const Value*> values;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const auto& input = op.inputs[i];
    inputs.push_back(input ? &types[i] : nullptr);
    values.push_back(input && known_[*input].value ? &*known_[*input].value : nullptr);
  }
  operators::NodeContext node(views_of(source), operators::newest_version, op.outputs.size(),
                              std::move(inputs), std::move(values));
  infer_types(operators::Format::tflite, op.type, node);
  const bool is_as_in_file = !changes_sizes(op);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i]) continue;
    const TensorId t = *op.outputs[i];
    std::optional<Dims> dims = node.outputs()[i].dims;
    const std::optional<Dims> fixed = fixed_dims(source_of(t));
    const bool is_fixed = is_as_in_file || count(source_of(t).shape_signature()) > 0;
    if (!dims && fixed) dims.emplace(fixed->size());
    for (std::size_t d = 0; is_fixed && fixed && dims->size() == fixed->size() && d < dims->size(); ++d) {
      if (!(*dims)[d]) (*dims)[d] = (*fixed)[d];
    }
    if (builtin == BuiltinOperator::RESHAPE && dims) complete_dims(*dims, node.elements(0));
    learn(t, std::move(dims));
    const auto shape = concrete_shape(known_[t].dims);
    known_[t].value =
        shape ? evaluate(builtin, node, i, *shape, element_type_of(source_of(t))) : std::nullopt;
  }
}

/// Whether an input has another size than in the file.
bool TfliteInference::changes_sizes(const Operator& op) const {
  return std::ranges::any_of(op.inputs, [&](const auto& input) {
    return input && !is_constant(graph_.tensors[*input].kind) &&
           concrete_shape(known_[*input].dims) != graph_.tensors[*input].shape;
  });
}

void TfliteInference::learn(TensorId t, std::optional<Dims> dims) {
  fill_given(t, dims);
  if (dims) {
    for (const Dim& size : *dims) {
      if (size && (*size < 0 || *size > largest_value))
        misfit("dimension ", *size, " of ", describe(graph_, t), ", expected 0 to ", largest_value);
    }
  }
  known_[t].dims = std::move(dims);
}

/// Branches may differ in a dimension; then it is open.
void TfliteInference::infer_if(const Operator& op) {
  std::vector<KnownTensor> passed;
  for (std::size_t i = 1; i < op.inputs.size(); ++i)
    passed.push_back(op.inputs[i] ? known_[*op.inputs[i]] : KnownTensor());
  for (const std::size_t body : op.bodies) enter(body, passed);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    std::optional<std::optional<Dims>> common;
    for (const std::size_t body : op.bodies) {
      const auto& results = graph_.subgraphs[body].outputs;
      if (i >= results.size())
        misfit("subgraph ", body, " has ", results.size(), " results, expected one more");
      const auto& dims = known_[results[i]].dims;
      common = common ? common_dims(*common, dims) : dims;
    }
    if (!op.outputs[i]) continue;
    learn(*op.outputs[i], common.value_or(std::nullopt));
    for (const std::size_t body : op.bodies)
      expect_at_least(known_[graph_.subgraphs[body].outputs[i]].dims, *op.outputs[i]);
  }
}

/// The condition and the body read what is carried; the body makes the next. What changes from round to round is
/// open before a round.
void TfliteInference::infer_while(const Operator& op) {
  constexpr int rounds_by_dimension = 3;
  if (op.bodies.size() != 2) misfit("there are ", op.bodies.size(), " bodies, expected 2");
  const Subgraph& body = graph_.subgraphs[op.bodies[1]];
  if (body.outputs.size() != op.inputs.size() || body.inputs.size() != op.inputs.size() ||
      op.outputs.size() > op.inputs.size())
    misfit("the body makes ", body.outputs.size(), " values of ", body.inputs.size(), ", expected ",
           op.inputs.size());
  std::vector<KnownTensor> carried;
  for (const auto& input : op.inputs) carried.push_back({.dims = input ? known_[*input].dims : std::nullopt});
  for (int round = 0;; ++round) {
    enter(op.bodies[1], carried);
    bool is_stable = true;
    for (std::size_t i = 0; i < carried.size(); ++i) {
      std::optional<Dims> common = common_dims(carried[i].dims, known_[body.outputs[i]].dims);
      if (common == carried[i].dims) continue;
      if (round >= rounds_by_dimension) common.reset();
      is_stable = false;
      carried[i].dims = std::move(common);
    }
    if (is_stable) break;
  }
  std::vector<KnownTensor> tested;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const auto& before = known_[body.inputs[i]].dims;
    const auto& after = known_[body.outputs[i]].dims;
    is_drawn_ = is_drawn_ || before != after;
    tested.push_back({.dims = reading_ == 0 ? larger_dims(before, after) : smaller_dims(before, after)});
  }
  enter(op.bodies[0], tested);  // every run tests both
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const auto& before = op.inputs[i] ? known_[*op.inputs[i]].dims : carried[i].dims;
    expect_at_least(before, body.inputs[i]);
    if (i < op.outputs.size() && op.outputs[i])
      learn(*op.outputs[i], first_or_last(before, known_[body.outputs[i]].dims, *op.outputs[i]));
  }
}

/// The shape of a result, which is there from before the first round or from the last one: the larger extents for the
/// largest sizes, else one of both.
std::optional<Dims> TfliteInference::first_or_last(const std::optional<Dims>& first,
                                                   const std::optional<Dims>& last, TensorId t) {
  if (reading_ != 0) return draw(reading_, t, 2) == 0 ? first : last;
  is_drawn_ = is_drawn_ || first != last;
  return larger_dims(first, last);
}

/// Infers a body from what is passed to it. A body of several operators is inferred for what they have in common.
void TfliteInference::enter(std::size_t body, const std::vector<KnownTensor>& inputs) {
  const Subgraph& subgraph = graph_.subgraphs[body];
  if (subgraph.inputs.size() != inputs.size())
    misfit("passes ", inputs.size(), " values to subgraph ", body, ", which has ", subgraph.inputs.size());
  bool is_new = !is_inferred_[body];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorId t = subgraph.inputs[i];
    KnownTensor joined = inputs[i];
    if (entered_[t]) joined = {.dims = common_dims(entered_[t]->dims, inputs[i].dims)};
    if (entered_[t] && joined.dims == entered_[t]->dims && !entered_[t]->value) continue;
    is_new = true;
    entered_[t] = joined;
    known_[t].value = joined.value;
    learn(t, joined.dims);
  }
  if (is_new) infer(body);
}

InferredShapes infer_shapes(const tflite::Model& model, std::string_view file, const Graph& graph,
                            const ImportOptions& options, std::size_t reading,
                            const std::function<void(std::size_t bytes)>& spend) {
  return TfliteInference(model, file, graph, options, reading, spend).run();
}

}  // namespace stowage::import
