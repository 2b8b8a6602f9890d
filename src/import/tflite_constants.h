#pragma once

#include "import/tflite_tables.h"
#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage::import {

/// Folds operators that only say what a constant stands for, such as DEQUANTIZE and DENSIFY. Their results become
/// weights.
void fold_decoders(Graph& graph);

/// The file's data for weights, instructions and variables, in place, but for sparse ones, which are expanded; and how
/// results of folded operators are computed. Throws Error unless data and tensor have equal sizes.
[[nodiscard]] Constants constants_of(const TfliteFile& file, const Graph& graph,
                                     const FirstValues& first_values);

}  // namespace stowage::import
