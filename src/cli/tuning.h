#pragma once

#include "cli/options.h"

namespace stowage::cli {

/// The strategy as NAME[:KEY=VALUE,...]: the texts get the values, and the name alone as their strategy. Values may
/// have commas themselves: what has no '=' goes on with the value before it. Throws UsageError for a key that is
/// unknown, given twice, or of no use to the strategy.
[[nodiscard]] PlanTexts with_tuning(PlanTexts texts);

}  // namespace stowage::cli
