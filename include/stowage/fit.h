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
  bool by_rows = false;      ///< Operators run row by row in this plan.
  bool interrupted = false;  ///< The search for this plan was cut short.
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
  /// One plan fits for every size of the range up to this one; if `is_alone`, a plan for this size. None: not even the
  /// smallest fits.
  std::optional<std::int64_t> largest{};
  /// Rows were asked for. Operators with open sizes run as wholes, so each size that was tried has a plan of its own.
  bool is_alone = false;
  bool by_rows = false;             ///< Operators run row by row in the plan for the largest size.
  Bytes peak = 0;                   ///< Of that plan.
  std::optional<SizedPeak> next{};  ///< The next size, alone; none at the end of the range.
  std::vector<std::int64_t>
      larger{};              ///< Sizes beyond it that fit with plans of their own, of those that were tried.
  std::int64_t singles = 0;  ///< How many sizes beyond it were tried alone.
  std::int64_t last_single = 0;  ///< The largest of them.
  std::int64_t untried = 0;      ///< Sizes beyond it for which there was no time.
  std::int64_t plans = 0;        ///< Made to find the largest size.
  /// A larger size may fit, for the time ended: before all sizes were tried that decide, or before the plan for the first
  /// size that did not fit was done.
  bool is_cut_short = false;
  bool interrupted = false;  ///< By the caller.
};

/// Finds the largest size of the range such that one plan for all sizes up to it fits the capacities. Such plans only
/// grow with the range, peaks of single sizes may fall. By rows it finds a size that fits alone and a larger one that does
/// not, as near as the time allows. All plans share the time limit, and at least one is made; of an effort, each for a range
/// gets a third. Throws Error if the model rejects the smallest size.
[[nodiscard]] SizeFit fit_size(const ReadWithSize& read, const GivenSize& range, const PlanOptions& options);

}  // namespace stowage
