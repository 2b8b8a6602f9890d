#pragma once

#include <vector>

#include "base/deadline.h"
#include "plan/row_costs.h"
#include "plan/row_rounds.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stream/instances.h"

namespace stowage::plan {

/// Rows of a network as `found`, but in larger steps where these read weights less often and so cost less in these
/// memories; see row_steps.cc. The fastest has a capacity. The options have one memory. The entries that promise most
/// come first.
[[nodiscard]] std::vector<NetworkRows> rows_in_larger_steps(const Input& input, const PlanOptions& options,
                                                            const stream::PassedIo& passed,
                                                            const NetworkRows& found,
                                                            const MemoriesOfRows& memories,
                                                            const base::Deadline& deadline);

}  // namespace stowage::plan
