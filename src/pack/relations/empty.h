#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stowage/problem.h"

namespace stowage::pack::relations {

/// Buffers without bytes. They take no room, but a peak is at least their offset, so a pinned one that may be in several
/// memories goes where it raises no peak, or else the one that matters least: that of its first memory.
class EmptyBuffers {
 public:
  explicit EmptyBuffers(const Problem& problem);

  [[nodiscard]] bool empty() const { return groups_.empty(); }
  /// Some that have no place, whatever the others do, since their pin is no multiple of an alignment or lies outside of
  /// their memories; or none.
  [[nodiscard]] const std::vector<std::size_t>& impossible() const { return impossible_; }
  /// What they make of the peak of a memory, when `peaks` has those of all later ones.
  [[nodiscard]] Bytes least_peak(std::size_t memory, std::span<const Bytes> peaks) const;
  /// Sets their places; `peaks` has those of all memories without them.
  void place(std::vector<Bytes> peaks, std::vector<Place>& places) const;

 private:
  struct Group {
    std::vector<std::size_t> buffers{};
    std::vector<std::size_t> memories{};  ///< With room for the offset; ascending.
    Bytes offset = 0;
  };
  std::vector<Group> groups_;
  std::vector<std::size_t> impossible_;
};

/// The highest end of buffers with bytes in each memory, and of others that lie together with them.
[[nodiscard]] std::vector<Bytes> peaks_of_bytes(const Problem& problem, std::span<const Place> places);

}  // namespace stowage::pack::relations
