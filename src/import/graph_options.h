#pragma once

#include <string_view>
#include <vector>

#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage::import {

/// Ties outputs to the inputs of the next run. Throws UsageError for a name the network does not
/// have as an output or input.
void add_states(Graph& graph, const std::vector<StateNames>& states);

/// Gives operators the scratch memory that is asked for. Throws UsageError for one that does not
/// exist.
void add_scratch(Graph& graph, const std::vector<ScratchRequest>& requests);

/// Throws UsageError when dimensions, shapes or bounds are given for a format without open ones.
void refuse_shape_options(const ImportOptions& options, std::string_view format);

}  // namespace stowage::import
