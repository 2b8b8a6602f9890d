#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "base/text.h"
#include "stowage/plan.h"

namespace stowage::check {

/// Names of the parts of a plan, for messages.
[[nodiscard]] inline std::string name_of_buffer(const Plan& plan, std::size_t buffer) {
  return "buffer " + base::quoted(plan.buffers[buffer].id);
}

[[nodiscard]] inline std::string name_of_tensor(const PlannedTensor& tensor) {
  return "tensor " + base::quoted(tensor.tensor.name);
}

[[nodiscard]] inline std::string name_of_memory(const Plan& plan, std::size_t memory) {
  return "memory " + base::quoted(plan.memories[memory].memory.name);
}

[[nodiscard]] inline std::string name_of_model(const Plan& plan, std::size_t model) {
  return fmt::format("model {} ({})", model, base::quoted(plan.models[model].name));
}

[[nodiscard]] inline std::string name_with_model(const Plan& plan, std::size_t tensor) {
  return fmt::format("{} of {}", name_of_tensor(plan.tensors[tensor]),
                     name_of_model(plan, plan.tensors[tensor].model));
}

/// The suffix of a position in messages; empty on the root clock.
[[nodiscard]] inline std::string of_clock(std::size_t clock) {
  return clock == 0 ? std::string() : fmt::format(" of clock {}", clock);
}

}  // namespace stowage::check
