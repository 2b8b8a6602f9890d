#include "export/header_places.h"

#include <algorithm>

namespace stowage::exporting {

Places::Places(const Plan& plan) : plan_(plan), forked_by_(plan.clocks.size()) {
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    for (std::size_t at = 0; at < plan.clocks[c].steps.size(); ++at) {
      const auto* const fork = std::get_if<stowage::Fork>(&plan.clocks[c].steps[at]);
      if (fork == nullptr) continue;
      for (const std::size_t branch : fork->clocks) forked_by_[branch] = Fork{c, static_cast<Position>(at)};
    }
  }
}

std::optional<Position> Places::seen_from(std::size_t outer, std::size_t clock, Position position) const {
  while (clock != outer) {
    if (!forked_by_[clock]) return std::nullopt;
    position = forked_by_[clock]->position;
    clock = forked_by_[clock]->clock;
  }
  return position;
}

Place Places::of(const View& view) const {
  const Place& place = plan_.places[view.buffer];
  return {place.memory, place.offset + view.offset};
}

std::optional<Place> Places::at(std::size_t tensor, std::size_t clock, Position position) const {
  std::optional<Place> alive;
  std::optional<Place> ending;
  for (const View& view : plan_.tensors[tensor].views) {
    const auto now = seen_from(plan_.buffers[view.buffer].clock, clock, position);
    if (!now || *now < view.life.lower || *now > view.life.upper) continue;
    std::optional<Place>& found = *now < view.life.upper ? alive : ending;
    if (!found || of(view).memory < found->memory) found = of(view);
  }
  return alive ? alive : ending;
}

std::optional<Place> Places::in(std::size_t tensor, std::size_t buffer, Position position) const {
  for (const View& view : plan_.tensors[tensor].views) {
    if (view.buffer == buffer && view.life.lower <= position && position <= view.life.upper) return of(view);
  }
  return std::nullopt;
}

}  // namespace stowage::exporting
