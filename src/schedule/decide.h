#pragma once

#include <cstdint>
#include <optional>

#include "schedule/budget.h"
#include "schedule/executed.h"
#include "schedule/symmetry.h"

namespace stowage::schedule {

/// Whether there is an order with no step above a capacity.
struct Decision {
  std::optional<Order> order{};  ///< There is: this one.
  std::optional<Bytes> bound{};  ///< There is none, nor with a capacity below this.
  std::int64_t states = 0;       ///< Sets that were looked at. Without order or bound: too many.
};

/// Looks at sets of executed operators, at most as many as given, until the question is decided; see
/// decide.cc. `symmetry` is the storage's.
[[nodiscard]] Decision decide(const Storage& storage, Symmetry& symmetry, Direction direction, Bytes capacity,
                              std::int64_t most_states, Budget& budget);

}  // namespace stowage::schedule
