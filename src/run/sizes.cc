#include "run/sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <vector>

#include "stowage/error.h"

namespace stowage::run {
namespace {

constexpr std::size_t most_shown_bytes = 64;

template <typename Element>
std::string shown_as(std::span<const std::byte> bytes) {
  std::vector<Element> elements(bytes.size() / sizeof(Element));
  std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(Element));
  return fmt::format("{}", fmt::join(elements, ","));
}

/// Empty for types that give no sizes.
std::string shown_values(DType dtype, std::span<const std::byte> bytes) {
  if (dtype == DType::int64) return shown_as<std::int64_t>(bytes);
  if (dtype == DType::int32) return shown_as<std::int32_t>(bytes);
  return dtype == DType::float32 ? shown_as<float>(bytes) : "";
}

/// "tensor 'lim' is 50", for each input that may give a size.
std::string values_in_words(const Program& program, const Operator& op,
                            const std::vector<std::span<const std::byte>>& bytes) {
  std::string words;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i].empty() || bytes[i].size() > most_shown_bytes ||
        program.constants[*op.inputs[i]].data() != nullptr)
      continue;
    const std::string value = shown_values(program.graph->tensors[*op.inputs[i]].dtype, bytes[i]);
    if (value.empty()) continue;
    words +=
        fmt::format("{}{} is {}", words.empty() ? "" : ", ", describe(*program.graph, *op.inputs[i]), value);
  }
  return words.empty() ? "by its inputs" : "where " + words;
}

}  // namespace

void expect_planned_shapes(const Program& program, std::size_t subgraph, std::size_t op,
                           std::span<const std::byte* const> inputs, const std::string& who) {
  if (program.details == nullptr) return;  // of a network that nobody has read from a file
  const ShapesOfData& shapes_of_data = program.details->at(subgraph).at(op).shapes_of_data;
  if (!shapes_of_data) return;
  const Graph& graph = *program.graph;
  const Operator& own = graph.subgraphs[subgraph].operators[op];
  std::vector<std::span<const std::byte>> bytes(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (own.inputs[i] && inputs[i] != nullptr)
      bytes[i] = {inputs[i], static_cast<std::size_t>(graph.tensors[*own.inputs[i]].bytes)};
  }
  std::vector<std::optional<Shape>> shapes;
  try {
    shapes = shapes_of_data(bytes);
  } catch (const Error& error) {
    throw Error(who, fmt::format("{} {}", values_in_words(program, own, bytes), error.what()));
  }
  for (std::size_t o = 0; o < shapes.size(); ++o) {
    if (!own.outputs[o] || !shapes[o]) continue;
    const Tensor& output = graph.tensors[*own.outputs[o]];
    if (!output.shape || *output.shape == *shapes[o]) continue;
    throw Error(
        who, fmt::format("{} has shape [{}] {}, but it is planned with [{}]; a run has the largest sizes of "
                         "its plan, no smaller ones",
                         describe(graph, *own.outputs[o]), fmt::join(*shapes[o], ","),
                         values_in_words(program, own, bytes), fmt::join(*output.shape, ",")));
  }
}

}  // namespace stowage::run
