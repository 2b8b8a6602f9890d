#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "plan/context.h"
#include "plan/draft.h"
#include "plan/row_placing.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Plans networks of whole operators that share a device, except the plan's seconds; see networks.cc. Throws Error if
/// no plan is possible.
[[nodiscard]] Plan plan_networks(const Context& context);

/// The same if some networks run by rows: those with `rows`, which is null for the others. `bounds` are proven for the
/// rows.
[[nodiscard]] Plan plan_networks_by_rows(const Context& context, std::span<const RowsPtr> rows,
                                         ProvenBounds bounds);

/// What a plan is compared by; less is better.
[[nodiscard]] std::tuple<Outcome, std::int64_t, Bytes> worth_of(const Plan& plan);

}  // namespace stowage::plan
