#pragma once

#include <iosfwd>

#include "stowage/export.h"
#include "stowage/plan.h"

namespace stowage::exporting {

/// Writes the header of a plan of a buffer list. The prefix is a C identifier.
void write_buffers_header(const Plan& plan, const HeaderOptions& options, std::ostream& out);

}  // namespace stowage::exporting
