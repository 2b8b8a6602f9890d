/// Example: the longest sequence whose arena fits 4 KiB.
///
///     const auto read = [](const stowage::GivenSize& size) {
///       const std::string bytes = std::to_string(16 * size.most);
///       return stowage::parse_input("id,lower,upper,size\na,0,2," + bytes + "\n", "list.csv");
///     };
///     stowage::PlanOptions options;
///     options.memories[0].capacity = 4096;
///     const stowage::SizeFit fit = stowage::fit_size(read, {1, 1000}, options);
///     return fit.largest == 256 && fit.next->lower_bound == 16 * 257 ? 0 : 1;
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage {

/// Reads a model with this number, or range, in place of a size that it leaves open. Throws Error for sizes that the
/// model rejects.
using ReadWithSize = std::function<Input(const GivenSize& size)>;

/// What a model needs at one size.
struct SizedPeak {
  std::int64_t size = 0;
  Bytes peak = 0;
  bool fits = true;
  /// No offsets, and no order of operators if that was searched, have a lower peak.
  Bytes lower_bound = 0;
  ClaimScope scope = ClaimScope::offsets;  ///< Of the bound.
  std::string rejected{};                  ///< Why the model rejects the size; then nothing else is known.
};

/// The peaks at some exact sizes, in their order, until time is up. Each plan gets an equal part of the time that is left.
[[nodiscard]] std::vector<SizedPeak> peaks_at(const ReadWithSize& read, std::span<const std::int64_t> sizes,
                                              const PlanOptions& options);

/// The largest size that fits.
struct SizeFit {
  /// One plan fits for every size of the range up to this one. None: not even the smallest fits.
  std::optional<std::int64_t> largest{};
  Bytes peak = 0;                   ///< Of that plan.
  std::optional<SizedPeak> next{};  ///< The next size, alone; none at the end of the range.
  std::vector<std::int64_t>
      larger{};              ///< Sizes beyond it that fit with plans of their own, of those that were tried.
  std::int64_t singles = 0;  ///< How many sizes beyond it were tried alone.
  std::int64_t last_single = 0;  ///< The largest of them.
  std::int64_t plans = 0;        ///< Made for ranges.
  bool interrupted = false;
};

/// Finds the largest size of the range such that one plan for all sizes up to it fits the capacities. Such plans only
/// grow with the range, peaks of single sizes may fall. Each plan gets a third of the time limit or of the effort, all
/// larger sizes together the same. Throws Error if the model rejects the smallest size.
[[nodiscard]] SizeFit fit_size(const ReadWithSize& read, const GivenSize& range, const PlanOptions& options);

}  // namespace stowage
