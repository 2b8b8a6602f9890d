#pragma once

#include <vector>

#include "base/deadline.h"
#include "plan/row_rounds.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stream/instances.h"

namespace stowage::plan {

/// Rows of a network as `found`, but in larger steps where these read weights less often, for a memory of that capacity;
/// see row_steps.cc. The options have one memory. Each entry reads fewer bytes than the one before, and needs more memory.
[[nodiscard]] std::vector<NetworkRows> rows_in_larger_steps(const Input& input, const PlanOptions& options,
                                                            const stream::PassedIo& passed,
                                                            const NetworkRows& found, Bytes capacity,
                                                            const base::Deadline& deadline);

}  // namespace stowage::plan
