#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "pack/section_search.h"
#include "stowage/units.h"

namespace stowage::pack {

/// An item that the search may move.
struct Movable {
  Bytes size = 0;
  Bytes alignment = 1;
  std::optional<Bytes> pin{};
  double weight = 0;              ///< Its weight at first: higher means less likely to be thrown out.
  std::optional<Bytes> offset{};  ///< Its first offset; none: in the pool.
};

/// The items that a movable meets; valid until the next call.
using ClashesOf = std::function<std::span<const ForbiddenOffsets>(std::uint32_t)>;

struct Ejection {
  std::uint64_t seed = 0;
  std::int64_t steps = 0;  ///< The search gives up after this many.
};

/// Searches for a placing below `height` by throwing out items in the way: see ejection_search.cc. Never
/// answers no.
[[nodiscard]] Found search_by_ejection(std::span<const Movable> movables, const ClashesOf& clashes,
                                       Bytes height, const Ejection& ejection, const Stop& stop);

/// The same for all items of a model, all in the pool at first.
[[nodiscard]] Found search_by_ejection(const Tables& tables, Bytes height, const Ejection& ejection,
                                       const Stop& stop);

}  // namespace stowage::pack
