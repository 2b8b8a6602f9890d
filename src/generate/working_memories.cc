#include "generate/working_memories.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stowage::generate {

Plan without_weights_memories(const Plan& plan) {
  const auto is_for_weights = [&](std::size_t memory) {
    return plan.memories[memory].memory.role == MemoryRole::weights;
  };
  Plan own = plan;
  own.memories.clear();
  std::vector<std::size_t> number;  // of each memory among those that stay
  for (std::size_t m = 0; m < plan.memories.size(); ++m) {
    number.push_back(own.memories.size());
    if (!is_for_weights(m)) own.memories.push_back(plan.memories[m]);
  }
  for (PlannedTensor& tensor : own.tensors)
    std::erase_if(tensor.views,
                  [&](const View& view) { return is_for_weights(plan.places[view.buffer].memory); });
  for (Place& place : own.places)
    place = is_for_weights(place.memory) ? Place{} : Place{number[place.memory], place.offset};
  return own;
}

}  // namespace stowage::generate
