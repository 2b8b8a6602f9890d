#include "check/list.h"

#include <unordered_map>

#include "base/text.h"

namespace stowage::check {

Faults check_list(const Plan& plan, const Problem& list) {
  Faults faults;
  const auto fault = [&](const std::string& id, const std::string& what) {
    faults.push_back({FaultKind::accounting, "buffer " + base::quoted(id) + what});
  };
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) index_of.emplace(plan.buffers[b].id, b);
  for (const Buffer& given : list.buffers) {
    const auto it = index_of.find(given.id);
    if (it == index_of.end()) {
      fault(given.id, " is missing in the plan");
      continue;
    }
    const Buffer& planned = plan.buffers[it->second];
    if (planned.size != given.size || planned.pieces != given.pieces)
      fault(given.id, " has another size or lifetime in the plan");
    if (planned.alignment % given.alignment != 0) fault(given.id, " has a weaker alignment in the plan");
    if (given.pinned && plan.places[it->second].offset != *given.pinned)
      fault(given.id, " is not where it is pinned");
    index_of.erase(it);
  }
  for (const auto& [id, index] : index_of)
    fault(plan.buffers[index].id, " is in the plan but not in the list");
  return faults;
}

}  // namespace stowage::check
