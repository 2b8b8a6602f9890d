#pragma once

#include "import/tflite_tables.h"
#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage::import {

/// Folds operators that only say what a constant stands for, such as DEQUANTIZE and DENSIFY. Their results become
/// weights.
void fold_decoders(Graph& graph);

/// Folds operators all of whose results are known: SHAPE, and what is computed of it. Results become weights, and the
/// others are no longer in `known`.
void fold_known(Graph& graph, KnownResults& known);

/// The file's data for weights, instructions and variables, in place, but for sparse ones, which are expanded; and how
/// results of folded operators are computed, if they are not known. Throws Error unless data and tensor have equal
/// sizes.
[[nodiscard]] Constants constants_of(const TfliteFile& file, const ReadGraph& read);

}  // namespace stowage::import
