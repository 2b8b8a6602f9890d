#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "import/readers.h"
#include "stowage/import.h"

namespace stowage::import {

/// A value as another program has placed it.
struct PlacedValue {
  std::string name{};
  std::size_t memory = 0;  ///< Index in the list's memories.
  Bytes offset = 0;
  Bytes size = 0;
  Lifetime life{};
  bool is_carried = false;  ///< By a loop: one buffer with others of its kind at the same bytes.
};

/// The plan of another program as a list that is pinned to its offsets, with its memories. Values that live at the
/// same time in the same bytes share them on purpose; they become one buffer. Offsets, ends and live ranges are
/// from 0 to `largest_value` / 2. `alignment`, a power of two, is what that program aligns to unless the offsets
/// show less. Throws Error if the values cannot be grouped in acceptable time.
[[nodiscard]] Input list_of(std::vector<PlacedValue> values, std::vector<std::string> memories,
                            Bytes alignment);

/// True if the text is what XLA writes about its buffers.
[[nodiscard]] bool looks_like_xla(std::string_view text);

/// Reads `MODULE-buffer-assignment.txt` of XLA, and the live ranges in `MODULE-live-range.txt` beside it, unless
/// they follow in the same text. `file` is the name of the text. Takes the allocations for temporary values.
/// Throws Error with the line.
[[nodiscard]] Input read_xla(const Source& source, const std::filesystem::path& file);

/// True if the text has a table of allocations as Vela prints it.
[[nodiscard]] bool looks_like_vela(std::string_view text);

/// Reads what Vela prints with --verbose-allocation: the memories of tensors that change. Throws Error with the
/// line.
[[nodiscard]] Input read_vela(const Source& source);

/// True if the bytes have the identifier of an ExecuTorch program; they may still be invalid.
[[nodiscard]] bool looks_like_executorch(std::string_view bytes);

/// Reads the first method of an ExecuTorch program (.pte): its planned tensors, each memory on its own. Live
/// ranges follow from its instructions. Throws Error.
[[nodiscard]] Input read_executorch(const Source& source);

}  // namespace stowage::import
