#pragma once

#include <cstdint>

#include "pack/section_search.h"
#include "stowage/units.h"

namespace stowage::pack {

struct Ejection {
  std::uint64_t seed = 0;
  std::int64_t steps = 0;  ///< After so many it gives up.
};

/// Looks for a placing below `height` by throwing out what is in the way: see ejection_search.cc. Never says
/// no.
[[nodiscard]] Found search_by_ejection(const Tables& tables, Bytes height, const Ejection& ejection,
                                       const Stop& stop);

}  // namespace stowage::pack
