#include "cli/shortage.h"

#include <fmt/format.h>

#include "base/text.h"

namespace stowage::cli {

std::vector<std::string> shortage_of(const PlanResult& result) {
  std::vector<std::string> lines;
  if (result.outcome == Outcome::fits) return lines;
  for (const PlannedMemory& memory : result.plan.memories) {
    const Bytes capacity = memory.memory.capacity.value_or(largest_value);
    if (memory.peak <= capacity) continue;
    lines.push_back(fmt::format("the plan needs {} bytes, {} more than the {} of memory {}", memory.peak,
                                memory.peak - capacity, capacity, base::quoted(memory.memory.name)));
  }
  if (result.enough) {
    lines.push_back(fmt::format("{} bytes of memory {} would be enough", *result.enough->capacity,
                                base::quoted(result.enough->name)));
  }
  return lines;
}

}  // namespace stowage::cli
