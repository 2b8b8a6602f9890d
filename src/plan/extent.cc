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
         std::size_t memories, BoundOf bound_of, bool have_places)
      : clocks_(clocks),
        bound_of_(bound_of),
        have_places_(have_places),
        inside_(clocks.size(), std::vector<std::vector<Buffer>>(memories)) {
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      std::vector<Buffer>& inside = inside_[buffers[b].clock][places[b].memory];
      inside.push_back(buffers[b]);
      if (buffers[b].clock != 0) inside.back().size = bytes_ever_live(buffers[b]);
    }
  }

  /// The bounds of a clock and its branches, per memory.
  std::vector<Bytes> of(std::size_t clock) {
    std::vector<Bytes> bounds(inside_[clock].size(), 0);
    std::vector<std::pair<model::Branch, std::vector<Bytes>>> branches;
    for (model::Branch& branch : model::branches_of(clocks_[clock])) {
      std::vector<Bytes> inside = of(branch.clock);
      for (std::size_t m = 0; m < bounds.size() && have_places_ && branch.is_at_pauses; ++m)
        bounds[m] = std::max(bounds[m], bound_beside(branch, inside[m], inside_[clock][m]));
      branches.emplace_back(std::move(branch), std::move(inside));
    }
    for (const auto& [branch, inside] : branches) {
      for (const Position at : branch.at) add_block(inside, at, clock);
    }
    for (std::size_t m = 0; m < bounds.size(); ++m)
      bounds[m] = std::max(bounds[m], bound_of_(inside_[clock][m]));
    return bounds;
  }

 private:
  /// A buffer has one place: what a pause carries is never where those that run there have their block.
  [[nodiscard]] Bytes bound_beside(const model::Branch& branch, Bytes block,
                                   const std::vector<Buffer>& buffers) const {
    std::vector<Buffer> carried;
    Lifetime always{branch.at.front(), branch.at.back() + 1};
    for (const Buffer& buffer : buffers) {
      Buffer own = buffer;
      std::erase_if(own.pieces, [&](const Piece& piece) {
        const auto pause = std::ranges::lower_bound(branch.at, piece.life.lower);
        return pause == branch.at.end() || *pause >= piece.life.upper;
      });
      for (const Piece& piece : own.pieces)
        always = {std::min(always.lower, piece.life.lower), std::max(always.upper, piece.life.upper)};
      if (!own.pieces.empty()) carried.push_back(std::move(own));
    }
    carried.push_back({.size = block, .pieces = {{0, block, always}}});
    return bound_of_(carried);
  }

  void add_block(const std::vector<Bytes>& bounds, Position at, std::size_t clock) {
    for (std::size_t m = 0; m < bounds.size(); ++m)
      inside_[clock][m].push_back({.size = bounds[m], .pieces = {{0, bounds[m], {at, at + 1}}}});
  }

  std::span<const Clock> clocks_;
  BoundOf bound_of_;
  bool have_places_;  ///< The bound is of buffers with one place each, in these memories.
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
  const std::vector<Bytes> bounds =
      Bounds(buffers, places, clocks, memories, pack::lower_bound_of, true).of(0);
  for (std::size_t m = 0; m < memories; ++m) extents[m].bound = bounds[m];
  return extents;
}

Bytes most_live_bytes(std::span<const Buffer> buffers, std::span<const Clock> clocks) {
  const std::vector<Place> together(buffers.size());
  const auto live_bytes = [](std::span<const Buffer> some) { return pack::fullest(some).bytes; };
  return Bounds(buffers, together, clocks, 1, live_bytes, false).of(0)[0];
}

}  // namespace stowage::plan
