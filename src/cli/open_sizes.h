#pragma once

#include <string>

#include "cli/commands.h"
#include "stowage/open_sizes.h"
#include "stowage/options.h"

namespace stowage::cli {

/// Prints what the model needs at some sizes of what it leaves open, and commands that go on with them. Takes about a
/// second. For one model.
void show_open_sizes(const PlanCommand& command, const OpenSizesError& open, PlanOptions options);

/// Finds the largest size that --fit asks for, prints what was found to standard error, and makes the range up to it one
/// of the command's sizes. Throws UsageError if no size fits, and for options that do not go with --fit.
void fit_dimension(PlanCommand& command, const PlanOptions& options);

}  // namespace stowage::cli
