#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stowage/offset_functions.h"

namespace stowage::plan {

/// Values of all symbols, one for each.
using SizeValues = std::vector<std::int64_t>;

struct SizeSamples {
  std::vector<SizeValues> values{};
  bool is_every_size = false;  ///< Of the ranges.
};

/// Sizes to read a model at, always the same ones, the largest first: all of them if they are few; else, for each
/// symbol, those next to its largest and its least one, so that remainders of divisions show, and some at random.
[[nodiscard]] SizeSamples size_samples(std::span<const SizeSymbol> symbols);

/// Whether they are so few that each may be tried, 65536 at most.
[[nodiscard]] bool may_try_each(std::span<const SizeSymbol> symbols);

/// All others. The sizes are few enough for that.
[[nodiscard]] std::vector<SizeValues> all_others(std::span<const SizeSymbol> symbols,
                                                 std::span<const SizeValues> samples);

/// So many other ones at random, perhaps fewer.
[[nodiscard]] std::vector<SizeValues> other_samples(std::span<const SizeSymbol> symbols,
                                                    std::span<const SizeValues> samples, std::size_t count);

}  // namespace stowage::plan
