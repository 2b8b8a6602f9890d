#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "stowage/open_rows.h"

namespace stowage::plan {

/// The function of the smallest divisor that gives these numbers of steps at these sizes; none if there is none of a
/// small divisor. Cost: sizes times divisors.
[[nodiscard]] std::optional<StepCount> step_count_of(
    const std::map<std::int64_t, std::int64_t>& steps_by_size);

}  // namespace stowage::plan
