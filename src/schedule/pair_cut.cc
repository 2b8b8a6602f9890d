#include "schedule/pair_cut.h"

#include <algorithm>

namespace stowage::schedule {

Bytes PairCut::least_alive(std::size_t op, const std::vector<std::size_t>* overwritten, Bytes enough) {
  op_ = op;
  flow_ = base::FlowNetwork(2);
  nodes_.assign(storage_.operators(), sink);
  for_each(precedence_.before(op), [&](std::size_t it) { nodes_[it] = source; });
  for_each(precedence_.undecided(op), [&](std::size_t it) { nodes_[it] = flow_.add_node(); });
  for (std::size_t it = 0; it < nodes_.size(); ++it) {
    if (!is_open(it)) continue;
    for (const std::size_t earlier : direct_[it]) {
      if (is_open(earlier)) flow_.add(nodes_[it], nodes_[earlier], base::FlowNetwork::unlimited);
    }
  }
  for (std::size_t v = 0; v < storage_.values.size(); ++v) {
    const bool is_free =
        overwritten != nullptr && std::binary_search(overwritten->begin(), overwritten->end(), v);
    add_value(storage_.values[v], is_free);
  }
  return flow_.cut(source, sink, enough);
}

Set PairCut::fewest() const {
  Set set(precedence_.before(op_).begin(), precedence_.before(op_).end());
  for (std::size_t it = 0; it < nodes_.size(); ++it) {
    if (is_open(it) && flow_.is_at_source(nodes_[it])) insert(set, it);
  }
  return set;
}

Set PairCut::most() const {
  Set set(precedence_.before(op_).begin(), precedence_.before(op_).end());
  const std::vector<bool> at_sink = flow_.at_sink(sink);
  for (std::size_t it = 0; it < nodes_.size(); ++it) {
    if (is_open(it) && !at_sink[nodes_[it]]) insert(set, it);
  }
  return set;
}

void PairCut::add_value(const Value& value, bool is_free) {
  const std::size_t writer = value.writer ? nodes_[*value.writer] : source;
  if (writer == sink) return;
  bool is_read_later = value.kept;
  readers_.clear();
  for (const std::size_t reader : value.readers) {
    if (is_free && reader == op_) continue;
    if (nodes_[reader] == sink) is_read_later = true;
    if (is_open(reader)) readers_.push_back(reader);
  }
  if (is_read_later) {
    flow_.add(writer, sink, value.size);
    return;
  }
  // One that runs before another reader in any case does not matter.
  std::erase_if(readers_, [&](std::size_t reader) {
    return std::ranges::any_of(readers_,
                               [&](std::size_t other) { return contains(precedence_.after(reader), other); });
  });
  if (readers_.size() == 1) {
    flow_.add(writer, nodes_[readers_[0]], value.size);
  } else if (!readers_.empty()) {
    const std::size_t node = flow_.add_node();
    flow_.add(writer, node, value.size);
    for (const std::size_t reader : readers_) flow_.add(node, nodes_[reader], base::FlowNetwork::unlimited);
  }
}

}  // namespace stowage::schedule
