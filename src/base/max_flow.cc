// The least cut as the largest flow, by E. A. Dinic, "Algorithm for solution of a problem of maximum flow in
// networks with power estimation", 1970: find levels from the source, then send along paths that rise a level
// with each arc, until none is left. At most nodes^2 * arcs, in practice a few passes over the arcs.

#include "base/max_flow.h"

#include <algorithm>
#include <utility>

namespace stowage::base {

std::size_t FlowNetwork::add_node() {
  first_.push_back(none);
  return first_.size() - 1;
}

std::size_t FlowNetwork::add(std::size_t from, std::size_t to, Bytes capacity) {
  for (const auto& [node, other] : {std::pair(from, to), std::pair(to, from)}) {
    arcs_.push_back({static_cast<std::uint32_t>(other), first_[node]});
    first_[node] = static_cast<std::uint32_t>(arcs_.size() - 1);
  }
  capacities_.push_back(capacity);
  return capacities_.size() - 1;
}

Bytes FlowNetwork::cut(std::size_t source, std::size_t sink, Bytes enough, const Deadline& deadline) {
  left_.assign(arcs_.size(), 0);
  for (std::size_t p = 0; p < capacities_.size(); ++p) left_[2 * p] = capacities_[p];
  return send(source, sink, enough, deadline);
}

Bytes FlowNetwork::send(std::size_t source, std::size_t sink, Bytes enough, const Deadline& deadline) {
  constexpr std::int64_t work_of_node = 20;  // in the units of deadlines
  Bytes flow = 0;
  while (flow < enough && !deadline.is_over() && find_levels(source, sink)) {
    at_ = first_;
    deadline.spend(work_of_node * std::ssize(nodes_));
    while (flow < enough && !deadline.is_over()) {
      const Bytes pushed = push(source, sink);
      deadline.spend(work_of_node * level_[sink]);
      if (pushed == 0) break;
      flow += pushed;
    }
  }
  return flow;
}

bool FlowNetwork::find_levels(std::size_t source, std::size_t sink) {
  level_.assign(first_.size(), -1);
  level_[source] = 0;
  nodes_.assign(1, static_cast<std::uint32_t>(source));
  for (std::size_t i = 0; i < nodes_.size() && level_[sink] < 0; ++i) {
    for (std::uint32_t a = first_[nodes_[i]]; a != none; a = arcs_[a].next) {
      const std::uint32_t to = arcs_[a].to;
      if (left_[a] == 0 || level_[to] >= 0) continue;
      level_[to] = level_[nodes_[i]] + 1;
      nodes_.push_back(to);
    }
  }
  return level_[sink] >= 0;
}

std::vector<bool> FlowNetwork::at_sink(std::size_t sink) const {
  std::vector<bool> is_there(first_.size(), false);
  is_there[sink] = true;
  std::vector<std::size_t> nodes{sink};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::uint32_t a = first_[nodes[i]]; a != none; a = arcs_[a].next) {
      const std::uint32_t from = arcs_[a].to;
      if (left_[a ^ 1] == 0 || is_there[from]) continue;
      is_there[from] = true;
      nodes.push_back(from);
    }
  }
  return is_there;
}

/// Sends as much as possible along one path from the source to the sink; 0 if no path is left.
Bytes FlowNetwork::push(std::size_t source, std::size_t sink) {
  path_.clear();
  std::size_t node = source;
  while (node != sink) {
    for (; at_[node] != none; at_[node] = arcs_[at_[node]].next) {
      if (left_[at_[node]] > 0 && level_[arcs_[at_[node]].to] == level_[node] + 1) break;
    }
    if (at_[node] != none) {
      path_.push_back(at_[node]);
      node = arcs_[path_.back()].to;
    } else if (path_.empty()) {
      return 0;
    } else {
      node = arcs_[path_.back() ^ 1].to;
      path_.pop_back();
      at_[node] = arcs_[at_[node]].next;
    }
  }
  Bytes least = unlimited;
  for (const std::uint32_t a : path_) least = std::min(least, left_[a]);
  for (const std::uint32_t a : path_) {
    left_[a] -= least;
    left_[a ^ 1] += least;
  }
  return least;
}

}  // namespace stowage::base
