#pragma once

#include "import/tflite_tables.h"
#include "stowage/graph.h"

namespace stowage::import {

/// Variables become state: VAR_HANDLE and CALL_ONCE take no step, READ_VARIABLE and ASSIGN_VARIABLE have the state in
/// place of its handle. Changes nothing unless all variables can be such state: each has a first value that CALL_ONCE
/// assigns to it, a constant, and nothing but the main subgraph uses it.
[[nodiscard]] FirstValues join_variables(const tflite::Model& model, Graph& graph);

}  // namespace stowage::import
