/// Naive answers to what src/pack answers fast, and written without it: every pair of pieces is
/// compared, every offset tried, every position looked at.
///
///     const Problem problem = oracle::random_problem(7);
///     const std::vector<Bytes> offsets = oracle::place(problem, "greedy-by-size");
///     return oracle::fault_of(problem, offsets) == std::nullopt ? 0 : 1;
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::oracle {

/// What is wrong with placing each buffer at its offset, in words; none: the placing is valid.
[[nodiscard]] std::optional<std::string> fault_of(const Problem& problem, std::span<const Bytes> offsets);

/// Highest offset + size over all buffers, those that are never alive too.
[[nodiscard]] Bytes peak_of_offsets(const Problem& problem, std::span<const Bytes> offsets);

/// Live bytes at one position.
[[nodiscard]] Bytes load_at(std::span<const Buffer> buffers, Position at);

/// Most live bytes, by looking at every position at which something begins.
[[nodiscard]] Bytes max_load(std::span<const Buffer> buffers);

/// The least peak that any valid placing has. Exponential: for a handful of small buffers.
[[nodiscard]] Bytes optimal_peak(const Problem& problem);

/// Bytes [begin, end) that are not to be had during `life`.
struct Taken {
  Lifetime life{};
  Bytes begin = 0;
  Bytes end = 0;
};

/// Adds what the pieces of the buffer take.
void reserve(std::vector<Taken>& taken, const Buffer& buffer, Bytes offset);

/// For every offset up to the end of all that is taken, whether the buffer could lie there,
/// alignment aside; above, everything is free.
using FreeOffsets = std::vector<char>;

/// Asks about each offset anew. Cost: offsets * taken * pieces.
[[nodiscard]] FreeOffsets free_one_by_one(std::span<const Taken> taken, const Buffer& buffer);

/// Crosses out what each taken box forbids: the same, for larger problems.
[[nodiscard]] FreeOffsets free_by_crossing_out(std::span<const Taken> taken, const Buffer& buffer);

/// The first multiple of the alignment that is free.
[[nodiscard]] Bytes lowest_fit(const FreeOffsets& free, Bytes alignment);

/// A gap is a run of free offsets, its room how far one can move in it. Of the bounded gaps with a
/// multiple of the alignment in them the one with the least room, of those the lowest; the open
/// end when there is none.
[[nodiscard]] Bytes tightest_fit(const FreeOffsets& free, Bytes alignment);

/// All buffers in the order in which the named strategy places them.
[[nodiscard]] std::vector<std::size_t> order_of(const Problem& problem, std::string_view strategy);

enum class Method { one_by_one, crossing_out };

/// The offsets that the named strategy is to find.
[[nodiscard]] std::vector<Bytes> place(const Problem& problem, std::string_view strategy,
                                       Method method = Method::one_by_one);

}  // namespace stowage::oracle
