#pragma once

#include <cstdint>

#include "schedule/budget.h"
#include "schedule/storage.h"

namespace stowage::schedule {

struct PairOptions {
  Bytes unit = 1;              ///< All loads are multiples of it.
  std::int64_t most_work = 0;  ///< The work that may be spent.
};

/// A lower bound for the peak of all orders, between a known bound and the peak of a known order; see
/// pairs.cc. The storage must be normalized.
[[nodiscard]] Bytes bound_by_pairs(const Storage& storage, Bytes bound, Bytes peak,
                                   const PairOptions& options, Budget& budget);

}  // namespace stowage::schedule
