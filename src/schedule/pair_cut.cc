#include "schedule/pair_cut.h"

#include <algorithm>

namespace stowage::schedule {

Chains::Chains(const Storage& storage)
    : heads((storage.operators() + set_word - 1) / set_word, 0), leaders(storage.operators()) {
  std::vector<std::size_t> followers(storage.operators(), 0);
  for (const auto& earlier : storage.waits_for) {
    for (const std::size_t op : earlier) ++followers[op];
  }
  std::vector<Bytes> added(storage.operators(), 0);  // between two steps
  for (const Value& value : storage.values) {
    if (value.writer) added[*value.writer] += value.size;
    if (value.readers.size() == 1 && !value.kept) added[value.readers[0]] -= value.size;
  }
  for (std::size_t op = 0; op < storage.operators(); ++op) {
    const auto& earlier = storage.waits_for[op];
    leaders[op] = op;
    if (earlier.size() != 1 || followers[earlier[0]] != 1) {
      insert(heads, op);
    } else if (added[op] <= 0) {
      leaders[op] = earlier[0];
    }
  }
  for (std::size_t& leader : leaders) {
    while (leaders[leader] != leader) leader = leaders[leader];
  }
}

Bytes PairCut::least_alive(std::size_t op, const std::vector<std::size_t>* overwritten, Bytes enough) {
  op_ = op;
  flow_ = base::FlowNetwork(2);
  nodes_.assign(storage_.operators(), sink);
  for_each(precedence_.before(op), [&](std::size_t it) { nodes_[it] = source; });
  const Set open = precedence_.undecided(op);
  for_each(open, [&](std::size_t it) {
    if (chains_.leaders[it] == it) nodes_[it] = flow_.add_node();
  });
  for_each(open, [&](std::size_t it) { nodes_[it] = nodes_[chains_.leaders[it]]; });
  for_each(open, [&](std::size_t it) {
    for (const std::size_t earlier : direct_[it]) {
      if (is_open(it) && is_open(earlier) && nodes_[it] != nodes_[earlier])
        flow_.add(nodes_[it], nodes_[earlier], base::FlowNetwork::unlimited);
    }
  });
  for (std::size_t v = 0; v < storage_.values.size(); ++v) {
    const bool is_free =
        overwritten != nullptr && std::binary_search(overwritten->begin(), overwritten->end(), v);
    add_value(storage_.values[v], is_free);
  }
  return flow_.cut(source, sink, enough);
}

Set PairCut::fewest() const {
  return executed([&](std::size_t node) { return flow_.is_at_source(node); });
}

Set PairCut::most() const {
  return executed([&, at_sink = flow_.at_sink(sink)](std::size_t node) { return !at_sink[node]; });
}

template <typename IsIn>
Set PairCut::executed(const IsIn& is_in) const {
  Set set(precedence_.words(), 0);
  for (std::size_t it = 0; it < nodes_.size(); ++it) {
    if (nodes_[it] == source || (is_open(it) && is_in(nodes_[it]))) insert(set, it);
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
    if (is_open(reader) && nodes_[reader] != writer) readers_.push_back(reader);
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
