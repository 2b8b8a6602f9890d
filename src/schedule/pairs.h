#pragma once

#include <cstdint>

#include "schedule/budget.h"
#include "schedule/storage.h"

namespace stowage::schedule {

struct PairOptions {
  Bytes unit = 1;              ///< What all loads are multiples of.
  std::int64_t most_work = 0;  ///< What may be spent.
};

/// No order has a smaller peak: a bound between one that is known and the peak of an order that is known; see
/// pairs.cc. The storage must be normalized.
[[nodiscard]] Bytes bound_by_pairs(const Storage& storage, Bytes bound, Bytes peak,
                                   const PairOptions& options, Budget& budget);

}  // namespace stowage::schedule
