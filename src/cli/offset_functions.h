#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "stowage/import.h"
#include "stowage/offset_functions.h"

namespace stowage::cli {

/// The functions that --offsets asks for; none if it does not. Throws UsageError for options that do not go with it.
/// The plan becomes the one that they are for, perhaps in another order.
[[nodiscard]] std::optional<FoundFunctions> functions_for(const PlanCommand& command, const Input& range,
                                                          const PlanOptions& options, PlanResult& result);

/// The peak at some sizes, and how good the functions are.
void write_functions_summary(const FoundFunctions& found, std::ostream& out);

}  // namespace stowage::cli
