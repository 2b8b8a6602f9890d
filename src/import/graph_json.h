#pragma once

#include "import/readers.h"
#include "stowage/import.h"

namespace stowage::import {

/// Reads graph JSON (docs/graph-json.md), and the data of its constants if the options ask for them. Throws
/// Error with the place, UsageError for options that this format has no use for. `info` is not set.
[[nodiscard]] Input read_graph_json(const Source& source, const ImportOptions& options);

}  // namespace stowage::import
