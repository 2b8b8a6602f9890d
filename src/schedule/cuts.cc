// When an operator runs, the executed operators are a set S. With every operator it contains those that
// the operator waits for. A minimum cut finds the set with the fewest live bytes, because a value costs its
// bytes exactly if its writer is in S and one of its readers is not:
//
//     source --(executed before it)--> writer --size--> value --inf--> readers --> (after it) sink
//                                      operator --inf--> those it waits for
//
// S is the side of the source. If a value's node is on it, all its readers are; otherwise its bytes are cut.
// A kept value has a reader after the end. A value that the operator may write over does not count it as a
// reader. This is tried for each input that it could write over, and the least result counts.
//
// No order has a smaller peak than the largest of these. An operator whose step in a known order needs no
// more than the bound so far cannot raise it, so few cuts are computed. Cost of one: a maximum flow by
// Dinic's algorithm, in practice a few passes over the graph.

#include "schedule/cuts.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/max_flow.h"

namespace stowage::schedule {
namespace {

/// The operators around one: those that must be, cannot be or may be executed when it runs.
class Cut {
 public:
  Cut(const Storage& storage, std::size_t op) : storage_(storage), op_(op) {
    followers_.resize(storage.operators());
    for (std::size_t it = 0; it < storage.operators(); ++it) {
      for (const std::size_t earlier : storage.waits_for[it]) followers_[earlier].push_back(it);
    }
    sides_.assign(storage.operators(), Side::either);
    mark(storage.waits_for, Side::before);
    mark(followers_, Side::after);
    sides_[op] = Side::after;
  }

  /// The fewest live bytes when the operator begins, without those it may write over.
  [[nodiscard]] Bytes least_alive(const std::vector<std::size_t>& overwritten) const {
    base::FlowNetwork flow;
    const std::size_t source = flow.add_node();
    const std::size_t sink = flow.add_node();
    std::vector<std::size_t> nodes(storage_.operators(), sink);
    for (std::size_t it = 0; it < nodes.size(); ++it) {
      if (sides_[it] == Side::before) nodes[it] = source;
      if (sides_[it] == Side::either) nodes[it] = flow.add_node();
    }
    for (std::size_t it = 0; it < nodes.size(); ++it) {
      if (sides_[it] != Side::either) continue;
      for (const std::size_t earlier : storage_.waits_for[it]) {
        if (sides_[earlier] == Side::either)
          flow.add(nodes[it], nodes[earlier], base::FlowNetwork::unlimited);
      }
    }
    for (std::size_t v = 0; v < storage_.values.size(); ++v) {
      const bool is_free = std::binary_search(overwritten.begin(), overwritten.end(), v);
      add_value(storage_.values[v], is_free, nodes, flow);
    }
    return flow.cut(source, sink);
  }

 private:
  enum class Side : std::uint8_t { before, either, after };

  void mark(const std::vector<std::vector<std::size_t>>& neighbours, Side side) {
    std::vector<std::size_t> open{op_};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const std::size_t next : neighbours[at]) {
        if (sides_[next] != Side::either) continue;
        sides_[next] = side;
        open.push_back(next);
      }
    }
  }

  void add_value(const Value& value, bool is_free, const std::vector<std::size_t>& nodes,
                 base::FlowNetwork& flow) const {
    constexpr std::size_t source = 0;
    constexpr std::size_t sink = 1;
    const std::size_t writer = value.writer ? nodes[*value.writer] : source;
    if (writer == sink) return;
    bool is_read_later = value.kept;
    std::vector<std::size_t> readers;
    for (const std::size_t reader : value.readers) {
      if (is_free && reader == op_) continue;
      if (nodes[reader] == sink) is_read_later = true;
      if (nodes[reader] != source) readers.push_back(nodes[reader]);
    }
    if (is_read_later) {
      flow.add(writer, sink, value.size);
    } else if (readers.size() == 1) {
      flow.add(writer, readers[0], value.size);
    } else if (!readers.empty()) {
      const std::size_t node = flow.add_node();
      flow.add(writer, node, value.size);
      for (const std::size_t reader : readers) flow.add(node, reader, base::FlowNetwork::unlimited);
    }
  }

  const Storage& storage_;
  std::size_t op_;
  std::vector<std::vector<std::size_t>> followers_;
  std::vector<Side> sides_;
};

/// Bytes that an operator adds to the live bytes when it begins.
Bytes written_by(const Storage& storage, std::size_t op) {
  Bytes bytes = storage.always + storage.own[op];
  for (const Value& value : storage.values) {
    if (value.writer == op) bytes += value.size;
  }
  return bytes;
}

}  // namespace

Bytes least_load(const Storage& storage, std::size_t op) {
  const Cut cut(storage, op);
  std::vector<const std::vector<std::size_t>*> choices;
  for (const Overwrite& overwrite : storage.overwrites) {
    if (overwrite.op == op) choices.push_back(&overwrite.values);
  }
  const std::vector<std::size_t> nothing;
  if (choices.empty()) choices.push_back(&nothing);
  Bytes least = base::FlowNetwork::unlimited;
  for (const auto* const overwritten : choices) least = std::min(least, cut.least_alive(*overwritten));
  return least + written_by(storage, op);
}

Bytes bound_by_cuts(const Storage& storage, std::span<const std::size_t> order, Budget& budget) {
  const std::vector<Bytes> loads = loads_of(storage, order);
  std::vector<std::size_t> positions(order.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  std::stable_sort(positions.begin(), positions.end(),
                   [&](std::size_t a, std::size_t b) { return loads[a] > loads[b]; });
  Bytes bound = storage.always + (order.empty() ? storage.first : 0);
  for (const std::size_t position : positions) {
    if (loads[position] <= bound || budget.is_over()) break;
    bound = std::max(bound, least_load(storage, order[position]));
    budget.spend(static_cast<std::int64_t>(storage.values.size() + storage.operators()));
  }
  return bound;
}

namespace {

void unite(std::span<std::uint64_t> set, std::span<const std::uint64_t> other) {
  for (std::size_t w = 0; w < set.size(); ++w) set[w] |= other[w];
}

}  // namespace

Precedence::Precedence(const Storage& storage)
    : operators_(storage.operators()),
      words_((operators_ + set_word - 1) / set_word),
      before_(operators_ * words_, 0),
      after_(operators_ * words_, 0) {
  for (std::size_t op = 0; op < operators_; ++op) {
    for (const std::size_t earlier : storage.waits_for[op]) (void)require(earlier, op);
  }
}

Set Precedence::undecided(std::size_t op) const {
  Set set(words_, ~std::uint64_t{0});
  if (operators_ % set_word != 0) set.back() = (std::uint64_t{1} << (operators_ % set_word)) - 1;
  for (std::size_t w = 0; w < words_; ++w) set[w] &= ~(before(op)[w] | after(op)[w]);
  set[op / set_word] &= ~(std::uint64_t{1} << (op % set_word));
  return set;
}

bool Precedence::require(std::size_t earlier, std::size_t later) {
  if (earlier == later || contains(before(earlier), later)) return false;
  if (contains(after(earlier), later)) return true;
  Set sooner(before(earlier).begin(), before(earlier).end());
  insert(sooner, earlier);
  Set hence(after(later).begin(), after(later).end());
  insert(hence, later);
  for_each(sooner, [&](std::size_t op) { unite(std::span(after_).subspan(op * words_, words_), hence); });
  for_each(hence, [&](std::size_t op) { unite(std::span(before_).subspan(op * words_, words_), sooner); });
  return true;
}

std::vector<std::vector<std::size_t>> Precedence::direct() const {
  std::vector<std::vector<std::size_t>> direct(operators_);
  for (std::size_t op = 0; op < operators_; ++op) {
    Set left(before(op).begin(), before(op).end());
    for_each(before(op), [&](std::size_t earlier) {
      for (std::size_t w = 0; w < words_; ++w) left[w] &= ~before(earlier)[w];
    });
    for_each(left, [&](std::size_t earlier) { direct[op].push_back(earlier); });
  }
  return direct;
}

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
  // A reader that always runs before another reader does not matter.
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
