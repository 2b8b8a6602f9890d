#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/deadline.h"
#include "stowage/units.h"

namespace stowage::base {

/// A network of pipes, and the cut of least capacity between a source and a sink.
class FlowNetwork {
 public:
  static constexpr Bytes unlimited = std::numeric_limits<Bytes>::max() / 4;

  explicit FlowNetwork(std::size_t nodes = 0) : first_(nodes, none) {}

  std::size_t add_node();

  /// Adds a pipe and returns its number, for `set_capacity`.
  std::size_t add(std::size_t from, std::size_t to, Bytes capacity);
  void set_capacity(std::size_t pipe, Bytes capacity) { capacities_[pipe] = capacity; }

  /// The least capacity of the pipes that lead from the source's side to the other, over all cuts between the
  /// two; stops once it is enough. At the deadline it returns the flow so far, which is no more.
  [[nodiscard]] Bytes cut(std::size_t source, std::size_t sink, Bytes enough = unlimited,
                          const Deadline& deadline = {});
  /// The flow on top of all that was sent since `cut`; stops once it is enough. With another node in place of
  /// the source, or of the sink, it is the additional cost of a cut with that node on this side.
  Bytes send(std::size_t source, std::size_t sink, Bytes enough, const Deadline& deadline = {});
  /// After one of these, unless it was enough or too late: whether the node is on the source's side of the
  /// smallest cut.
  [[nodiscard]] bool is_at_source(std::size_t node) const { return level_[node] >= 0; }

  /// Then: the nodes on the sink's side of the largest cut, which still have a path to the sink.
  [[nodiscard]] std::vector<bool> at_sink(std::size_t sink) const;

  /// The state of the flow, to restore later.
  [[nodiscard]] const std::vector<Bytes>& sent() const { return left_; }
  void go_back_to(const std::vector<Bytes>& sent) { left_ = sent; }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  struct Arc {
    std::uint32_t to = 0;
    std::uint32_t next = none;  ///< Of the same node.
  };

  bool find_levels(std::size_t source, std::size_t sink);
  Bytes push(std::size_t source, std::size_t sink);

  std::vector<Arc> arcs_{};    ///< Of pipe p: 2p, and back 2p + 1.
  std::vector<Bytes> left_{};  ///< Per arc, the flow that it can still take.
  std::vector<Bytes> capacities_{};
  std::vector<std::uint32_t> first_;  ///< Per node, its first arc.
  std::vector<std::int32_t> level_{};
  std::vector<std::uint32_t> at_{};     ///< Per node, the first arc that may still be useful.
  std::vector<std::uint32_t> nodes_{};  ///< Sorted by level.
  std::vector<std::uint32_t> path_{};
};

}  // namespace stowage::base
