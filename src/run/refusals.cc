#include "run/refusals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "model/elements.h"

namespace stowage::run {

void Refusals::add(const Graph& graph, std::size_t subgraph, std::size_t op, const std::string& reason) {
  if (!refused_.emplace(subgraph, op).second) return;
  const std::string& type = graph.subgraphs.at(subgraph).operators.at(op).type;
  const auto same =
      std::ranges::find_if(reasons_, [&](const Reason& it) { return it.type == type && it.text == reason; });
  if (same == reasons_.end())
    reasons_.push_back({type, reason, describe(graph, subgraph, op), 1});
  else
    ++same->operators;
}

void Refusals::allow_function(const Graph& graph, const Operator& op) {
  const auto has_type = [&](const std::optional<TensorId>& operand) {
    return !operand || model::find_c_type(graph.tensors[*operand].dtype);
  };
  if (std::ranges::all_of(op.inputs, has_type) && std::ranges::all_of(op.outputs, has_type))
    types_with_functions_.insert(op.type);
}

std::string Refusals::words(std::string_view what, std::string_view command) const {
  std::string text =
      fmt::format("has {} operator{} {}:", refused_.size(), refused_.size() == 1 ? "" : "s", what);
  for (const Reason& it : reasons_) {
    const std::string others = it.operators == 1 ? ""
                               : it.operators == 2
                                   ? " and another one of its type"
                                   : fmt::format(" and {} others of its type", it.operators - 1);
    text += fmt::format("\n  {}{}: {}", it.first, others, it.text);
  }
  if (!types_with_functions_.empty())
    text += fmt::format("\nto write their functions yourself: {}--extern {}", command,
                        fmt::join(types_with_functions_, " --extern "));
  return text;
}

}  // namespace stowage::run
