#pragma once

#include <string_view>

#include "import/readers.h"
#include "stowage/import.h"
#include "stowage/network.h"

namespace stowage::import {

/// True if the bytes have the identifier of a TFLite flatbuffer; they may still be invalid.
[[nodiscard]] bool looks_like_tflite(std::string_view bytes);

/// Reads a TFLite model, schema version 3, from a file's whole bytes, which need not be aligned. Tensors are
/// in file order, subgraph by subgraph, followed by scratch memory; the graph has no name. Throws Error,
/// without the file's name, for an invalid model and for a requested shape that contradicts it; UsageError
/// for an option that names something it does not have. Constants, if the options request them, are in the
/// file, or in a copy of it if nothing holds it. Leaves `info` empty.
[[nodiscard]] Input read_tflite(const Source& source, const ImportOptions& options);

/// The same with constants and all else that running needs: the option fields that the file has, by name;
/// quantizations; and initial values of variables, by default a real zero. Throws Error also for those.
[[nodiscard]] Network read_tflite_network(const Source& source, const ImportOptions& options);

/// The shapes that an operator's outputs really have, if an input that is no constant has them; otherwise empty.
[[nodiscard]] ShapesOfData tflite_shapes_of_data(const Graph& graph, const Operator& op);

}  // namespace stowage::import
