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

}  // namespace stowage::share
