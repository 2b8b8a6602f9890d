// A tensor that a step writes needs a size. Of those without one, most depend on few: an operator whose
// shape rule leaves a dimension open although all dimensions of its inputs are known, so that only data can
// decide it. The message asks for all of these at once. Where inputs are open, too, the rule is asked with 1 in
// place of their open dimensions.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "import/given_values.h"
#include "import/onnx_inference.h"
#include "import/onnx_unread.h"
#include "operators/facts.h"
#include "stowage/error.h"
#include "stowage/open_sizes.h"

namespace stowage::import {
namespace {

constexpr std::size_t most_asked_for = 24;  // in one message

bool is_concrete(const Type& type) { return has_element_type(type) && concrete_shape(type.dims).has_value(); }

Type with_ones(const Type& type) {
  Type filled = type;
  if (filled.dims) std::ranges::replace(*filled.dims, Dim(), Dim(1));
  return filled;
}

}  // namespace

void Inference::expect_inputs_settled() {
  std::vector<OpenTensor> open;
  for (const TensorId input : graph().subgraphs[0].inputs) {
    if (!is_settled({input})) open.push_back({input});
  }
  if (open.empty()) return;
  const auto has_names = [&](const OpenTensor& it) {
    return has_element_type(types_[it.tensor]) && types_[it.tensor].dims;
  };
  const auto unknown = std::ranges::find_if_not(open, has_names);
  if (unknown != open.end()) ask_for({*unknown});
  std::vector<OpenSize> sizes;
  for (const OpenTensor& it : open) {
    const Dims& dims = *types_[it.tensor].dims;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis]) continue;
      const std::string name((*model_.declared[it.tensor]->shape)[axis].name);
      note_open_size(name, {graph().tensors[it.tensor].name, axis}, sizes);
    }
  }
  throw OpenSizesError(std::move(sizes));
}

void Inference::expect_settled() {
  std::vector<OpenTensor> open;
  collect_open(0, open);
  if (!open.empty()) ask_for(open);
}

/// All tensors without a size that steps of this subgraph write, in the order of the steps.
void Inference::collect_open(std::size_t subgraph, std::vector<OpenTensor>& open) {
  const auto collect = [&](const OpenTensor& it) {
    if (!is_settled(it)) open.push_back(it);
  };
  const Subgraph& of = graph().subgraphs[subgraph];
  if (subgraph != 0) {
    for (const TensorId input : of.inputs) collect({input, subgraph});
  }
  for (std::size_t o = 0; o < of.operators.size(); ++o) {
    if (folding_.operators[subgraph][o]) continue;
    for (const auto& output : of.operators[o].outputs) {
      if (output) collect({*output, subgraph, o});
    }
    for (const std::size_t body : of.operators[o].bodies) collect_open(body, open);
  }
}

/// False if the size of the tensor is open. Throws Error for one that cannot be planned.
bool Inference::is_settled(const OpenTensor& it) {
  const Type& type = types_[it.tensor];
  if (type.kind != Type::Kind::none && type.kind != Type::Kind::tensor) {
    throw Error(place(it.tensor),
                fmt::format("{}is of type {}, expected a dense tensor: others cannot be planned", origin(it),
                            kind_of_type(type)));
  }
  if (shared_.size_of(types_.number(it.tensor)).is_settled) return true;
  if (is_concrete(type)) {
    const auto known = known_dtype(type.elem_type);
    const DType dtype = known ? *known : dtype_of(type.elem_type, place(it.tensor));
    if (!bits_of(dtype))
      throw Error(place(it.tensor),
                  fmt::format("is of element type {}, which has no fixed size and cannot be planned",
                              name_of(dtype)));
    return true;
  }
  const auto bound = options_.bounds.find(graph().tensors[it.tensor].name);
  if (bound == options_.bounds.end()) return false;
  if (given_) given_->need_bound(it.tensor);
  bounded_[it.tensor] = bound->second;
  return true;
}

std::string Inference::origin(const OpenTensor& it) const {
  return it.writer ? fmt::format("a result of {}, ", describe(graph(), it.subgraph, *it.writer)) : "";
}

/// Whether the size is open although those that it is made of are not.
bool Inference::depends_on_data(const OpenTensor& it) const {
  if (!it.writer) return it.subgraph == 0;
  const Operator& op = graph().subgraphs[it.subgraph].operators[*it.writer];
  std::vector<Type> filled;
  bool are_concrete = true;
  for (const auto& input : op.inputs) {
    filled.push_back(input ? with_ones(types_[*input]) : Type());
    if (input && !is_concrete(filled.back())) return false;
    are_concrete = are_concrete && (!input || is_concrete(types_[*input]));
  }
  const auto output = std::ranges::find(op.outputs, std::optional(it.tensor)) - op.outputs.begin();
  if (!op.bodies.empty()) {
    const auto is_known = [&](TensorId result) { return is_concrete(types_[result]); };
    return are_concrete && std::ranges::all_of(op.bodies, [&](std::size_t body) {
             return std::ranges::all_of(graph().subgraphs[body].outputs, is_known);
           });
  }
  std::vector<const Type*> inputs;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) inputs.push_back(op.inputs[i] ? &filled[i] : nullptr);
  auto context = context_of(op, *model_.nodes[it.subgraph][*it.writer], std::move(inputs));
  if (!context) return are_concrete;
  try {
    infer_types(operators::Format::onnx, op.type, *context);
  } catch (const Misfit&) {
    return are_concrete;
  }
  return !is_concrete(context->outputs()[static_cast<std::size_t>(output)]);
}

Deciding Inference::what_may_decide() const {
  const auto shape_of = [this](TensorId t) {
    const auto shape = concrete_shape(types_[t].dims);
    const bool may_decide = !values_[t] && shape && small_count(types_[t].elem_type, *shape) &&
                            types_[t].elem_type != element::float32 &&
                            types_[t].elem_type != element::float64;
    return may_decide ? shape : std::nullopt;
  };
  return {.shape_of = shape_of,
          .value_of = [this](TensorId t) { return values_[t] ? &*values_[t] : nullptr; }};
}

/// Where an operator is in a branch that is read because the condition of its If is unknown: which values would decide
/// it. Empty elsewhere.
std::string Inference::undecided_branch(std::size_t subgraph) const {
  for (std::size_t s = 0; s < subgraph; ++s) {  // bodies come after their operators
    const auto& operators = graph().subgraphs[s].operators;
    for (std::size_t o = 0; o < operators.size(); ++o) {
      if (std::ranges::find(operators[o].bodies, subgraph) == operators[o].bodies.end()) continue;
      const std::string values =
          operators[o].type == "If" ? values_behind(graph(), operators[o], what_may_decide()) : "";
      if (values.empty()) return undecided_branch(s);
      return fmt::format("; it is in a branch of {}, whose condition is unknown{}", describe(graph(), s, o),
                         values);
    }
  }
  return "";
}

void Inference::ask_for(const std::vector<OpenTensor>& open) {
  std::vector<OpenTensor> asked;
  std::ranges::copy_if(open, std::back_inserter(asked),
                       [&](const OpenTensor& it) { return depends_on_data(it); });
  if (asked.empty()) asked.push_back(open.front());
  const TensorId first = asked.front().tensor;
  std::set<std::string> options;
  std::string more;
  for (const OpenTensor& it : asked) {
    const std::string& name = graph().tensors[it.tensor].name;
    const std::string option = option_for(types_[it.tensor], model_.declared[it.tensor], name);
    if (!options.insert(option).second || it.tensor == first) continue;
    if (options.size() <= most_asked_for) more += " " + option;
  }
  if (!more.empty()) more = fmt::format("; {} sizes are open in all, the others are{}", options.size(), more);
  if (options.size() > most_asked_for) more += " ...";
  throw Error(place(first), origin(asked.front()) +
                                how_to_give(types_[first], model_.declared[first],
                                            graph().tensors[first].name, !asked.front().writer) +
                                more + values_behind(model_.graph, first, what_may_decide()) +
                                unread_data_behind(model_, first, shared_.files));
}

}  // namespace stowage::import
