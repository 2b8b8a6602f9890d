#pragma once

#include <cstddef>

namespace stowage::model {

/// Steps that the repetitions of a plan file stand for, at most: a file of a few bytes must not fill the memory.
/// Longer plans are written step by step.
inline constexpr std::size_t most_repeated_steps = std::size_t{1} << 20;

}  // namespace stowage::model
