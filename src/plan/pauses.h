#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "share/feeds.h"
#include "share/timeline.h"
#include "stowage/plan.h"
#include "stowage/units.h"

namespace stowage::plan {

/// Between which steps to pause: numbers of the steps, counted from 1, after which it is, ascending.
struct ChosenPauses {
  std::vector<std::size_t> after{};
  Bytes carried = 0;  ///< The most bytes at one of them.
};

/// Chooses pauses between the steps of others. `carried` has the bytes after each step but the last, at least one. At most
/// `every` steps are before the first pause, between two, and behind the last; there is one at least. The most bytes at one
/// of them are as few as possible, then so are the pauses, then the sum of their bytes. Cost: linear.
[[nodiscard]] ChosenPauses choose_pauses(std::span<const Bytes> carried, std::int64_t every);

/// Puts pauses where they need least; see pauses.cc. The plan has the clocks of the timeline, and buffers and views on them.
/// Throws UsageError if nothing can run between the steps of a model.
void insert_pauses(const share::Timeline& timeline, std::span<const share::NamedGraph> networks, Plan& plan);

}  // namespace stowage::plan
