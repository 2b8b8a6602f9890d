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

/// A network alone: its buffers on a clock of its own.
struct Alone {
  const share::NamedGraph& network;
  const lifetime::Uses& uses;
  const alias::Buffers& buffers;
};

/// Tensors that networks feed to each other, release, or keep.
struct Passing {
  std::vector<share::ResolvedFeed> feeds{};
  std::vector<share::ModelTensor> released{};
  std::vector<share::KeptOutput> kept{};
};

/// Networks on the common clocks of a timeline.
struct Composition {
  std::vector<Buffer> buffers{};
  std::vector<PlannedTensor> tensors{};  ///< Network by network.
  std::vector<Feed> feeds{};
  std::vector<std::size_t> released{};
};

/// Puts the buffers of networks on common clocks; see composition.cc. A network's own buffers hold neither
/// fed inputs nor outputs kept on an outer clock. The buffers of such outputs get `alignment`.
[[nodiscard]] Composition compose(std::span<const Alone> networks, const share::Timeline& timeline,
                                  const Passing& passing, Bytes alignment);

}  // namespace stowage::plan
