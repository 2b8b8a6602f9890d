#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "share/feeds.h"
#include "share/timeline.h"
#include "stowage/options.h"

namespace stowage::share {

/// An output whose bytes somebody needs when its network has run.
struct KeptOutput {
  ModelTensor output{};
  /// Of all that have these bytes, the inputs that are fed with them, through other networks too.
  std::vector<ModelTensor> inputs{};
  /// Those that are outputs and not released: they are there until everything has run.
  std::vector<ModelTensor> lasting{};
  /// The innermost clock on which all of that is seen.
  std::size_t clock = 0;
};

/// Outputs that are fed or not released, but for constants and state, which nobody writes over; see
/// outputs.cc. What the caller owns (Io::external) is not among them unless it is fed.
[[nodiscard]] std::vector<KeptOutput> kept_outputs(std::span<const NamedGraph> networks,
                                                   const Timeline& timeline,
                                                   std::span<const ResolvedFeed> feeds,
                                                   std::span<const ModelTensor> released, Io io);

}  // namespace stowage::share
