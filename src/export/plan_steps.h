#pragma once

#include <ostream>

#include "export/json.h"
#include "stowage/plan.h"

namespace stowage::exporting {

void add_rows(const RowRange& rows, Json& json);

/// Writes an array of steps; what repeats is written once if `repeats` is set.
void write_steps(const Clock& clock, const Plan& plan, bool repeats, std::ostream& out);

}  // namespace stowage::exporting
