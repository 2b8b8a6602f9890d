#pragma once

#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// What is alive at these positions alone does not fit below the bound.
struct Certificate {
  Bytes bound = 0;
  std::vector<Position> positions{};
};

/// Looks for a bound above `bound`, up to `peak`: see certificate.cc. Without positions if it finds none.
[[nodiscard]] Certificate certify(const Problem& problem, Bytes bound, Bytes peak, const Control& control);

}  // namespace stowage::pack
