#pragma once

#include <cstdint>

#include "base/deadline.h"
#include "pack/memories/needs.h"

namespace stowage::memories {

/// Prices at which needs ask for about as many bytes as there are, and what they prove.
struct Priced {
  Prices prices;
  std::int64_t bound = 0;  ///< No stays within the capacity cost less.
};

constexpr int most_rounds_of_pricing = 2000;

/// `upper` is the cost of some stays. Requires `are_small`. Ends after so many rounds. See prices.cc.
[[nodiscard]] Priced find_prices(const Needs& needs, std::int64_t upper, const base::Deadline& deadline,
                                 int rounds = most_rounds_of_pricing);

}  // namespace stowage::memories
