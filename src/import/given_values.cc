// Values of inputs that the user gives. They are known like constants, so shapes are computed from them, but stay
// inputs: a run gets them, and no others.

#include "import/given_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
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

/// By tensor; null for what no operator writes.
std::vector<const Operator*> writers_in(const Graph& graph) {
  std::vector<const Operator*> writers(graph.tensors.size(), nullptr);
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators)
      for (const auto& output : op.outputs)
        if (output) writers[*output] = &op;
  }
  return writers;
}

/// The known numbers that operators of all subgraphs compare a tensor with.
std::set<std::int64_t> numbers_compared_with(const Graph& graph, TensorId tensor, const Deciding& known) {
  constexpr std::array comparisons{"Equal",       "Greater",    "GreaterOrEqual", "Less",
                                   "LessOrEqual", "EQUAL",      "GREATER",        "GREATER_EQUAL",
                                   "LESS",        "LESS_EQUAL", "NOT_EQUAL"};
  std::set<std::int64_t> numbers;
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      if (std::ranges::find(comparisons, op.type) == comparisons.end() || op.inputs.size() != 2) continue;
      for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
        const auto& other = op.inputs[1 - side];
        const Value* const value = op.inputs[side] == tensor && other ? known.value_of(*other) : nullptr;
        if (value != nullptr && value->integers.size() == 1) numbers.insert(value->integers[0]);
      }
    }
  }
  return numbers;
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

std::string values_behind(const Graph& graph, TensorId tensor, const Deciding& known) {
  const Operator* const writer = writers_in(graph)[tensor];
  return writer == nullptr ? "" : values_behind(graph, *writer, known);
}

std::string values_behind(const Graph& graph, const Operator& op, const Deciding& known) {
  const std::vector<const Operator*> writers = writers_in(graph);
  const std::vector<TensorId>& inputs = graph.subgraphs[0].inputs;
  std::set<TensorId> seen;
  std::vector<const Operator*> next{&op};
  std::vector<std::string> names;
  std::string options;
  std::set<std::int64_t> compared;
  while (!next.empty()) {
    const Operator* const reader = next.back();
    next.pop_back();
    for (const auto& input : reader->inputs) {
      const std::optional<Shape> shape = input ? known.shape_of(*input) : std::nullopt;
      if (!shape || !seen.insert(*input).second) continue;
      if (writers[*input] != nullptr) next.push_back(writers[*input]);
      if (std::ranges::find(inputs, *input) == inputs.end()) continue;
      const std::string& name = graph.tensors[*input].name;
      const bool is_one = std::ranges::all_of(*shape, [](std::int64_t extent) { return extent == 1; });
      names.push_back(base::quoted(name));
      options += fmt::format(" --value {}=NUMBER{}", base::shell_word(name), is_one ? "" : ",...");
      if (is_one) compared.merge(numbers_compared_with(graph, *input, known));
    }
  }
  if (names.empty()) return "";
  const bool is_one = names.size() == 1;
  const std::string numbers = is_one && !compared.empty()
                                  ? fmt::format("; the model compares it with {}", fmt::join(compared, ", "))
                                  : "";
  return fmt::format("; it follows from what input{} {} hold{}: give {} with{}{}", is_one ? "" : "s",
                     fmt::join(names, " and "), is_one ? "s" : "", is_one ? "that" : "these", options,
                     numbers);
}

}  // namespace stowage::import
