#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "schedule/budget.h"
#include "schedule/executed.h"
#include "schedule/storage.h"

namespace stowage::schedule {

/// Orders that are very cheap to find: breadth first, depth first, reverse post-order, and greedy by the
/// fewest live bytes, from the beginning and from the end.
[[nodiscard]] std::vector<Order> greedy_orders(const Storage& storage);

/// Searches for an order with no step above the capacity among the sets that seem best, at most `width` of
/// each number of operators; see heuristics.cc. None found proves nothing.
[[nodiscard]] std::optional<Order> beam(const Storage& storage, Direction direction, Bytes capacity,
                                        std::size_t width, Budget& budget);

}  // namespace stowage::schedule
