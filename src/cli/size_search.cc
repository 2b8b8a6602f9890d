// The sizes that a model accepts, found by reading it. Windows need a least size, so the smallest is found by halves;
// models that halve or reshape their input accept every n-th size only, so steps are tried, too.

#include "cli/size_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stowage::cli {

bool is_range(const GivenSize& size) { return size.least && *size.least < size.most; }

std::string in_digits(const GivenSize& size) {
  if (!size.least) return std::to_string(size.most);
  const std::string range = fmt::format("{}..{}", *size.least, size.most);
  return size.step == 1 ? range : fmt::format("{}:{}", range, size.step);
}

std::optional<GivenSize> accepted_range(const AcceptsSize& accepts, const GivenSize& range) {
  constexpr std::array<std::int64_t, 14> steps{1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512};
  constexpr std::array<std::int64_t, 5> some_steps{2, 3, 5, 9, 17};
  const std::int64_t begin = range.least.value_or(range.most);
  const auto takes = [&](std::int64_t size) { return accepts({size, size}); };
  if (!takes(range.most)) return std::nullopt;
  for (const std::int64_t step : steps) {
    if (range.most - step < begin || !takes(range.most - step)) continue;
    std::int64_t rejected = (range.most - begin) / step + 1, accepted = 1;  // whole steps below the largest
    while (rejected - accepted > 1) {
      const std::int64_t middle = accepted + (rejected - accepted) / 2;
      (takes(range.most - middle * step) ? accepted : rejected) = middle;
    }
    // 2047 and 2048 may be taken, and 2043 not: 2048 by steps of 32.
    const bool takes_others = std::ranges::all_of(some_steps, [&](std::int64_t steps_below) {
      return steps_below > accepted || takes(range.most - steps_below * step);
    });
    if (takes_others) return GivenSize(range.most - accepted * step, range.most, step);
  }
  return GivenSize(range.most, range.most);
}

}  // namespace stowage::cli
