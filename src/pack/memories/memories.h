#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::memories {

/// The choices, computed once: the memories allowed for each buffer, and their costs.
struct Choices {
  /// Per buffer, the cheapest memory first, of equally cheap ones the one given first.
  std::vector<std::vector<std::size_t>> allowed;
  std::vector<std::vector<std::int64_t>> costs;  ///< [buffer][memory]
  std::vector<Bytes> capacities;                 ///< Per memory; `largest_value`: no limit.
  std::vector<bool> is_ever_alive;               ///< Per buffer. Others need no room, but have a place.

  explicit Choices(const Problem& problem);

  /// The saving of the cheapest memory over the dearest.
  [[nodiscard]] std::int64_t saving(std::size_t buffer) const;
};

/// Whether the memory could hold the buffer alone.
[[nodiscard]] bool holds(const Choices& choices, std::size_t memory, const Buffer& buffer);

/// The buffers in a memory.
[[nodiscard]] std::vector<std::size_t> set_of(std::span<const Place> places, std::size_t memory);

/// Offsets of these buffers, in the set's order, within the capacity. The first packer that succeeds provides
/// them.
[[nodiscard]] std::optional<std::vector<Bytes>> pack_within(const Problem& problem,
                                                            std::span<const std::size_t> set, Bytes capacity,
                                                            const pack::Control& control);

/// Packs the set of every memory, the slowest first, with all packers, and keeps results that lower its peak.
void lower_peaks(const Problem& problem, std::vector<Place>& places, const pack::Control& control);

}  // namespace stowage::memories
