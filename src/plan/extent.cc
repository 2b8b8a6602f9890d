#include "plan/extent.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "model/clock_tree.h"
#include "pack/bounds.h"

namespace stowage::plan {
namespace {

/// The bytes of a buffer that are live at any time. Others may have the rest, such as the end of a last row block.
Bytes bytes_ever_live(const Buffer& buffer) {
  std::vector<std::pair<Bytes, Bytes>> parts;
  for (const Piece& piece : buffer.pieces) {
    if (piece.is_ever_alive()) parts.emplace_back(piece.offset, piece.offset + piece.size);
  }
  std::ranges::sort(parts);
  Bytes bytes = 0;
  Bytes end = 0;
  for (const auto& [begin, part_end] : parts) {
    bytes += std::max<Bytes>(0, part_end - std::max(begin, end));
    end = std::max(end, part_end);
  }
  return bytes;
}

/// A bound of buffers of one clock.
using BoundOf = Bytes (*)(std::span<const Buffer> buffers);

class Bounds {
 public:
  Bounds(std::span<const Buffer> buffers, std::span<const Place> places, std::span<const Clock> clocks,
         std::size_t memories, BoundOf bound_of)
      : clocks_(clocks),
        bound_of_(bound_of),
        inside_(clocks.size(), std::vector<std::vector<Buffer>>(memories)) {
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      std::vector<Buffer>& inside = inside_[buffers[b].clock][places[b].memory];
      inside.push_back(buffers[b]);
      if (buffers[b].clock != 0) inside.back().size = bytes_ever_live(buffers[b]);
    }
  }

  /// The bounds of a clock and its branches, per memory.
  std::vector<Bytes> of(std::size_t clock) {
    for (const model::Branch& branch : model::branches_of(clocks_[clock])) {
      const std::vector<Bytes> inside = of(branch.clock);
      for (const Position at : branch.at) add_block(inside, at, clock);
    }
    std::vector<Bytes> bounds;
    for (const std::vector<Buffer>& inside : inside_[clock]) bounds.push_back(bound_of_(inside));
    return bounds;
  }

 private:
  void add_block(const std::vector<Bytes>& bounds, Position at, std::size_t clock) {
    for (std::size_t m = 0; m < bounds.size(); ++m)
      inside_[clock][m].push_back({.size = bounds[m], .pieces = {{0, bounds[m], {at, at + 1}}}});
  }

  std::span<const Clock> clocks_;
  BoundOf bound_of_;
  std::vector<std::vector<std::vector<Buffer>>> inside_;  ///< Per clock and memory.
};

}  // namespace

std::vector<Extent> extents_of(std::span<const Buffer> buffers, std::span<const Place> places,
                               std::span<const Clock> clocks, std::size_t memories) {
  std::vector<Extent> extents(memories);
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    Bytes& peak = extents[places[b].memory].peak;
    peak = std::max(peak, places[b].offset + buffers[b].size);
  }
  if (clocks.size() == 1 && memories == 1) {  // the bound of all, without copies of them
    extents[0].bound = pack::lower_bound_of(buffers);
    return extents;
  }
  const std::vector<Bytes> bounds = Bounds(buffers, places, clocks, memories, pack::lower_bound_of).of(0);
  for (std::size_t m = 0; m < memories; ++m) extents[m].bound = bounds[m];
  return extents;
}

Bytes most_live_bytes(std::span<const Buffer> buffers, std::span<const Clock> clocks) {
  const std::vector<Place> together(buffers.size());
  const auto live_bytes = [](std::span<const Buffer> some) { return pack::fullest(some).bytes; };
  return Bounds(buffers, together, clocks, 1, live_bytes).of(0)[0];
}

}  // namespace stowage::plan
