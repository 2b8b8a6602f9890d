#pragma once

#include <cstdint>
#include <vector>

#include "stowage/open_rows.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Checks the plan at sizes of its range, all of them if they are few; adds up to some of those at which it fails. The
/// faults are those of the first one.
[[nodiscard]] Faults check_sizes(const Plan& plan, const OpenRows& rows, const ReadAtSize& read,
                                 std::vector<std::int64_t>& failed, OpenRowsReport& report);

}  // namespace stowage::plan
