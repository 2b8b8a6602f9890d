#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stowage/offset_functions.h"

namespace stowage::model {

/// The least and the greatest result of a term.
using TermRange = std::pair<std::int64_t, std::int64_t>;

/// The result of a term that uses these results of earlier ones. None: it overflows, or a quotient is of a negative
/// number.
[[nodiscard]] std::optional<std::int64_t> result_of(const SizeTerm& term,
                                                    std::span<const std::int64_t> earlier,
                                                    std::span<const std::int64_t> symbols);

/// Bounds of a term by those of earlier ones, not always the closest. None: a result, or one on the way to it, may be
/// beyond `largest_value`, or a quotient may be of a negative number.
[[nodiscard]] std::optional<TermRange> range_of(const SizeTerm& term, std::span<const TermRange> earlier,
                                                std::span<const SizeSymbol> symbols);

/// A number for each term that divides its results for all sizes in the ranges, not always the greatest. 0: the result
/// is 0.
[[nodiscard]] std::vector<std::int64_t> divisors_of(std::span<const SizeTerm> terms,
                                                    std::span<const SizeSymbol> symbols);

/// The results of all terms. Throws Error where there is none.
[[nodiscard]] std::vector<std::int64_t> results_of(std::span<const SizeTerm> terms,
                                                   std::span<const std::int64_t> symbols);

/// Throws UsageError for values that are not in the ranges.
void expect_in_range(std::span<const SizeSymbol> symbols, std::span<const std::int64_t> values);

/// The term over names of what it uses: "64*n + 3".
[[nodiscard]] std::string text_of(const SizeTerm& term, std::span<const std::string> earlier,
                                  std::span<const SizeSymbol> symbols);

}  // namespace stowage::model
