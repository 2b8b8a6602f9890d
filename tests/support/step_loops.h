/// Plans whose steps repeat themselves. Example:
///
///     Random random(7);
///     const Plan plan = plan_with(steps_of_loops(random));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "image_networks.h"
#include "stowage/plan.h"

namespace stowage::testing {

/// Operator `op` computes one row along axis 1, and four channels from `block` on along axis 3.
[[nodiscard]] Run run_of(std::size_t op, std::optional<std::int64_t> row,
                         std::optional<std::int64_t> block = std::nullopt);

/// Steps as nested loops make them, at random: each loop moves the rows and blocks of the steps within on.
[[nodiscard]] std::vector<Step> steps_of_loops(Random& random);

/// For each of 4 rows, operator 0 computes its row, and operators 1 and 2 each of three blocks of it.
[[nodiscard]] std::vector<Step> steps_of_blocks();

/// A plan with two buffers and these steps.
[[nodiscard]] Plan plan_with(std::vector<Step> steps);

[[nodiscard]] std::string json_of(const Plan& plan);

}  // namespace stowage::testing
