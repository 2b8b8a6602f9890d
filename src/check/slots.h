#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "model/overlap.h"
#include "stowage/plan.h"

namespace stowage::check {

/// Pools of slots have memories, clocks, sizes and ends that there can be.
void check_slots_form(const Plan& plan, Faults& faults);

/// The bytes of a pool as long as it is there. Its holder comes after all buffers, see `name_of_holder`.
[[nodiscard]] model::Box box_of_pool(const Plan& plan, std::size_t pool);

/// A buffer, or from the number of buffers on, a pool of slots.
[[nodiscard]] std::string name_of_holder(const Plan& plan, std::size_t holder);

/// The pools that are on one clock and in one memory, against each other and all that takes bytes there:
/// what meets a pool is a buffer of the clock and lies in one slot, alone as long as it lives.
void check_slots(const Plan& plan, std::size_t clock, std::span<const std::size_t> pools,
                 std::span<const model::Box> boxes, Faults& faults);

}  // namespace stowage::check
