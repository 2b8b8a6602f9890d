#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "lifetime/lives.h"
#include "share/feeds.h"
#include "share/states.h"
#include "share/timeline.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// A network alone, on a clock of its own, by whole operators or by rows.
struct Alone {
  const share::NamedGraph& network;
  const lifetime::Uses& uses;  ///< Of whole operators; tells of tensors that pass from network to network.
  Position end = 0;            ///< Steps of its clock.
  bool is_by_rows = false;
  std::vector<bool> leaves{};  ///< By rows: tensors that the caller has taken when it has run.
  std::map<TensorId, Buffer>
      fed{};  ///< By rows: pieces of inputs that another network feeds, while it reads them.
  std::vector<Buffer> buffers{};
  std::vector<PlannedTensor> tensors{};  ///< Of all its tensors, in the order of the graph.
};

/// Tensors that networks feed to each other, release, or keep.
struct Passing {
  std::vector<share::ResolvedFeed> feeds{};
  std::vector<share::ModelTensor> released{};
  std::vector<share::KeptOutput> kept{};
  std::vector<share::SharedState> states{};
};

/// Networks on the common clocks of a timeline.
struct Composition {
  std::vector<Buffer> buffers{};
  std::vector<std::size_t> first_buffer{};  ///< Of each network.
  std::vector<PlannedTensor> tensors{};     ///< Network by network.
  std::vector<Feed> feeds{};
  std::vector<Feed> states{};
  std::vector<std::size_t> released{};
};

/// Puts the buffers of networks on common clocks; see composition.cc. A network's own buffers hold neither
/// fed inputs nor outputs kept on an outer clock, which are whole in the buffers that this adds or keeps, nor state that
/// several networks share. The buffers that this adds get `alignment`.
[[nodiscard]] Composition compose(std::vector<Alone> networks, const share::Timeline& timeline,
                                  const Passing& passing, Bytes alignment);

}  // namespace stowage::plan
