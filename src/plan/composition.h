#pragma once

#include <span>
#include <string>
#include <vector>

#include "alias/buffers.h"
#include "lifetime/uses.h"
#include "share/feeds.h"
#include "share/timeline.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// A network by itself: its buffers on a clock of its own.
struct Alone {
  const share::NamedGraph& network;
  const lifetime::Uses& uses;
  const alias::Buffers& buffers;
};

/// Networks together, on the clocks of a timeline.
struct Composition {
  std::vector<Buffer> buffers{};
  std::vector<PlannedTensor> tensors{};  ///< Network by network.
  std::vector<Feed> feeds{};
};

/// Puts the buffers of networks on common clocks; see composition.cc. Fed inputs are in no buffer of their
/// network, nor are fed outputs that `outlives_clock` names.
[[nodiscard]] Composition compose(std::span<const Alone> networks, const share::Timeline& timeline,
                                  std::span<const share::ResolvedFeed> feeds, Bytes alignment_of_feeds);

/// Whether a fed output is still needed when the branch that its model runs in is done.
[[nodiscard]] bool outlives_clock(const share::ModelTensor& output, const share::Timeline& timeline,
                                  std::span<const share::ResolvedFeed> feeds);

}  // namespace stowage::plan
