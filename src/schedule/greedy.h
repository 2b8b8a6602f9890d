#pragma once

#include <vector>

#include "schedule/storage.h"

namespace stowage::schedule {

/// Orders that cost next to nothing to find: breadth first, depth first, reverse post-order, and always what
/// leaves least alive, from the beginning and from the end.
[[nodiscard]] std::vector<Order> greedy_orders(const Storage& storage);

}  // namespace stowage::schedule
