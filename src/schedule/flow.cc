#include "schedule/flow.h"

#include <algorithm>

namespace stowage::schedule {

std::size_t Flow::add_node() {
  edges_of_.emplace_back();
  return edges_of_.size() - 1;
}

void Flow::add_edge(std::size_t from, std::size_t to, Bytes capacity) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

Bytes Flow::maximum(std::size_t source, std::size_t sink) {
  Bytes flow = 0;
  while (find_levels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    while (const Bytes more = push(source, sink)) flow += more;
  }
  return flow;
}

bool Flow::find_levels(std::size_t source, std::size_t sink) {
  levels_.assign(edges_of_.size(), 0);
  levels_[source] = 1;
  std::vector<std::size_t> queue{source};
  for (std::size_t i = 0; i < queue.size() && levels_[sink] == 0; ++i) {
    const std::size_t node = queue[i];
    for (const std::size_t e : edges_of_[node]) {
      const Edge& edge = edges_[e];
      if (edge.left == 0 || levels_[edge.to] != 0) continue;
      levels_[edge.to] = levels_[node] + 1;
      queue.push_back(edge.to);
    }
  }
  return levels_[sink] != 0;
}

/// One more path to the sink along rising levels, found without recursion: paths are long.
Bytes Flow::push(std::size_t source, std::size_t sink) {
  std::vector<std::size_t> path;
  std::size_t node = source;
  while (node != sink) {
    auto& next = next_[node];
    while (next < edges_of_[node].size()) {
      const Edge& edge = edges_[edges_of_[node][next]];
      if (edge.left > 0 && levels_[edge.to] == levels_[node] + 1) break;
      ++next;
    }
    if (next < edges_of_[node].size()) {
      path.push_back(edges_of_[node][next]);
      node = edges_[path.back()].to;
      continue;
    }
    if (path.empty()) return 0;
    node = edges_[path.back() ^ 1U].to;
    ++next_[node];
    path.pop_back();
  }
  Bytes amount = unlimited_flow;
  for (const std::size_t e : path) amount = std::min(amount, edges_[e].left);
  for (const std::size_t e : path) {
    edges_[e].left -= amount;
    edges_[e ^ 1U].left += amount;
  }
  return amount;
}

}  // namespace stowage::schedule
