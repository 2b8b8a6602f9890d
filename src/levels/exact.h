#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "levels/memories.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::levels {

enum class Answer { yes, no, unknown };

/// Whether buffers of one piece each, which is all of the buffer, fit into so many bytes. Unknown: the work
/// it may take is done. Their offsets, if they do.
struct Packability {
  Answer answer = Answer::unknown;
  std::vector<Bytes> offsets{};  ///< In the given order.
};
[[nodiscard]] Packability packability(std::span<const Buffer* const> buffers, Bytes capacity,
                                      std::int64_t& budget);

/// As many as are served that are ever alive.
constexpr std::size_t most_exact_buffers = 14;

/// One piece that is ever alive, and it is all of the buffer.
[[nodiscard]] bool is_whole(const Buffer& buffer);

struct Exact {
  std::vector<Place>
      places{};            ///< Of the least cost; empty: none was found that costs less than was asked for.
  bool is_proven = false;  ///< There is nothing that costs less than them, or than was asked for.
};

/// The least cost below a given one; see exact.cc. None: the problem is too large for it.
[[nodiscard]] std::optional<Exact> exact(const Problem& problem, const Choices& choices, std::int64_t below);

}  // namespace stowage::levels
