#pragma once

#include <vector>

#include "alias/group.h"
#include "lifetime/lives.h"
#include "stowage/graph.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage::alias {

struct Options {
  /// Whether to share at all. `automatic` shares like `all`: what that costs only a packer can tell.
  Alias alias = Alias::none;
  Target target = Target::any;
  /// What kernels expect the addresses of tensors to be multiples of.
  Bytes alignment = 1;
  /// Per tensor, whether it is to have memory apart from what its operator reads. Empty: none.
  std::vector<bool> apart{};
  std::size_t model = 0;  ///< The network's index in the plan.
};

/// Tensors that lie in one buffer. Offsets are from its beginning.
struct Shared {
  std::vector<Member> members;
  std::vector<Piece> pieces;
  Bytes end = 0;  ///< Of the last byte of any member.
};

struct Sharing {
  /// Every tensor of the arena is in one of them, in the order of their first tensors.
  std::vector<Shared> groups;
  /// For each tensor its lives; the position at which it is written over is not one of them.
  std::vector<std::vector<Lifetime>> lives;
  /// For each tensor the bytes of it that steps would read or write, but for what is not copied any more.
  std::vector<Bytes> spared;
  CopiesRemoved removed;
  std::vector<KeptCopy> kept;
};

/// Decides which tensors share bytes; see sharing.cc.
[[nodiscard]] Sharing share(const Graph& graph, const Clock& clock, const lifetime::Uses& uses,
                            const std::vector<lifetime::Residence>& residences, const Options& options);

}  // namespace stowage::alias
