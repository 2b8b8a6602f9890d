#pragma once

#include <cstddef>
#include <optional>

#include "schedule/budget.h"
#include "schedule/executed.h"

namespace stowage::schedule {

/// Looks for an order with no step above the capacity among the sets that seem best, at most `width` of each
/// number of operators; see beam.cc. That it finds none means nothing.
[[nodiscard]] std::optional<Order> beam(const Storage& storage, Direction direction, Bytes capacity,
                                        std::size_t width, Budget& budget);

}  // namespace stowage::schedule
