// Numbers of rows of operators are quotients of sizes: windows with strides divide, transposed ones multiply. For a
// divisor d, floor((a n + b) / d) = c at the sizes (n, c) means
//
//     d c <= a n + b < d c + d        for all of them
//
// The factor a is near d times the slope between the smallest size and the largest, and then b is in an interval.

#include "plan/step_counts.h"

#include <algorithm>
#include <limits>

namespace stowage::plan {
namespace {

using Steps = std::map<std::int64_t, std::int64_t>;

/// b is the largest that fits, so that a window of k rows without padding has n + 1 - k steps also where that is none.
std::optional<StepCount> with_factor(const Steps& all, std::int64_t times, std::int64_t over) {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const auto& [size, steps] : all) {
    least = std::max(least, over * steps - times * size);
    most = std::min(most, over * steps - times * size + over - 1);
  }
  if (least > most) return std::nullopt;
  return StepCount{times, most, over};
}

}  // namespace

std::optional<StepCount> step_count_of(const Steps& all) {
  constexpr std::int64_t largest_divisor = 1024;
  constexpr std::int64_t largest_product = std::int64_t{1} << 40;
  constexpr std::int64_t largest_factor = std::int64_t{1} << 20;
  if (all.empty()) return std::nullopt;
  const std::int64_t sizes = all.rbegin()->first - all.begin()->first;
  const std::int64_t steps = all.rbegin()->second - all.begin()->second;
  if (sizes > largest_product || steps > largest_product || steps < 0) return std::nullopt;
  for (std::int64_t over = 1; over <= largest_divisor; ++over) {
    const std::int64_t about = sizes == 0 ? 0 : over * steps / sizes;
    for (const std::int64_t times : {about, about + 1, about - 1}) {
      if (times < 0 || times > largest_factor) continue;
      if (const auto found = with_factor(all, times, over)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace stowage::plan
