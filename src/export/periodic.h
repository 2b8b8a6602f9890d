#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stowage/plan.h"

namespace stowage::exporting {

/// Steps [first, first + period) that run `count` times; each time the rows of step i move on by advance[i].
struct Repetition {
  std::size_t first = 0;
  std::size_t period = 1;
  std::size_t count = 1;
  std::vector<std::int64_t> advance{0};
};

/// All steps, each in one repetition; see periodic.cc.
[[nodiscard]] std::vector<Repetition> repetitions_of(std::span<const Step> steps);

/// Buffers [first, first + count) that are row blocks of one tensor: "NAME[index]", "NAME[index + 1]", ..., of
/// one size, alignment, kind, clock and memory, each with one piece at its begin.
struct BlockRun {
  std::string name{};
  std::size_t index = 0;
  std::size_t count = 1;
};

/// The longest run from a buffer on; none if it is less than two, or the plan does not stream.
[[nodiscard]] std::optional<BlockRun> blocks_from(const Plan& plan, std::size_t first);

/// The longest run from a view on whose buffers are row blocks as above, of rows that follow each other.
[[nodiscard]] std::optional<BlockRun> views_from(const Plan& plan, std::span<const View> views,
                                                 std::size_t first);

}  // namespace stowage::exporting
