#include "stowage/planner.h"
namespace stowage {
Faults check_plan(const Plan& plan, std::span<const Input> inputs) {
  if (inputs.size() == 1) {
    if (const auto* g = std::get_if<Graph>(&inputs[0].content))
      return check_plan(plan, std::span<const Graph>(g, 1));
    return check_plan(plan, std::get<Problem>(inputs[0].content));
  }
  return {};
}
}  // namespace stowage
