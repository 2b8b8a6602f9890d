#pragma once

#include <string_view>

#include "import/readers.h"
#include "stowage/import.h"
#include "stowage/network.h"

namespace stowage::import {

/// Whether the bytes carry the identifier of a TFLite flatbuffer. Says nothing of their validity.
[[nodiscard]] bool looks_like_tflite(std::string_view bytes);

/// Reads a TFLite model, schema version 3, of a file's whole bytes, which need not be aligned. Tensors
/// come subgraph after subgraph in the file's order, scratch memory after them; the graph has no
/// name. Throws Error, without the file's name, for anything wrong with the model and for a
/// requested shape that contradicts it; UsageError for an option that names what it does not have.
/// Constants, where the options ask for them, lie in the file, or in a copy of it when nothing holds it.
/// `info` is not set.
[[nodiscard]] Input read_tflite(const Source& source, const ImportOptions& options);

/// The same with constants and what else running it needs: the fields of options that the file has, by name;
/// quantizations; and what variables start with, which is a real zero where the file does not say. Throws
/// Error also for those.
[[nodiscard]] Network read_tflite_network(const Source& source, const ImportOptions& options);

}  // namespace stowage::import
