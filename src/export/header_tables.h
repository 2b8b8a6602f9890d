#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::exporting {

/// The text with everything that C does not allow in names replaced, in capitals.
[[nodiscard]] std::string macro_name(std::string_view text);

/// Definitions of a header's tables, for the declarations in header.cc.
void write_header_tables(const Plan& plan, std::span<const Graph> graphs, const std::string& prefix,
                         std::ostream& out);

}  // namespace stowage::exporting
