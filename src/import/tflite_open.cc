// What the file leaves open comes from the user. An input's size is the caller's to decide. Converters write
// -1 for the batch of nearly every model, and 1 in its place: that 1 is taken, and said, since runtimes take it, too.
// Any other size of 1 may stand for anything, so it is asked for. A size that the network computes from data
// is asked for where it is computed; what is made of it follows.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "import/given_values.h"
#include "import/open_sizes.h"
#include "import/tflite_inference.h"
#include "import/tflite_tables.h"
#include "stowage/error.h"
#include "stowage/open_sizes.h"

namespace stowage::import {
namespace {

constexpr std::size_t most_options = 24;  // in one message

std::string show_dims(const std::optional<Dims>& dims) {
  if (!dims) return "of unknown rank";
  std::string text = "[";
  for (const Dim& size : *dims) text += (text.size() > 1 ? "," : "") + (size ? std::to_string(*size) : "?");
  return text + "]";
}

/// Whether the size that the file gives for an open dimension is one that somebody chose, or that of a batch.
bool is_chosen(const Shape& shape, std::size_t axis) {
  return shape[axis] > 1 || (axis == 0 && shape.size() > 1 && shape[axis] == 1);
}

/// The inputs of the main subgraph that are there, with their names; the reader names others.
std::vector<std::pair<std::string, const tflite::Tensor*>> inputs_of(const tflite::Model& model) {
  std::vector<std::pair<std::string, const tflite::Tensor*>> inputs;
  const auto& graph = at(model.subgraphs(), 0);
  for (std::size_t i = 0; i < count(graph.inputs()); ++i) {
    const auto number = static_cast<std::size_t>(graph.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    if (number >= count(graph.tensors())) continue;
    const tflite::Tensor& input = at(graph.tensors(), number);
    inputs.emplace_back(input.name() == nullptr ? std::string() : input.name()->str(), &input);
  }
  return inputs;
}

/// Sizes of the open axes of inputs.
std::vector<OpenSize> sizes_of(const std::string& tensor, const Dims& dims) {
  std::vector<OpenSize> sizes;
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    if (!dims[axis]) sizes.push_back({name_of_axis(tensor, axis), {{tensor, axis}}});
  return sizes;
}

}  // namespace

ImportOptions with_dims_as_shapes(const ImportOptions& options, const tflite::Model& model) {
  if (options.dims.empty() || count(model.subgraphs()) == 0) return options;
  ImportOptions result = options;
  result.dims.clear();
  std::set<std::string> used;
  for (const auto& [name, input] : inputs_of(model)) {
    Dims open = fixed_dims(*input).value_or(Dims());
    const Shape in_file = integers_in(input->shape());
    if (in_file.size() != open.size()) continue;  // as above
    GivenShape shape;
    bool is_given = false;
    for (std::size_t d = 0; d < open.size(); ++d) {
      const auto size = options.dims.find(name_of_axis(name, d));
      if (size != options.dims.end()) {
        if (open[d])
          throw UsageError(fmt::format("--dim {}: has no effect, as the file says {}",
                                       base::quoted(size->first), *open[d]));
        shape.push_back(size->second);
        is_given = used.insert(size->first).second;
      } else if (open[d] || is_chosen(in_file, d)) {
        shape.emplace_back(in_file[d]);
      } else {
        shape.emplace_back(1);
        continue;
      }
      open[d] = shape.back().most;
    }
    if (!is_given) continue;
    if (auto sizes = sizes_of(name, open); !sizes.empty()) throw OpenSizesError(std::move(sizes));
    if (!result.shapes.emplace(name, shape).second)
      throw UsageError(fmt::format("--shape {}: its sizes are given by --dim, too", base::quoted(name)));
  }
  for (const auto& [name, size] : options.dims)
    if (!used.contains(name))
      throw UsageError(
          fmt::format("--dim {}: TFLite names no dimensions, expected an axis of an input, as INPUT[1]",
                      base::quoted(name)));
  return result;
}

ImportOptions with_values_as_shapes(const ImportOptions& options, const tflite::Model& model) {
  if (options.values.empty() || count(model.subgraphs()) == 0) return options;
  ImportOptions result = options;
  for (const auto& [name, input] : inputs_of(model)) {
    const auto given = options.values.find(name);
    const Dims fixed = fixed_dims(*input).value_or(Dims());
    if (given == options.values.end() || options.shapes.contains(name) || concrete_shape(fixed)) continue;
    GivenShape shape;
    for (const Dim& size : dims_of_value(name, given->second, fixed)) shape.emplace_back(*size);
    result.shapes.emplace(name, std::move(shape));
  }
  return result;
}

/// Values from the user are known like those of constants.
void TfliteInference::know_values(InferredShapes& result) {
  for (const TensorId t : graph_.subgraphs[0].inputs) {
    const auto given = options_.values.find(graph_.tensors[t].name);
    const auto shape = concrete_shape(known_[t].dims);
    if (given == options_.values.end() || is_constant(graph_.tensors[t].kind) || !shape) continue;
    Tensor tensor{.name = graph_.tensors[t].name};
    known_[t].value = known_value(given->second, element_type_of(source_of(t)), *shape, tensor);
    result.values.emplace(t, std::move(tensor.value));
  }
}

/// Text has no fixed size, and a handle needs none.
bool TfliteInference::is_settled(TensorId t) const {
  const Tensor& tensor = graph_.tensors[t];
  return concrete_shape(known_[t].dims) || options_.bounds.contains(tensor.name) ||
         tensor.dtype == DType::string || tensor.dtype == DType::resource;
}

/// Gives inputs of the network and variables their dimensions, and says what was assumed.
std::string TfliteInference::know_inputs() {
  std::vector<TensorId> inputs = graph_.subgraphs[0].inputs;
  for (TensorId t = 0; t < known_.size(); ++t) {
    if (graph_.tensors[t].kind == TensorKind::state && std::ranges::find(inputs, t) == inputs.end())
      inputs.push_back(t);
  }
  std::vector<std::string> taken;
  std::string options;
  for (const TensorId t : inputs) {
    if (is_constant(graph_.tensors[t].kind)) continue;
    const Dims fixed = fixed_dims(source_of(t)).value_or(Dims());
    known_[t].dims = fixed;
    if (take_given(t, fixed) || is_settled(t)) continue;
    const Shape& shape = *graph_.tensors[t].shape;
    bool is_taken = shape.size() == fixed.size();
    for (std::size_t d = 0; d < fixed.size(); ++d) {
      is_taken = is_taken && (fixed[d] || is_chosen(shape, d));
      if (!fixed[d]) (*known_[t].dims)[d] = is_taken ? shape[d] : 1;
    }
    if (!is_taken) {
      open_.push_back({t, fixed});
    } else {
      taken.push_back(fmt::format("{} [{}]", graph_.tensors[t].name, fmt::join(shape, ",")));
      options += " " + option_for({t, fixed}, "N");
    }
  }
  if (taken.empty()) return "";
  return fmt::format("sizes that the file leaves open are taken as it writes them, exactly: {}; others by{}",
                     fmt::join(taken, ", "), options);
}

/// True if the user gives the shape of an input. It must agree with the file.
bool TfliteInference::take_given(TensorId t, const Dims& fixed) {
  const std::string& name = graph_.tensors[t].name;
  const auto given = options_.shapes.find(name);
  if (given == options_.shapes.end()) return false;
  const Shape shape = largest(given->second);
  const auto agrees = [](std::int64_t size, const Dim& dim) { return !dim || *dim == size; };
  if (!std::ranges::equal(shape, fixed, agrees))
    throw Error(describe(graph_, t), fmt::format("is to have shape [{}], expected one that agrees with {}",
                                                 fmt::join(shape, ","), show_dims(fixed)));
  for (std::size_t d = 0; d < fixed.size(); ++d)
    if (!fixed[d]) open_inputs_[name].insert(d);
  known_[t].dims = Dims(shape.begin(), shape.end());
  return true;
}

/// A shape from the user decides what is open; `expect_agreement` compares the rest.
void TfliteInference::fill_given(TensorId t, std::optional<Dims>& dims) {
  if (options_.shapes.empty()) return;
  const std::string& name = graph_.tensors[t].name;
  const auto given = options_.shapes.find(name);
  if (given == options_.shapes.end()) return;
  const Shape largest_shape = largest(given->second);
  if (!dims) {
    computed_[name];  // even a rank has an effect
    dims.emplace(largest_shape.size());
  }
  if (dims->size() != largest_shape.size()) return;
  for (std::size_t d = 0; d < dims->size(); ++d) {
    if ((*dims)[d]) continue;
    (*dims)[d] = largest_shape[d];
    computed_[name].insert(d);
  }
}

/// A shape from the user must hold what the model itself puts there.
void TfliteInference::expect_at_least(const std::optional<Dims>& dims, TensorId t) const {
  const auto& most = known_[t].dims;
  if (reading_ != 0 || !dims || !most || dims->size() != most->size()) return;
  for (std::size_t d = 0; d < dims->size(); ++d) {
    if ((*dims)[d] && (*most)[d] && *(*dims)[d] > *(*most)[d])
      misfit(describe(graph_, t), " is at most ", show_dims(most), " by --shape, but the model itself makes ",
             show_dims(dims), " of it");
  }
}

void TfliteInference::collect_open() {
  std::set<std::size_t> seen;
  collect_open(0, seen);
}

void TfliteInference::collect_open(std::size_t subgraph, std::set<std::size_t>& seen) {
  if (!seen.insert(subgraph).second) return;
  const auto& operators = graph_.subgraphs[subgraph].operators;
  for (std::size_t o = 0; o < operators.size(); ++o) {
    for (const std::size_t body : operators[o].bodies) collect_open(body, seen);
    collect_open(subgraph, o);
  }
}

/// Open results of an operator all of whose inputs are settled, and what changes from round to round.
void TfliteInference::collect_open(std::size_t subgraph, std::size_t o) {
  const Operator& op = graph_.subgraphs[subgraph].operators[o];
  const auto is_known = [&](const auto& operand) { return !operand || is_settled(*operand); };
  if (!std::ranges::all_of(op.inputs, is_known)) return;
  bool are_results_known = true;
  for (const std::size_t body : op.bodies) {
    for (const TensorId result : graph_.subgraphs[body].outputs)
      are_results_known = are_results_known && is_settled(result);
  }
  if (op.body_use == BodyUse::repeated &&
      !op.bodies.empty()) {  // what the last body is given the condition is, too
    for (const TensorId input : graph_.subgraphs[op.bodies.back()].inputs) {
      if (!is_settled(input))
        open_.push_back({input, known_[input].dims,
                         fmt::format("before a round of {}, ", describe(graph_, subgraph, o))});
    }
  }
  if (!are_results_known) return;
  for (const auto& output : op.outputs) {
    if (!is_known(output))
      open_.push_back(
          {*output, known_[*output].dims, fmt::format("a result of {}, ", describe(graph_, subgraph, o))});
  }
}

/// The option that gives the open sizes as this text.
std::string TfliteInference::option_for(const OpenTensor& it, std::string_view size) const {
  std::string text = fmt::format("--shape {}=", graph_.tensors[it.tensor].name);
  if (!it.dims) return fmt::format("{}{},...", text, size);
  for (std::size_t d = 0; d < it.dims->size(); ++d)
    text += (d == 0 ? "" : ",") + ((*it.dims)[d] ? std::to_string(*(*it.dims)[d]) : std::string(size));
  return text;
}

void TfliteInference::ask_for_inputs() const {
  std::vector<OpenSize> sizes;
  for (const OpenTensor& it : open_)
    if (it.origin.empty() && it.dims)
      std::ranges::move(sizes_of(graph_.tensors[it.tensor].name, *it.dims), std::back_inserter(sizes));
  throw OpenSizesError(std::move(sizes));
}

void TfliteInference::ask_for_open() const {
  const OpenTensor& first = open_.front();
  if (first.origin.empty()) ask_for_inputs();
  std::string text = fmt::format(
      "{}has open sizes, {}, that no rule gives; give them with {} (at most N) or {} (exactly N), or its "
      "bytes at most "
      "with --bound {}=SIZE",
      first.origin, show_dims(first.dims), option_for(first, "N"), option_for(first, "N..N"),
      graph_.tensors[first.tensor].name);
  const auto shape_of = [&](TensorId t) {
    const int type = element_type_of(source_of(t));
    const bool may_decide = !known_[t].value && type != 0 && type != element::float32;
    return may_decide ? concrete_shape(known_[t].dims) : std::nullopt;
  };
  text += values_behind(graph_, first.tensor, {.shape_of = shape_of, .value_of = [&](TensorId t) {
                                                 return known_[t].value ? &*known_[t].value : nullptr;
                                               }});
  std::vector<std::string> others;
  for (const OpenTensor& it : open_) {
    std::string option = option_for(it, "N");
    if (it.tensor != first.tensor && std::ranges::find(others, option) == others.end())
      others.push_back(std::move(option));
  }
  if (!others.empty()) {
    const std::size_t count = others.size();
    others.resize(std::min(count, most_options));
    text += fmt::format("; {} tensors are open in all, the others are {}{}", count + 1,
                        fmt::join(others, " "), others.size() < count ? " ..." : "");
  }
  throw Error(describe(graph_, first.tensor), text);
}

/// Shapes from the user must be those that follow from the rest. At smaller sizes the rules alone decide the extents
/// that they give.
void TfliteInference::expect_agreement() const {
  if (reading_ != 0) return;
  for (TensorId t = 0; t < known_.size() && !options_.shapes.empty(); ++t) {
    const auto given = options_.shapes.find(graph_.tensors[t].name);
    if (given == options_.shapes.end() || is_constant(graph_.tensors[t].kind) || !known_[t].dims) continue;
    const Shape largest_shape = largest(given->second);
    if (known_[t].dims != Dims(largest_shape.begin(), largest_shape.end()))
      throw Error(describe(graph_, t), fmt::format("is to have shape [{}], but is {} without it",
                                                   fmt::join(largest_shape, ","), show_dims(known_[t].dims)));
  }
}

ImportOptions TfliteInference::ranges() const {
  ImportOptions result = options_;
  for (auto& [name, shape] : result.shapes) {
    const auto by_caller = open_inputs_.find(name);
    const auto by_network = computed_.find(name);
    if (by_caller == open_inputs_.end() && by_network == computed_.end())
      throw UsageError(
          fmt::format("--shape {}: has no effect, as the model itself gives the size", base::quoted(name)));
    for (std::size_t d = 0; d < shape.size(); ++d) {
      GivenSize& size = shape[d];
      if (by_network != computed_.end() && by_network->second.contains(d)) {
        size = at_most(size);
      } else if (by_caller == open_inputs_.end() || !by_caller->second.contains(d)) {
        if (is_range(size))
          throw UsageError(fmt::format("--shape {}: dimension {} is a range, but the model itself fixes it",
                                       base::quoted(name), d));
        size = exactly(size);
      } else if (!size.least) {
        size = exactly(size);
      }
    }
  }
  return result;
}

}  // namespace stowage::import
