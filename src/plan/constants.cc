#include "plan/constants.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/unique_names.h"

namespace stowage::plan {
namespace {

class ConstantPlacer {
 public:
  ConstantPlacer(Bytes alignment, Plan& plan)
      : alignment_(alignment),
        plan_(plan),
        life_{0, std::max<Position>(static_cast<Position>(plan.clocks[0].steps.size()), 1)} {
    for (std::size_t m = 0; m < plan.memories.size(); ++m) {
      if (plan.memories[m].memory.role != MemoryRole::weights) continue;
      plan.memories[m].memory.alignment = std::max(plan.memories[m].memory.alignment, alignment);
      memories_.push_back(m);
    }
    for (const Buffer& buffer : plan.buffers) ids_.reserve(buffer.id);
    first_tensor_.resize(plan.models.size());
    for (std::size_t t = plan.tensors.size(); t-- > 0;) first_tensor_[plan.tensors[t].model] = t;
  }

  void place(const std::vector<share::ConstantRef>& equal) {
    const PlannedTensor& first = tensor(equal.front());
    const Bytes size = base::align_up(first.tensor.bytes, alignment_);
    PlannedMemory& memory = plan_.memories[memory_for(size)];
    for (const share::ConstantRef& constant : equal)
      tensor(constant).views = {{plan_.buffers.size(), 0, life_, std::nullopt}};
    plan_.places.push_back({static_cast<std::size_t>(&memory - plan_.memories.data()), memory.peak});
    plan_.buffers.push_back({.id = unique_id(first),
                             .size = size,
                             .alignment = alignment_,
                             .pieces = {{0, size, life_}},
                             .kind = first.tensor.kind});
    memory.peak += size;
    memory.lower_bound = memory.peak;  // all of it is always needed
  }

 private:
  PlannedTensor& tensor(const share::ConstantRef& constant) {
    return plan_.tensors[first_tensor_[constant.model] + constant.tensor];
  }

  [[nodiscard]] std::size_t memory_for(Bytes size) const {
    for (const std::size_t m : memories_) {
      const PlannedMemory& memory = plan_.memories[m];
      if (size <= memory.memory.capacity.value_or(largest_value) - memory.peak) return m;
    }
    return memories_.back();
  }

  std::string unique_id(const PlannedTensor& it) {
    std::string id = it.tensor.name;
    if (plan_.models.size() > 1) id = plan_.models[it.model].name + "." + id;
    return ids_.unique(std::move(id));
  }

  Bytes alignment_;
  Plan& plan_;
  Lifetime life_;
  std::vector<std::size_t> memories_;
  std::vector<std::size_t> first_tensor_;  ///< Per model: index in Plan::tensors.
  base::UniqueNames ids_;
};

}  // namespace

void place_constants(const share::EqualData& classes, Bytes alignment, Plan& plan) {
  ConstantPlacer placer(alignment, plan);
  for (const auto& equal : classes) placer.place(equal);
}

}  // namespace stowage::plan
