// The least cut as the largest flow, by E. A. Dinic, "Algorithm for solution of a problem of maximum flow in
// networks with power estimation", 1970: level by level from the source, then paths that rise a level with
// each arc until none is left. At most nodes^2 * arcs, in practice a few passes over the arcs.

#include "base/max_flow.h"

#include <algorithm>

namespace stowage::base {

std::size_t FlowNetwork::add_node() {
  arcs_of_.emplace_back();
  return arcs_of_.size() - 1;
}

std::size_t FlowNetwork::add(std::size_t from, std::size_t to, Bytes capacity) {
  arcs_of_[from].push_back(static_cast<std::uint32_t>(arcs_.size()));
  arcs_.push_back({to, 0});
  arcs_of_[to].push_back(static_cast<std::uint32_t>(arcs_.size()));
  arcs_.push_back({from, 0});
  capacities_.push_back(capacity);
  return capacities_.size() - 1;
}

Bytes FlowNetwork::cut(std::size_t source, std::size_t sink) {
  for (std::size_t p = 0; p < capacities_.size(); ++p) {
    arcs_[2 * p].left = capacities_[p];
    arcs_[2 * p + 1].left = 0;
  }
  Bytes flow = 0;
  while (flow < unlimited && find_levels(source, sink)) {
    at_.assign(arcs_of_.size(), 0);
    while (const Bytes pushed = push(source, sink)) flow += pushed;
  }
  return flow;
}

bool FlowNetwork::find_levels(std::size_t source, std::size_t sink) {
  level_.assign(arcs_of_.size(), -1);
  level_[source] = 0;
  std::vector<std::size_t> queue{source};
  for (std::size_t i = 0; i < queue.size() && level_[sink] < 0; ++i) {
    for (const std::uint32_t a : arcs_of_[queue[i]]) {
      const Arc& arc = arcs_[a];
      if (arc.left == 0 || level_[arc.to] >= 0) continue;
      level_[arc.to] = level_[queue[i]] + 1;
      queue.push_back(arc.to);
    }
  }
  return level_[sink] >= 0;
}

/// One path from the source to the sink, and as much as goes through it; 0 when there is none.
Bytes FlowNetwork::push(std::size_t source, std::size_t sink) {
  std::vector<std::uint32_t> path;
  std::size_t node = source;
  while (node != sink) {
    const auto& arcs = arcs_of_[node];
    while (at_[node] < arcs.size()) {
      const Arc& arc = arcs_[arcs[at_[node]]];
      if (arc.left > 0 && level_[arc.to] == level_[node] + 1) break;
      ++at_[node];
    }
    if (at_[node] < arcs.size()) {
      path.push_back(arcs[at_[node]]);
      node = arcs_[path.back()].to;
    } else if (path.empty()) {
      return 0;
    } else {
      node = arcs_[path.back() ^ 1].to;
      path.pop_back();
      ++at_[node];
    }
  }
  Bytes least = unlimited;
  for (const std::uint32_t a : path) least = std::min(least, arcs_[a].left);
  for (const std::uint32_t a : path) {
    arcs_[a].left -= least;
    arcs_[a ^ 1].left += least;
  }
  return least;
}

}  // namespace stowage::base
