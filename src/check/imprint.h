#pragma once

#include <cstdint>
#include <span>

#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::check {

/// A hash of all that a list says of its buffers, and of their order.
[[nodiscard]] std::uint64_t imprint_of(std::span<const Buffer> buffers);

/// As `check_plan` with a list, for a plan that has taken over the list's buffers. `imprint` was made of them
/// before.
[[nodiscard]] Faults check_plan_of_list(const Plan& plan, std::uint64_t imprint);

/// The plan has every buffer of the list as given, and no other buffer.
[[nodiscard]] Faults check_list(const Plan& plan, const Problem& list);

}  // namespace stowage::check
