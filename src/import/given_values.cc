// Values of inputs that the user gives. They are known like constants, so shapes are computed from them, but stay
// inputs: a run gets them, and no others.

#include "import/given_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/nearest.h"
#include "base/text.h"
#include "import/onnx_types.h"
#include "import/onnx_values.h"
#include "model/elements.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

[[noreturn]] void refuse(const std::string& input, const std::string& problem) {
  throw UsageError(fmt::format("--value {}: {}", base::quoted(input), problem));
}

}  // namespace

void expect_values_of_inputs(const ImportOptions& options, const Graph& graph) {
  if (options.values.empty()) return;
  std::vector<std::string> names;
  for (const TensorId input : graph.subgraphs[0].inputs)
    if (!is_constant(graph.tensors[input].kind)) names.push_back(graph.tensors[input].name);
  for (const auto& [name, value] : options.values) {
    if (std::ranges::find(names, name) == names.end())
      refuse(name, "the model has no such input" + base::did_you_mean(name, names));
  }
}

Dims dims_of_value(const std::string& input, const GivenValue& given, const Dims& dims) {
  Dims filled = dims;
  const auto elements = static_cast<std::int64_t>(given.size());
  const auto open = std::ranges::find(filled, Dim());
  if (open == filled.end()) return filled;
  if (std::ranges::count(filled, Dim()) > 1)
    refuse(input, fmt::format("several of its dimensions are open, give them with --shape {}=...", input));
  *open = 1;
  std::int64_t others = 0;
  try {
    others = *product_of(filled, 0, filled.size());
  } catch (const Misfit& problem) {
    refuse(input, problem.what());
  }
  if (others == 0 || elements % others != 0)
    refuse(input, fmt::format("has {} elements, expected whole parts of {}", elements, others));
  *open = elements / others;
  return filled;
}

Value known_value(const GivenValue& given, int elem_type, const Shape& shape, Tensor& tensor) {
  const auto dtype = known_dtype(elem_type);
  const auto count = small_count(elem_type, shape);
  if (!dtype || (!count && !small_count(elem_type, {})))
    refuse(tensor.name, fmt::format("is of type {}, expected an input of integers, booleans or reals",
                                    dtype ? name_of(*dtype) : "unknown"));
  if (!count) refuse(tensor.name, fmt::format("has more than {} elements", most_elements));
  if (*count != given.size())
    refuse(tensor.name, fmt::format("has {} elements, expected {} for shape [{}]", given.size(), *count,
                                    fmt::join(shape, ",")));
  const auto elements = model::elements_of(*dtype, given);
  if (!elements) {
    const auto wrong =
        std::ranges::find_if(given, [&](const Number& it) { return !model::elements_of(*dtype, {it}); });
    refuse(tensor.name, fmt::format("{} is no {}", model::show_elements({*wrong}), name_of(*dtype)));
  }
  tensor.value = *elements;
  Value value{.elem_type = elem_type, .shape = shape, .integers = {}, .reals = {}};
  for (const Number& element : *elements) {
    if (value.is_real()) {
      value.reals.push_back(std::get<double>(element));
    } else {
      value.integers.push_back(std::get<std::int64_t>(element));
    }
  }
  return value;
}

std::string values_behind(const Graph& graph, TensorId tensor,
                          const std::function<bool(TensorId)>& may_decide) {
  std::vector<const Operator*> writers(graph.tensors.size(), nullptr);
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators)
      for (const auto& output : op.outputs)
        if (output) writers[*output] = &op;
  }
  const std::vector<TensorId>& inputs = graph.subgraphs[0].inputs;
  std::set<TensorId> seen{tensor};
  std::vector<TensorId> next{tensor};
  std::string options;
  while (!next.empty()) {
    const Operator* const writer = writers[next.back()];
    next.pop_back();
    if (writer == nullptr) continue;
    for (const auto& input : writer->inputs) {
      if (!input || !may_decide(*input) || !seen.insert(*input).second) continue;
      next.push_back(*input);
      if (std::ranges::find(inputs, *input) != inputs.end())
        options += fmt::format(" --value {}=...", graph.tensors[*input].name);
    }
  }
  return options.empty() ? "" : "; it follows from what an input holds: give that with" + options;
}

}  // namespace stowage::import
