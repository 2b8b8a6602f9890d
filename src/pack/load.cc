#include "pack/load.h"

#include <algorithm>

namespace stowage {

Bytes max_load(std::span<const Buffer> buffers) {
  Bytes most = 0;
  for (const pack::Load& load : pack::load_profile(buffers)) most = std::max(most, load.bytes);
  return most;
}

namespace pack {

std::vector<Load> load_profile(std::span<const Buffer> buffers) {
  std::vector<Load> changes;  // first the difference at each position, then summed in place
  for (const Buffer& buffer : buffers) {
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive()) continue;
      changes.push_back({piece.life.lower, piece.size});
      changes.push_back({piece.life.upper, -piece.size});
    }
  }
  std::sort(changes.begin(), changes.end(), [](const Load& a, const Load& b) { return a.at < b.at; });
  std::size_t count = 0;
  Bytes bytes = 0;
  for (const Load& change : changes) {
    bytes += change.bytes;
    if (count > 0 && changes[count - 1].at == change.at) {
      changes[count - 1].bytes = bytes;
    } else {
      changes[count++] = {change.at, bytes};
    }
  }
  changes.resize(count);
  return changes;
}

Bytes lower_bound_of(std::span<const Buffer> buffers) {
  Bytes bound = max_load(buffers);
  for (const Buffer& buffer : buffers) bound = std::max(bound, buffer.pinned.value_or(0) + buffer.size);
  return bound;
}

std::vector<Bytes> lower_bounds_of(const Problem& problem, const Solution& solution) {
  if (problem.memories.size() == 1) return {solution.lower_bound};
  std::vector<std::vector<Buffer>> inside(problem.memories.size());
  for (std::size_t b = 0; b < problem.buffers.size(); ++b)
    inside[solution.places[b].memory].push_back(problem.buffers[b]);
  std::vector<Bytes> bounds;
  for (const auto& buffers : inside) bounds.push_back(lower_bound_of(buffers));
  return bounds;
}

}  // namespace pack
}  // namespace stowage
