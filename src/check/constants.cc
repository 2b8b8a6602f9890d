// Two folded results have the same bytes if one operation computed them from the same bytes. So a pair
// of constants is replaced by the pairs of their operands, recursively, until there are bytes to compare. One
// pair that differs or is unknown, and nothing is proven.
//
// A step reads its operands; a body and the network read their outputs. Operands of folded operators are not
// needed at run time. Cost: linear in operands and in compared bytes.

#include "check/constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "check/names.h"

namespace stowage::check {
namespace {

using Data = std::span<const std::byte>;

const Tensor& tensor_of(const KnownConstant& it) { return it.graph->tensors[it.tensor]; }

/// The bytes of the constant, or the element that it repeats; empty if they are unknown.
Data data_of(const KnownConstant& it) {
  const Data data = it.constants->of(it.tensor);
  return data.empty() ? it.constants->element_of(it.tensor) : data;
}

/// True if both are equal when repeated to `size` bytes.
bool are_equal_bytes(Data a, Data b, Bytes size) {
  if (a.size() < b.size()) std::swap(a, b);
  const bool shows_all = a.size() == static_cast<std::size_t>(size) || a.size() % b.size() == 0;
  if (!shows_all) return false;
  if (a.data() == b.data() && a.size() == b.size()) return true;
  for (std::size_t at = 0; at < a.size(); at += b.size()) {
    if (std::memcmp(a.data() + at, b.data(), std::min(b.size(), a.size() - at)) != 0) return false;
  }
  return true;
}

std::vector<bool> read_when_running(const Graph& graph) {
  std::vector<bool> is_read(graph.tensors.size(), false);
  std::vector<bool> is_reached(graph.subgraphs.size(), false);
  std::vector<std::size_t> open{0};
  while (!open.empty()) {
    const std::size_t s = open.back();
    open.pop_back();
    if (is_reached[s]) continue;
    is_reached[s] = true;
    for (const TensorId output : graph.subgraphs[s].outputs) is_read[output] = true;
    for (const Operator& op : graph.subgraphs[s].operators) {
      if (op.folded) continue;
      for (const auto& input : op.inputs) {
        if (input) is_read[*input] = true;
      }
      open.insert(open.end(), op.bodies.begin(), op.bodies.end());
    }
  }
  return is_read;
}

bool has_memory_for_weights(const Plan& plan) {
  return std::any_of(plan.memories.begin(), plan.memories.end(),
                     [](const PlannedMemory& memory) { return memory.memory.role == MemoryRole::weights; });
}

}  // namespace

bool EqualConstants::are_equal(const KnownConstant& a, const KnownConstant& b) {
  std::set<Pair> pairs{{a, b}};
  std::vector<Pair> open{{a, b}};
  while (!open.empty()) {
    const auto [one, other] = open.back();
    open.pop_back();
    if (one == other || proven_.contains({one, other})) continue;
    const Bytes size = tensor_of(one).bytes;
    if (tensor_of(other).bytes != size) return false;
    if (size == 0) continue;
    if (one.constants == nullptr || other.constants == nullptr) return false;
    const Recipe* const recipe = one.constants->recipe_of(one.tensor);
    const Recipe* const other_recipe = other.constants->recipe_of(other.tensor);
    if (recipe == nullptr || other_recipe == nullptr) {
      const Data data = data_of(one);
      const Data other_data = data_of(other);
      if (data.empty() || other_data.empty() || !are_equal_bytes(data, other_data, size)) return false;
      continue;
    }
    if (recipe->operation != other_recipe->operation || recipe->inputs.size() != other_recipe->inputs.size())
      return false;
    for (std::size_t i = 0; i < recipe->inputs.size(); ++i) {
      const auto& input = recipe->inputs[i];
      const auto& other_input = other_recipe->inputs[i];
      if (input.has_value() != other_input.has_value()) return false;
      if (!input) continue;
      const Pair pair{{one.graph, one.constants, *input}, {other.graph, other.constants, *other_input}};
      if (pairs.insert(pair).second) open.push_back(pair);
    }
  }
  proven_.merge(pairs);
  return true;
}

StoredConstants::StoredConstants(const Plan& plan) : plan_(plan), has_memory_(has_memory_for_weights(plan)) {}

void StoredConstants::check(const Graph& graph, std::span<const PlannedTensor* const> matched,
                            Faults& faults) {
  const std::vector<bool> is_read = read_when_running(graph);
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (!is_constant(tensor.kind) || !is_read[t] || tensor.bytes == 0) continue;
    Bytes& sum = tensor.kind == TensorKind::weight ? weights_ : instructions_;
    sum = base::checked_add(sum, tensor.bytes).value_or(largest_value);
    if (has_memory_ && matched[t] != nullptr && matched[t]->views.empty()) {
      faults.push_back(
          {FaultKind::accounting, describe(graph, t) + " is in no memory, though there is one for weights"});
    }
  }
}

void StoredConstants::check_savings(Faults& faults) const {
  if (!plan_.savings) return;
  const auto check_kind = [&](std::string_view name, const Saving& saving, Bytes read) {
    if (saving.separate == read) return;
    faults.push_back({FaultKind::claim, fmt::format("savings of {}: {} bytes are said to be separate, but "
                                                    "those that are read have {}",
                                                    name, saving.separate, read)});
  };
  check_kind("weights", plan_.savings->weights, weights_);
  check_kind("instructions", plan_.savings->instructions, instructions_);
}

namespace {

bool is_for_weights(const Plan& plan, std::size_t buffer) {
  return plan.memories[plan.places[buffer].memory].memory.role == MemoryRole::weights;
}

/// Where constants are copied to: tensor and buffer, and the positions with what is copied.
using Stagings = std::map<std::pair<std::size_t, std::size_t>, std::map<Position, std::optional<RowRange>>>;

/// A constant, or rows of it, are copied from a memory for weights to another one.
Stagings stagings_of(const Plan& plan, Faults& faults) {
  Stagings stagings;
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    for (std::size_t at = 0; at < plan.clocks[c].steps.size(); ++at) {
      const auto* const copy = std::get_if<Copy>(&plan.clocks[c].steps[at]);
      if (copy == nullptr || !is_constant(plan.tensors[copy->tensor].tensor.kind)) continue;
      if (!is_for_weights(plan, copy->from) || is_for_weights(plan, copy->to) || copy->block ||
          plan.buffers[copy->to].clock != c) {
        faults.push_back(
            {FaultKind::format, fmt::format("step {} of clock {} copies {}, which is of kind {}, but not "
                                            "from a memory for weights to another one of this clock",
                                            at, c, name_of_tensor(plan.tensors[copy->tensor]),
                                            name_of(plan.tensors[copy->tensor].tensor.kind))});
      }
      stagings[{copy->tensor, copy->to}].emplace(static_cast<Position>(at), copy->rows);
    }
  }
  return stagings;
}

void check_buffer(const Plan& plan, std::size_t b, const std::set<std::size_t>& staged, Faults& faults) {
  const bool holds_constants = is_constant(plan.buffers[b].kind);
  if (holds_constants ? staged.contains(b) || is_for_weights(plan, b) : !is_for_weights(plan, b)) return;
  faults.push_back({FaultKind::pin, fmt::format("{} is of kind {} and in {}, which is {} for weights",
                                                name_of_buffer(plan, b), name_of(plan.buffers[b].kind),
                                                name_of_memory(plan, plan.places[b].memory),
                                                holds_constants ? "not" : "only")});
}

/// A constant in another memory is there from a copy on. Nothing else may be there then: see hold_weights.
bool is_staged(const Plan& plan, std::size_t t, const View& view, const Stagings& stagings) {
  const auto found = stagings.find({t, view.buffer});
  if (found == stagings.end() || view.ring || view.block || is_for_weights(plan, view.buffer)) return false;
  const auto copy = found->second.find(view.life.lower);
  return copy != found->second.end() && copy->second == view.rows;
}

void check_tensor(const Plan& plan, std::size_t t, const Stagings& stagings, Faults& faults) {
  const PlannedTensor& tensor = plan.tensors[t];
  const bool is_weight = is_constant(tensor.tensor.kind);
  const auto fault = [&](FaultKind kind, const std::string& what) {
    faults.push_back({kind, name_of_tensor(tensor) + what});
  };
  const auto end = std::max<Position>(static_cast<Position>(plan.clocks[0].steps.size()), 1);
  for (const View& view : tensor.views) {
    if (is_weight && is_staged(plan, t, view, stagings)) continue;
    if (is_weight != is_for_weights(plan, view.buffer)) {
      fault(FaultKind::pin, fmt::format(" is of kind {} and in {}, in {}", name_of(tensor.tensor.kind),
                                        name_of_buffer(plan, view.buffer),
                                        name_of_memory(plan, plan.places[view.buffer].memory)));
    } else if (is_weight &&
               (plan.buffers[view.buffer].clock != 0 || view.life.lower > 0 || view.life.upper < end)) {
      fault(FaultKind::accounting,
            fmt::format(" is in {} from {} to {}{}, expected it there from 0 to {}",
                        name_of_buffer(plan, view.buffer), view.life.lower, view.life.upper,
                        of_clock(plan.buffers[view.buffer].clock), end));
    }
  }
}

}  // namespace

Faults check_weights(const Plan& plan) {
  Faults faults;
  const Stagings stagings = stagings_of(plan, faults);
  if (!has_memory_for_weights(plan)) return faults;
  std::set<std::size_t> staged;
  for (const auto& [of, positions] : stagings) staged.insert(of.second);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) check_buffer(plan, b, staged, faults);
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) check_tensor(plan, t, stagings, faults);
  return faults;
}

}  // namespace stowage::check
