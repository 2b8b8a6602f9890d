#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stowage/plan.h"

namespace stowage::exporting {

/// A name and a value, for the summary.
using Rows = std::vector<std::pair<std::string_view, std::string>>;

/// Strategy `slots`: its pools, each with all of its bytes. The first few, then how many more there are.
[[nodiscard]] Rows rows_of_pools(const Plan& plan);

/// Strategy `rectangle`: which goal was met in which round, and the risks before.
[[nodiscard]] Rows rows_of_tunings(const Plan& plan);

}  // namespace stowage::exporting
