#pragma once

#include <span>
#include <vector>

#include "alias/group.h"
#include "lifetime/lives.h"
#include "stowage/graph.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage::alias {

struct Options {
  /// Whether to share at all. `automatic` shares like `all`: only a packer can tell the cost.
  Alias alias = Alias::none;
  Target target = Target::any;
  /// Kernels expect addresses of tensors to be multiples of this.
  Bytes alignment = 1;
  /// Per tensor, whether it must not share with the inputs of its operator. Empty: none.
  std::vector<bool> apart{};
  std::vector<TensorId> placed{};  ///< Their offsets are given, so they stay where they are at all sizes.
  std::size_t model = 0;           ///< The network's index in the plan.
};

/// Tensors in one buffer. Offsets are from its beginning.
struct Shared {
  std::vector<Member> members;
  std::vector<Piece> pieces;
  Bytes end = 0;  ///< Of the last byte of any member.
};

struct Sharing {
  /// Every tensor of the arena is in one of them; sorted by their first tensors.
  std::vector<Shared> groups;
  /// Per tensor its lives, without the position at which it is written over. A result that is made in place has
  /// several in a run: where branches hand it over, and from there on.
  std::vector<std::vector<Lifetime>> lives;
  /// Per tensor, how it moves in its buffer with open extents (model/motions.h); offsets are those at the largest. Empty:
  /// nothing moves.
  std::vector<model::Motion> moves;
  /// Per tensor the bytes that steps no longer read or write because copies are removed.
  std::vector<Bytes> spared;
  CopiesRemoved removed;
  std::vector<KeptCopy> kept;
};

/// Decides which tensors share bytes; see sharing.cc. `operators` are those that run.
[[nodiscard]] Sharing share(const Graph& graph, std::span<const lifetime::OperatorId> operators,
                            const lifetime::Uses& uses, const std::vector<lifetime::Residence>& residences,
                            const Options& options);

}  // namespace stowage::alias
