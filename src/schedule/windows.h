#pragma once

#include <optional>

#include "schedule/budget.h"
#include "schedule/storage.h"

namespace stowage::schedule {

/// What operators [begin, end) of an order need memory for when those before have run and those behind have
/// not. Operator i of it is `order[begin + i]`. Normalized.
[[nodiscard]] Storage window_of(const Storage& storage, std::span<const std::size_t> order, std::size_t begin,
                                std::size_t end);

/// An order with no step above the capacity, made of one that has such by ordering windows around those steps
/// anew; or none. At most so many sets are looked at per window and direction; see windows.cc.
[[nodiscard]] std::optional<Order> mended(const Storage& storage, Order order, Bytes capacity,
                                          std::int64_t most_states, Budget& budget);

}  // namespace stowage::schedule
