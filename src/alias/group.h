#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::alias {

/// Bytes [begin, end) of a tensor are bytes of `source` from `source_begin` on: those that some
/// operator computed, or the network was given.
struct Fragment {
  Bytes begin = 0;
  Bytes end = 0;
  TensorId source = 0;
  Bytes source_begin = 0;

  bool operator==(const Fragment&) const = default;
};

/// A tensor that would fall into more fragments counts as computed by its operator.
constexpr std::size_t most_fragments = 1024;

/// For each tensor what its bytes are, in rising order and without holes; see group.cc. Nothing for
/// tensors without bytes.
[[nodiscard]] std::vector<std::vector<Fragment>> contents_of(const Graph& graph, const Clock& clock);
/// Copies that the predicate, called with subgraph, operator and copy, refuses count as computed.
[[nodiscard]] std::vector<std::vector<Fragment>> contents_of(
    const Graph& graph, const Clock& clock,
    const std::function<bool(std::size_t, std::size_t, const ByteCopy&)>& is_followed);

/// A tensor and where its first byte is in its group.
struct Member {
  TensorId tensor = 0;
  Bytes offset = 0;
};

/// Bytes that hold one run of a source during one life of a tensor.
struct Box {
  Bytes begin = 0;
  Bytes end = 0;
  Lifetime life{};
  TensorId source = 0;
  Bytes origin = 0;  ///< Where the source's first byte would be.
  TensorId tensor = 0;
};

/// Two tensors that would hold different bytes at one place, and a position at which they would.
struct Clash {
  TensorId first = 0;
  TensorId second = 0;
  Position at = 0;
};

/// Tensors at fixed distances from each other; see group.cc. Addresses are relative and may be
/// negative until the group is laid out.
class Group {
 public:
  /// A tensor alone, at 0. `lives` has one entry per run of its subgraph, in order of time.
  Group(TensorId tensor, const std::vector<Fragment>& content, const std::vector<Lifetime>& lives);

  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] std::size_t size() const { return boxes_.size(); }

  /// What stands in the way of moving `other` by `shift` and joining it. Boxes of the tensor
  /// `overwritten` are needed one position less: what is written there is written over it. Costs least if
  /// `other` is the smaller one.
  [[nodiscard]] std::optional<Clash> clash_with(const Group& other, Bytes shift,
                                                std::optional<TensorId> overwritten) const;

  /// Joins another group, which is empty afterwards. They must not clash.
  void join(Group& other, Bytes shift);

  /// Takes the last position from each of these lives of a tensor, which are all it has.
  void shorten(TensorId tensor, const std::vector<Lifetime>& lives);

  /// The bytes that are needed and when: disjoint, in order of time, then of address.
  [[nodiscard]] std::vector<Piece> pieces() const;

 private:
  void update_reach(std::size_t from);

  std::vector<Member> members_;
  std::vector<Box> boxes_;       ///< By lower end of life.
  std::vector<Position> reach_;  ///< Latest end of life up to each box.
};

}  // namespace stowage::alias
