#include "check/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "check/names.h"

namespace stowage::check {
namespace {

bool is_for_weights(const Plan& plan, std::size_t buffer) {
  return plan.memories[plan.places[buffer].memory].memory.role == MemoryRole::weights;
}

void check_buffer(const Plan& plan, std::size_t b, Faults& faults) {
  const bool holds_constants = is_constant(plan.buffers[b].kind);
  if (holds_constants == is_for_weights(plan, b)) return;
  faults.push_back({FaultKind::pin, fmt::format("{} is of kind {} and in {}, which is {} for weights",
                                                name_of_buffer(plan, b), name_of(plan.buffers[b].kind),
                                                name_of_memory(plan, plan.places[b].memory),
                                                holds_constants ? "not" : "only")});
}

void check_tensor(const Plan& plan, const PlannedTensor& tensor, Faults& faults) {
  const bool is_weight = is_constant(tensor.tensor.kind);
  const auto fault = [&](FaultKind kind, const std::string& what) {
    faults.push_back({kind, name_of_tensor(tensor) + what});
  };
  const auto end = std::max<Position>(static_cast<Position>(plan.clocks[0].steps.size()), 1);
  for (const View& view : tensor.views) {
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
  const bool has_memory = std::any_of(plan.memories.begin(), plan.memories.end(), [](const auto& memory) {
    return memory.memory.role == MemoryRole::weights;
  });
  if (!has_memory) return faults;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) check_buffer(plan, b, faults);
  for (const PlannedTensor& tensor : plan.tensors) check_tensor(plan, tensor, faults);
  return faults;
}

}  // namespace stowage::check
