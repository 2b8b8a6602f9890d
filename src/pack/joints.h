#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "stowage/problem.h"

namespace stowage::pack {

/// Buffers at fixed distances from each other; most are alone.
struct Block {
  std::vector<std::size_t> buffers{};  ///< Ascending.
  std::vector<Bytes> offsets{};        ///< Of each of them in the block; one is 0, none is negative.
  Bytes size = 0;
  /// The first byte is `phase` beyond a multiple of this.
  Bytes alignment = 1;
  Bytes phase = 0;
  std::optional<Bytes> pinned{};        ///< Its first byte.
  std::vector<std::size_t> memories{};  ///< Where it may be, ascending.
};

/// All blocks, in the order of their first buffers. Throws Error, naming a buffer, if what lies together contradicts
/// itself.
[[nodiscard]] std::vector<Block> blocks_of(const Problem& problem);

}  // namespace stowage::pack
