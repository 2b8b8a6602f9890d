#pragma once

#include <span>
#include <string>
#include <vector>

#include "alias/buffers.h"
#include "lifetime/lives.h"
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

/// What networks pass to each other and leave to the caller.
struct Passing {
  std::vector<share::ResolvedFeed> feeds{};
  std::vector<share::ModelTensor> released{};
  std::vector<share::KeptOutput> kept{};
};

/// Networks together, on the clocks of a timeline.
struct Composition {
  std::vector<Buffer> buffers{};
  std::vector<PlannedTensor> tensors{};  ///< Network by network.
  std::vector<Feed> feeds{};
  std::vector<std::size_t> released{};
};

/// Puts the buffers of networks on common clocks; see composition.cc. Fed inputs are in no buffer of their
/// network, nor are outputs that are kept on a clock around theirs. `alignment` is that of such buffers.
[[nodiscard]] Composition compose(std::span<const Alone> networks, const share::Timeline& timeline,
                                  const Passing& passing, Bytes alignment);

}  // namespace stowage::plan
