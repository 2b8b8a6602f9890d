#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "export/json.h"
#include "export/repetition.h"
#include "stowage/plan.h"

namespace stowage::exporting {

/// Whether the plan is small enough for entries that stand for several steps, numbers or row blocks: a reader
/// takes only so many.
[[nodiscard]] bool may_repeat(const Plan& plan);

/// The steps as items: their numbers are the first of the rows and the first of the block.
[[nodiscard]] std::vector<Item> items_of(std::span<const Step> steps);

/// Numbers as differences: see docs/plan-json.md. Those that repeat are written once, if `repeats` is set.
[[nodiscard]] Json list_of(std::span<const std::int64_t> numbers, bool repeats);

/// Buffers [first, first + count) that are row blocks of one tensor: "NAME[index]", "NAME[index + 1]", ..., of
/// one size, alignment, kind, clock and memory, each with one piece at its begin.
struct BlockRun {
  std::string name{};
  std::size_t index = 0;
  std::size_t count = 1;

  bool operator==(const BlockRun&) const = default;
};

/// The longest run from a buffer on; none if it is less than two, or the plan does not stream.
[[nodiscard]] std::optional<BlockRun> blocks_from(const Plan& plan, std::size_t first);

/// Views that one entry stands for: of one buffer or of row blocks that follow each other, and the same of other
/// buffers, with blocks that follow each other.
struct ViewRun {
  std::vector<std::string> buffers{};  ///< Names of the buffers, or of the row blocks.
  std::optional<std::size_t> index{};  ///< Of the first row block.
  std::size_t blocks = 1;              ///< Row blocks of each name.

  [[nodiscard]] std::size_t count() const { return buffers.size() * blocks; }
};

/// The longest run from the first view on.
[[nodiscard]] ViewRun views_from(const Plan& plan, std::span<const View> views);

}  // namespace stowage::exporting
