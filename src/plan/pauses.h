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

/// A piece of a buffer, in numbers of steps.
struct LivePiece {
  std::size_t first = 0;
  std::size_t end = 0;  ///< It is live at steps first to end - 1.
  std::size_t over =
      0;  ///< A pause after one of steps first to over - 1 carries it: end - 1, or end if it goes on in another.
  Bytes bytes = 0;
};

/// Between which steps to pause: numbers of the steps, counted from 1, after which it is, ascending.
struct ChosenPauses {
  std::vector<std::size_t> after{};
  Bytes kept = 0;  ///< The most bytes at one time that one of these pauses carries.
};

/// Chooses pauses between the steps of others, of which there are two at least. At most `every` steps are before the first
/// pause, between two, and behind the last; there is one at least. Bytes that are kept are as few as possible, then so are
/// the pauses, then the sum of the bytes that they carry. See pauses.cc for the cost; above a limit, not what is kept is
/// least, but what is carried over one pause.
[[nodiscard]] ChosenPauses choose_pauses(std::span<const LivePiece> pieces, std::size_t steps,
                                         std::int64_t every);

/// Puts pauses where they need least; see pauses.cc. The plan has the clocks of the timeline, and buffers and views on them.
/// Throws UsageError if nothing can run between the steps of a model.
void insert_pauses(const share::Timeline& timeline, std::span<const share::NamedGraph> networks, Plan& plan);

}  // namespace stowage::plan
