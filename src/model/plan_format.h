#pragma once

#include <cstddef>

#include "stowage/plan.h"

namespace stowage::model {

/// Steps, numbers of lists and row blocks that entries of a plan file stand for, at most: a file of a few bytes
/// must not fill the memory. Larger plans are written step by step and block by block.
inline constexpr std::size_t most_repeated = std::size_t{1} << 20;

/// Repetitions within repetitions.
inline constexpr std::size_t deepest_repetition = 8;

/// As how many a row block counts, by the bytes of its name, and a step, by those of its path.
[[nodiscard]] std::size_t counted(std::size_t bytes);
[[nodiscard]] std::size_t counted(const Step& step);

}  // namespace stowage::model
