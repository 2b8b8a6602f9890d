#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pack/model.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// Where an item of the first model lies.
struct Member {
  std::uint32_t group = 0;  ///< An item of the model of groups.
  Bytes above = 0;          ///< Offset of the group.
};

/// A model with fewer items and the same max load: see groups.cc.
struct Groups {
  SectionModel model{};
  std::vector<Member> members{};  ///< By item of the first model.

  /// The offsets of the items of the first model.
  [[nodiscard]] std::vector<Bytes> offsets_of_members(std::span<const Bytes> offsets_of_groups) const;
};

/// Items of one life become one.
[[nodiscard]] Groups stacks_of(const SectionModel& model);
/// Also those of one size that follow each other, chosen by chance. With a tolerance, the smaller of two may lack
/// so much of the size of the larger.
[[nodiscard]] Groups chains_of(const SectionModel& model, std::uint64_t seed, double tolerance = 0);

/// A list with fewer buffers. The max load is that of the first list with all sizes rounded up to alignments.
struct GroupedList {
  Problem problem{};
  std::vector<Member> members{};  ///< By buffer of the first list.

  /// The places of the buffers of the first list.
  [[nodiscard]] std::vector<Place> places_of_members(std::span<const Place> places_of_groups) const;
};

/// The same without a tolerance, for the buffers of one memory.
[[nodiscard]] GroupedList chains_of(const Problem& problem, std::uint64_t seed);

}  // namespace stowage::pack
