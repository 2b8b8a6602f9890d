/// Example: two buffers that live together need 96 bytes; without the smaller one they fit into 64.
///
///     stowage::Problem problem;
///     problem.buffers = {{.id = "a", .size = 64, .pieces = {{0, 64, {0, 2}}}},
///                        {.id = "b", .size = 32, .pieces = {{0, 32, {1, 3}}}}};
///     problem.memories = {{.name = "arena", .capacity = 64}};
///     const stowage::SpillAdvice advice = stowage::least_spill(problem, {});
///     return advice.spills.size() == 1 && advice.spills[0].buffer == 1 && advice.bytes == 32 ? 0 : 1;
#pragma once

#include <cstddef>
#include <vector>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage {

/// A buffer that must be elsewhere from position `lower` to before `upper`: for all of its life, or for a part of it.
struct Spill {
  std::size_t buffer = 0;
  Position lower = 0;
  Position upper = 0;
  bool is_whole = false;  ///< It is all of the buffer's life.

  bool operator==(const Spill&) const = default;
};

/// The buffers to move away, or to let live for a shorter time, so that the others fit into a memory.
struct SpillAdvice {
  std::vector<Spill>
      spills{};       ///< In the order of the buffers. Empty: nothing is enough, or nothing is needed.
  Bytes bytes = 0;    ///< Their sizes together.
  Bytes least = 0;    ///< No buffers with fewer bytes than that are enough.
  bool fits = false;  ///< Offsets with these spills were found within the capacity.
};

/// The spills with the fewest bytes after which no more bytes are live than the capacity of the only memory; `least` equals
/// `bytes` if that is proven. Offsets for the rest are then looked for with the options; if there are none, more is
/// spilled. Pinned buffers stay. Throws UsageError unless the problem has one memory with a capacity, and one clock.
[[nodiscard]] SpillAdvice least_spill(const Problem& problem, const SolveOptions& options);

/// The problem with gaps in the lives of spilled buffers.
[[nodiscard]] Problem without_spilled(const Problem& problem, const std::vector<Spill>& spills);

}  // namespace stowage
