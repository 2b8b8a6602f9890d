#pragma once

#include <cstdint>
#include <span>

#include "schedule/budget.h"
#include "schedule/storage.h"

namespace stowage::schedule {

/// The result of a search. The order is optimal if its peak equals the bound.
struct Found {
  Order order{};
  Bytes peak = 0;
  Bytes bound = 0;          ///< No order has a smaller peak.
  std::int64_t states = 0;  ///< Sets of executed operators that were examined.
};

/// Searches for an order of the least peak; see search.cc. Never worse than `own`, an order that respects
/// `waits_for`. The storage must be normalized.
[[nodiscard]] Found find_order(const Storage& storage, std::span<const std::size_t> own, Budget& budget);

}  // namespace stowage::schedule
