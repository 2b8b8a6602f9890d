#include "pack/relations/empty.h"

#include <algorithm>

#include "pack/joints.h"

namespace stowage::pack::relations {

EmptyBuffers::EmptyBuffers(const Problem& problem) {
  if (std::ranges::none_of(problem.buffers, [](const Buffer& buffer) { return buffer.size == 0; })) return;
  for (Block& block : blocks_of(problem)) {
    if (block.size > 0) continue;
    Group group{.buffers = std::move(block.buffers), .memories = {}, .offset = block.pinned.value_or(0)};
    for (const std::size_t m : block.memories) {
      if (problem.memories[m].capacity.value_or(group.offset) >= group.offset) group.memories.push_back(m);
    }
    if (group.memories.empty() || (group.offset - block.phase) % block.alignment != 0)
      impossible_ = group.buffers;
    if (group.memories.empty()) group.memories = std::move(block.memories);
    groups_.push_back(std::move(group));
  }
}

Bytes EmptyBuffers::least_peak(std::size_t memory, std::span<const Bytes> peaks) const {
  Bytes least = 0;
  for (const Group& group : groups_) {
    if (group.memories.front() != memory) continue;
    const bool is_free = std::any_of(group.memories.begin() + 1, group.memories.end(),
                                     [&](std::size_t m) { return peaks[m] >= group.offset; });
    if (!is_free) least = std::max(least, group.offset);
  }
  return least;
}

void EmptyBuffers::place(std::vector<Bytes> peaks, std::vector<Place>& places) const {
  for (std::size_t m = peaks.size(); m-- > 0;) peaks[m] = std::max(peaks[m], least_peak(m, peaks));
  for (const Group& group : groups_) {
    const auto free =
        std::ranges::find_if(group.memories, [&](std::size_t m) { return peaks[m] >= group.offset; });
    const std::size_t memory = free == group.memories.end() ? group.memories.front() : *free;
    for (const std::size_t b : group.buffers) places[b] = {memory, group.offset};
  }
}

std::vector<Bytes> peaks_of_bytes(const Problem& problem, std::span<const Place> places) {
  std::vector<Bytes> peaks(problem.memories.size());
  for (const Block& block : blocks_of(problem)) {
    const Place& place = places[block.buffers.front()];
    Bytes& peak = peaks[place.memory];
    if (block.size > 0) peak = std::max(peak, place.offset - block.offsets.front() + block.size);
  }
  return peaks;
}

}  // namespace stowage::pack::relations
