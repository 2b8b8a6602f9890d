#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pack/memories/memories.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::memories {

enum class Answer { yes, no, unknown };

/// Whether buffers of one piece each, which is all of the buffer, fit into so many bytes, with their offsets
/// if they do. Unknown: the work budget is used up.
struct Packability {
  Answer answer = Answer::unknown;
  std::vector<Bytes> offsets{};  ///< In the given order.
};
[[nodiscard]] Packability packability(std::span<const Buffer* const> buffers, Bytes capacity,
                                      std::int64_t& budget);

/// The most ever-alive buffers that the search serves.
constexpr std::size_t most_exact_buffers = 14;

/// Whether the buffer has one piece that is ever alive, and it is all of the buffer.
[[nodiscard]] bool is_whole(const Buffer& buffer);

struct Exact {
  std::vector<Place> places{};  ///< Of the least cost; empty: none found that costs less than `below`.
  bool is_proven = false;       ///< Nothing costs less than them, or than `below`.
};

/// The least cost below a given one; see exact.cc. None: the problem is too large.
[[nodiscard]] std::optional<Exact> exact(const Problem& problem, const Choices& choices, std::int64_t below);

}  // namespace stowage::memories
