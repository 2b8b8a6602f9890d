#pragma once

#include "import/readers.h"
#include "stowage/import.h"

namespace stowage::import {

/// Reads graph JSON (docs/graph-json.md), and the data of its constants if the options request them. Throws
/// Error with the place, and UsageError for options that do not apply to this format. Leaves `info` empty.
[[nodiscard]] Input read_graph_json(const Source& source, const ImportOptions& options);

}  // namespace stowage::import
