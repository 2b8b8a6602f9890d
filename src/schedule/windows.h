#pragma once

#include <optional>

#include "schedule/budget.h"
#include "schedule/storage.h"

namespace stowage::schedule {

/// The storage of operators [begin, end) of an order, when those before have run and those after have not.
/// Operator i of it is `order[begin + i]`. Normalized.
[[nodiscard]] Storage window_of(const Storage& storage, std::span<const std::size_t> order, std::size_t begin,
                                std::size_t end);

/// Repairs an order by reordering windows around steps above the capacity. The result has no such step; none
/// if that fails. At most `most_states` sets are examined per window and direction; see windows.cc.
[[nodiscard]] std::optional<Order> mended(const Storage& storage, Order order, Bytes capacity,
                                          std::int64_t most_states, Budget& budget);

}  // namespace stowage::schedule
