#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/overlap.h"
#include "stowage/plan.h"

namespace stowage::check {

/// Pools of slots have valid memories, clocks, sizes and ends.
void check_slots_form(const Plan& plan, Faults& faults);

/// The bytes of a pool during its live range. Its holder comes after all buffers, see `name_of_holder`.
[[nodiscard]] base::Box box_of_pool(const Plan& plan, std::size_t pool);

/// Name of a buffer or, from the number of buffers on, of a pool of slots.
[[nodiscard]] std::string name_of_holder(const Plan& plan, std::size_t holder);

/// Checks the pools of one clock and memory against each other and against all other bytes there: only a
/// buffer of the clock may overlap a pool; it lies in one slot, alone as long as it lives.
void check_slots(const Plan& plan, std::size_t clock, std::span<const std::size_t> pools,
                 std::span<const base::Box> boxes, Faults& faults);

}  // namespace stowage::check
