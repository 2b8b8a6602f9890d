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

  /// A pipe; its number is what `set_capacity` wants.
  std::size_t add(std::size_t from, std::size_t to, Bytes capacity);
  void set_capacity(std::size_t pipe, Bytes capacity) { capacities_[pipe] = capacity; }

  /// The least capacity of the pipes that lead from the source's side to the other, when both are cut apart;
  /// looked for only until it is enough. At the deadline: what has been sent by then, which is no more.
  [[nodiscard]] Bytes cut(std::size_t source, std::size_t sink, Bytes enough = unlimited,
                          const Deadline& deadline = {});
  /// What can be sent on top of all that was sent since `cut`; looked for only until it is enough.
  /// Sent from another node than the source, or to another than the sink, it is what the cut costs more with
  /// that node on this side.
  Bytes send(std::size_t source, std::size_t sink, Bytes enough, const Deadline& deadline = {});
  /// After one of these, unless it was enough or too late: whether the node is on the source's side of the
  /// smallest cut.
  [[nodiscard]] bool is_at_source(std::size_t node) const { return level_[node] >= 0; }

  /// Then: the nodes on the sink's side of the largest cut, from which what is left leads to the sink.
  [[nodiscard]] std::vector<bool> at_sink(std::size_t sink) const;

  /// What was sent, to go back to.
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
  std::vector<Bytes> left_{};  ///< Per arc, what can still be sent.
  std::vector<Bytes> capacities_{};
  std::vector<std::uint32_t> first_;  ///< Per node, its first arc.
  std::vector<std::int32_t> level_{};
  std::vector<std::uint32_t> at_{};     ///< Per node, the first arc that may still lead on.
  std::vector<std::uint32_t> nodes_{};  ///< In the order of their levels.
  std::vector<std::uint32_t> path_{};
};

}  // namespace stowage::base
