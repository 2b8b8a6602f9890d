#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "share/timeline.h"
#include "stowage/graph.h"
#include "stowage/options.h"

namespace stowage::share {

/// A network and what it is called.
struct NamedGraph {
  const std::string& name;
  const Graph& graph;
};

struct ModelTensor {
  std::size_t model = 0;
  TensorId tensor = 0;

  auto operator<=>(const ModelTensor&) const = default;
};

/// An output of a model that is the input of another.
struct ResolvedFeed {
  ModelTensor output{};
  ModelTensor input{};
};

/// Finds the tensors that `--feed` names. Throws UsageError unless each is an output of one network and the
/// input of another that runs after it, both have one element type and size, no input is fed twice, and none
/// of them is constant or state.
[[nodiscard]] std::vector<ResolvedFeed> resolve_feeds(std::span<const FeedNames> feeds,
                                                      std::span<const NamedGraph> networks,
                                                      const Timeline& timeline);

/// Finds the tensors that `--release` names, in the order of networks. Throws UsageError unless each is an
/// output of one network, named once, and neither constant nor state.
[[nodiscard]] std::vector<ModelTensor> resolve_released(std::span<const std::string> names,
                                                        std::span<const NamedGraph> networks);

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
/// feeds.cc. What the caller owns (Io::external) is not among them unless it is fed.
[[nodiscard]] std::vector<KeptOutput> kept_outputs(std::span<const NamedGraph> networks,
                                                   const Timeline& timeline,
                                                   std::span<const ResolvedFeed> feeds,
                                                   std::span<const ModelTensor> released, Io io);

}  // namespace stowage::share
