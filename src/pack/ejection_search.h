#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "pack/section_search.h"
#include "stowage/units.h"

namespace stowage::pack {

/// What is thrown about.
struct Movable {
  Bytes size = 0;
  Bytes alignment = 1;
  std::optional<Bytes> pin{};
  double weight = 0;              ///< How unwelcome it is to throw it out, at first.
  std::optional<Bytes> offset{};  ///< Where it lies at first; none: in the pool.
};

/// Whom a movable meets; valid until the next call.
using ClashesOf = std::function<std::span<const ForbiddenOffsets>(std::uint32_t)>;

struct Ejection {
  std::uint64_t seed = 0;
  std::int64_t steps = 0;  ///< After so many it gives up.
};

/// Looks for a placing below `height` by throwing out what is in the way: see ejection_search.cc. Never says
/// no.
[[nodiscard]] Found search_by_ejection(std::span<const Movable> movables, const ClashesOf& clashes,
                                       Bytes height, const Ejection& ejection, const Stop& stop);

/// The same for all items of a model, from nothing.
[[nodiscard]] Found search_by_ejection(const Tables& tables, Bytes height, const Ejection& ejection,
                                       const Stop& stop);

}  // namespace stowage::pack
