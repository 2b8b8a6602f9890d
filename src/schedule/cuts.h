#pragma once

#include "schedule/budget.h"
#include "schedule/storage.h"

namespace stowage::schedule {

/// Bytes that the step of an operator needs at least, in any order; see cuts.cc.
[[nodiscard]] Bytes least_load(const Storage& storage, std::size_t op);

/// No order has a smaller peak. The order given is a good one: the better it is, the fewer cuts are looked
/// for.
[[nodiscard]] Bytes bound_by_cuts(const Storage& storage, std::span<const std::size_t> order, Budget& budget);

}  // namespace stowage::schedule
