#pragma once

#include <string_view>

#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage::import {

/// Reads graph JSON (docs/graph-json.md). Throws Error with the place, UsageError for options that
/// this format has no use for.
[[nodiscard]] Graph read_graph_json(std::string_view text, const ImportOptions& options);

}  // namespace stowage::import
