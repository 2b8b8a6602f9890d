#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "stowage/units.h"

namespace stowage::schedule {

/// More than any capacity; some of them can be added up.
inline constexpr Bytes unlimited_flow = std::numeric_limits<Bytes>::max() / 4;

/// A maximum flow, and with it a minimum cut, by Dinic, "Algorithm for solution of a problem of maximum flow
/// in networks with power estimation" (1970).
class Flow {
 public:
  std::size_t add_node();
  void add_edge(std::size_t from, std::size_t to, Bytes capacity);

  [[nodiscard]] Bytes maximum(std::size_t source, std::size_t sink);

 private:
  struct Edge {
    std::size_t to = 0;
    Bytes left = 0;
  };

  bool find_levels(std::size_t source, std::size_t sink);
  Bytes push(std::size_t source, std::size_t sink);

  std::vector<Edge> edges_;  ///< Each followed by its reverse.
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<int> levels_;  ///< Of nodes that can be reached, counted from 1.
  std::vector<std::size_t> next_;
};

}  // namespace stowage::schedule
