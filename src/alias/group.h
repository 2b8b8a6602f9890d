#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "alias/moving.h"
#include "lifetime/lives.h"
#include "model/motions.h"
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
  model::MotionId begin_motion = 0;  ///< How `begin` moves with open extents.
  model::MotionId end_motion = 0;
  model::MotionId origin_motion =
      0;  ///< How the first byte of the source moves, if it is where these bytes say.

  bool operator==(const Fragment&) const = default;
};

/// A tensor with more fragments counts as computed by its operator.
constexpr std::size_t most_fragments = 1024;

/// The fragments of each tensor, in rising order and without holes; see group.cc. Nothing for tensors without
/// bytes. `operators` are those that run, in the order of their first steps.
[[nodiscard]] std::vector<std::vector<Fragment>> contents_of(const Graph& graph,
                                                             std::span<const lifetime::OperatorId> operators);
/// The same with motions. Bytes that only some runs copy count as computed.
[[nodiscard]] std::vector<std::vector<Fragment>> contents_of(const Graph& graph,
                                                             std::span<const lifetime::OperatorId> operators,
                                                             MovingPlaces& places);
/// Copies for which the predicate (of subgraph, operator and copy) is false count as computed.
[[nodiscard]] std::vector<std::vector<Fragment>> contents_of(
    const Graph& graph, std::span<const lifetime::OperatorId> operators,
    const std::function<bool(std::size_t, std::size_t, const ByteCopy&)>& is_followed);

/// A tensor and the offset of its first byte in its group.
struct Member {
  TensorId tensor = 0;
  Bytes offset = 0;  ///< At the largest extents.
};

/// Bytes that hold consecutive bytes of a source during one life of a tensor.
struct Box {
  Bytes begin = 0;
  Bytes end = 0;
  Lifetime life{};
  TensorId source = 0;
  Bytes origin = 0;  ///< The address of the source's first byte.
  TensorId tensor = 0;
  model::MotionId begin_motion = 0;
  model::MotionId end_motion = 0;
  model::MotionId origin_motion = 0;
  bool is_held = false;  ///< In a branch, for the copy at its end: no reader writes over it.
};

/// A distance at the largest extents, and how it moves with them.
struct Distance {
  Distance(Bytes of_bytes, model::MotionId of_motion = 0) : bytes(of_bytes), motion(of_motion) {}

  Bytes bytes = 0;
  model::MotionId motion = 0;
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
  /// held besides (ResultLives). `motions` are those of the content; null: nothing moves.
  Group(TensorId tensor, const std::vector<Fragment>& content, const std::vector<Lifetime>& lives,
        const std::vector<Lifetime>& held = {}, model::Motions* motions = nullptr);

  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] std::size_t size() const { return boxes_.size(); }

  /// The clash that forbids moving `other` by `shift` and joining it. The lives of tensor `overwritten` count
  /// as one position shorter, since the last one writes over it. Costs least if `other` is the smaller group.
  [[nodiscard]] std::optional<Clash> clash_with(const Group& other, Distance shift,
                                                std::optional<TensorId> overwritten) const;

  /// Joins another group, which is empty afterwards. They must not clash.
  void join(Group& other, Distance shift);

  /// Removes the last position from each of these lives of a tensor, which must be all it has.
  void shorten(TensorId tensor, const std::vector<Lifetime>& lives);

  /// The bytes needed and their lives: disjoint, in order of time, then of address. Where what moves by `staying` has
  /// one place, these are all bytes that are needed at some sizes. Uses the group up.
  [[nodiscard]] std::vector<Piece> pieces(model::MotionId staying = 0) &&;

 private:
  void update_reach(std::size_t from);
  [[nodiscard]] bool may_meet(const Box& ours, const Box& theirs, const Distance& shift) const;
  [[nodiscard]] bool are_same(const Box& ours, const Box& theirs, const Distance& shift) const;
  void widen(std::vector<Box>& boxes, model::MotionId staying) const;

  std::vector<Member> members_;
  std::vector<Box> boxes_;  ///< By lower end of life.
  model::Motions* motions_ = nullptr;
  std::vector<Position> reach_;  ///< Latest end of life up to each box.
};

}  // namespace stowage::alias
