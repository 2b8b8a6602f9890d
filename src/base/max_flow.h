#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "stowage/units.h"

namespace stowage::base {

/// A network of pipes, and the cut of least capacity between a source and a sink.
class FlowNetwork {
 public:
  static constexpr Bytes unlimited = std::numeric_limits<Bytes>::max() / 4;

  explicit FlowNetwork(std::size_t nodes = 0) : arcs_of_(nodes) {}

  std::size_t add_node();

  /// A pipe; its number is what `set_capacity` wants.
  std::size_t add(std::size_t from, std::size_t to, Bytes capacity);
  void set_capacity(std::size_t pipe, Bytes capacity) { capacities_[pipe] = capacity; }

  /// The least capacity of the pipes that lead from the source's side to the other, when both are cut apart.
  [[nodiscard]] Bytes cut(std::size_t source, std::size_t sink);
  /// After `cut`: whether the node is on the source's side of the smallest such set.
  [[nodiscard]] bool is_at_source(std::size_t node) const { return level_[node] >= 0; }

 private:
  struct Arc {
    std::size_t to = 0;
    Bytes left = 0;
  };

  bool find_levels(std::size_t source, std::size_t sink);
  Bytes push(std::size_t source, std::size_t sink);

  std::vector<Arc> arcs_{};  ///< Of pipe p: 2p, and back 2p + 1.
  std::vector<Bytes> capacities_{};
  std::vector<std::vector<std::uint32_t>> arcs_of_;
  std::vector<std::int32_t> level_{};
  std::vector<std::size_t> at_{};  ///< Per node, the first arc that may still lead on.
};

}  // namespace stowage::base
