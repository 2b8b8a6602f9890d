#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "lifetime/lives.h"
#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::alias {

/// Bytes [begin, end) of a tensor are bytes of `source` from `source_begin` on. An operator computed them, or
/// they are an input of the network.
struct Fragment {
  Bytes begin = 0;
  Bytes end = 0;
  TensorId source = 0;
  Bytes source_begin = 0;

  bool operator==(const Fragment&) const = default;
};

/// A tensor with more fragments counts as computed by its operator.
constexpr std::size_t most_fragments = 1024;

/// The fragments of each tensor, in rising order and without holes; see group.cc. Nothing for tensors without
/// bytes. `operators` are those that run, in the order of their first steps.
[[nodiscard]] std::vector<std::vector<Fragment>> contents_of(const Graph& graph,
                                                             std::span<const lifetime::OperatorId> operators);
/// Copies for which the predicate (of subgraph, operator and copy) is false count as computed.
[[nodiscard]] std::vector<std::vector<Fragment>> contents_of(
    const Graph& graph, std::span<const lifetime::OperatorId> operators,
    const std::function<bool(std::size_t, std::size_t, const ByteCopy&)>& is_followed);

/// A tensor and the offset of its first byte in its group.
struct Member {
  TensorId tensor = 0;
  Bytes offset = 0;
};

/// Bytes that hold consecutive bytes of a source during one life of a tensor.
struct Box {
  Bytes begin = 0;
  Bytes end = 0;
  Lifetime life{};
  TensorId source = 0;
  Bytes origin = 0;  ///< The address of the source's first byte.
  TensorId tensor = 0;
  bool is_held = false;  ///< In a branch, for the copy at its end: no reader writes over it.
};

/// Two tensors that would hold different bytes at one address, and a position at which they would.
struct Clash {
  TensorId first = 0;
  TensorId second = 0;
  Position at = 0;
};

/// Tensors at fixed distances from each other; see group.cc. Addresses are relative and may be negative until
/// the group is laid out.
class Group {
 public:
  /// A tensor alone, at 0. `lives` has one entry per run of its subgraph, in order of time. `held` is when it is
  /// held besides (ResultLives).
  Group(TensorId tensor, const std::vector<Fragment>& content, const std::vector<Lifetime>& lives,
        const std::vector<Lifetime>& held = {});

  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] std::size_t size() const { return boxes_.size(); }

  /// The clash that forbids moving `other` by `shift` and joining it. The lives of tensor `overwritten` count
  /// as one position shorter, since the last one writes over it. Costs least if `other` is the smaller group.
  [[nodiscard]] std::optional<Clash> clash_with(const Group& other, Bytes shift,
                                                std::optional<TensorId> overwritten) const;

  /// Joins another group, which is empty afterwards. They must not clash.
  void join(Group& other, Bytes shift);

  /// Removes the last position from each of these lives of a tensor, which must be all it has.
  void shorten(TensorId tensor, const std::vector<Lifetime>& lives);

  /// The bytes needed and their lives: disjoint, in order of time, then of address. Uses the group up.
  [[nodiscard]] std::vector<Piece> pieces() &&;

 private:
  void update_reach(std::size_t from);

  std::vector<Member> members_;
  std::vector<Box> boxes_;       ///< By lower end of life.
  std::vector<Position> reach_;  ///< Latest end of life up to each box.
};

}  // namespace stowage::alias
