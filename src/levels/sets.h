#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::levels {

/// The buffers that live in a memory.
[[nodiscard]] std::vector<std::size_t> set_of(std::span<const Place> places, std::size_t memory);

/// Offsets of these buffers, each in the set's order, that stay within the capacity: those of the first
/// packer that finds some.
[[nodiscard]] std::optional<std::vector<Bytes>> pack_within(const Problem& problem,
                                                            std::span<const std::size_t> set, Bytes capacity,
                                                            const pack::Control& control);

/// Packs the set of every memory, the slowest first, with all packers, and keeps what lowers its peak.
void lower_peaks(const Problem& problem, std::vector<Place>& places, const pack::Control& control);

}  // namespace stowage::levels
