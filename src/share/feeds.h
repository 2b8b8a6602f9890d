#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "share/timeline.h"
#include "stowage/graph.h"
#include "stowage/options.h"

namespace stowage::share {

/// A network and its name.
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

  auto operator<=>(const ResolvedFeed&) const = default;
};

/// The output and the input that an option such as `--feed` names, in their models. Throws UsageError unless they are
/// there, of one element type and size, and not constant.
[[nodiscard]] ResolvedFeed resolve_names(const std::string& option, const FeedNames& names,
                                         std::span<const NamedGraph> networks);

/// Finds the tensors that `--feed` names. Throws UsageError unless each is an output of one network and the
/// input of another that runs after it, both have one element type and size, no input is fed twice, and none
/// of them is constant or state.
[[nodiscard]] std::vector<ResolvedFeed> resolve_feeds(std::span<const FeedNames> feeds,
                                                      std::span<const NamedGraph> networks,
                                                      const Timeline& timeline);

/// The same for `--join`, of networks that run together; with equal shapes and values, these are one tensor.
[[nodiscard]] std::vector<ResolvedFeed> resolve_joins(std::span<const FeedNames> joins,
                                                      std::span<const NamedGraph> networks);

/// Finds the tensors that `--release` names, in the order of networks. Throws UsageError unless each is an
/// output of one network, named once, and neither constant nor state.
[[nodiscard]] std::vector<ModelTensor> resolve_released(std::span<const std::string> names,
                                                        std::span<const NamedGraph> networks);

/// An output whose bytes are needed after its network has run.
struct KeptOutput {
  ModelTensor output{};
  /// The inputs that are fed with these bytes, through other networks too.
  std::vector<ModelTensor> inputs{};
  /// The outputs with these bytes that are not released: they stay until everything has run.
  std::vector<ModelTensor> lasting{};
  /// The innermost clock that covers all of these.
  std::size_t clock = 0;
};

/// Outputs that are fed or not released; see feeds.cc. Excludes constants and state, which no operator writes
/// over, and outputs that the caller owns (Io::external), unless they are fed. `shared` are tensors of state that
/// several models share.
[[nodiscard]] std::vector<KeptOutput> kept_outputs(std::span<const NamedGraph> networks,
                                                   const Timeline& timeline,
                                                   std::span<const ResolvedFeed> feeds,
                                                   std::span<const ModelTensor> released,
                                                   const std::set<ModelTensor>& shared, Io io);

}  // namespace stowage::share
