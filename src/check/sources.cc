// Idea. A network knows of each of its tensors which bytes come from where (content.cc). An input that is fed
// is no source but what the output was that feeds it, so networks are done in the order in which they feed
// each other, and their fragments are taken apart once more:
//
//   network 0     y = [ a 0..8 | b 0..4 ]        concat
//   network 1     x, fed with y                   reshape r = [ x 0..12 ]
//                 r = [ a 0..8 | b 0..4 ]
//
// Networks that feed each other in a circle are not taken apart; they are refused anyway.
// Cost: that of the contents, and of the data of weights that lie in one place.

#include "check/sources.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "check/constants.h"

namespace stowage::check {
namespace {

constexpr std::size_t most_source_fragments = 4096;

/// The networks, each after those that feed it; without those in circles.
std::vector<std::size_t> in_order_of_feeds(std::size_t count, std::span<const Joined> joined) {
  std::set<std::pair<std::size_t, std::size_t>> feeds;
  for (const Joined& it : joined) feeds.emplace(it.output.network, it.input.network);
  std::vector<std::size_t> waits_for(count, 0);
  for (const auto& [from, to] : feeds) ++waits_for[to];
  std::vector<std::size_t> ordered;
  for (std::size_t n = 0; n < count; ++n) {
    if (waits_for[n] == 0) ordered.push_back(n);
  }
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (auto it = feeds.lower_bound({ordered[i], 0}); it != feeds.end() && it->first == ordered[i]; ++it) {
      if (--waits_for[it->second] == 0) ordered.push_back(it->second);
    }
  }
  return ordered;
}

}  // namespace

Sources::Sources(std::span<const Network> networks, std::span<const Joined> joined) {
  for (const Network& network : networks) {
    first_.push_back(size_);
    size_ += network.graph.tensors.size();
  }
  same_as_.resize(size_);
  std::iota(same_as_.begin(), same_as_.end(), std::size_t{0});
  fed_with_.resize(size_);
  fragments_.resize(size_);
  unite_weights(networks);
  std::vector<bool> is_done(networks.size(), false);
  for (const Joined& it : joined) fed_with_[number_of(it.input)] = it.output;
  for (const std::size_t n : in_order_of_feeds(networks.size(), joined)) {
    add_network(networks[n], n);
    is_done[n] = true;
  }
  for (std::size_t n = 0; n < networks.size(); ++n) {
    if (is_done[n]) continue;
    for (TensorId t = 0; t < networks[n].graph.tensors.size(); ++t) fed_with_[number_of({n, t})].reset();
    add_network(networks[n], n);
  }
}

std::size_t Sources::of_all(const TensorRef& tensor) const {
  std::size_t number = number_of(tensor);
  while (fed_with_[number]) number = number_of(*fed_with_[number]);
  return same_as_[number];
}

std::span<const Fragment> Sources::of(const TensorRef& tensor) const { return fragments_[number_of(tensor)]; }

void Sources::unite_weights(std::span<const Network> networks) {
  std::map<std::pair<std::size_t, Bytes>, TensorRef> first_in;  // by buffer and offset
  EqualConstants equal;
  const auto known = [&](const TensorRef& it) {
    return KnownConstant{&networks[it.network].graph, networks[it.network].constants, it.tensor};
  };
  for (std::size_t n = 0; n < networks.size(); ++n) {
    const Graph& graph = networks[n].graph;
    for (const Need& need : networks[n].played.needs) {
      if (need.view == nullptr || !is_constant(graph.tensors[need.tensor].kind)) continue;
      const TensorRef tensor{n, need.tensor};
      const auto [it, is_new] = first_in.try_emplace({need.view->buffer, need.view->offset}, tensor);
      if (!is_new && equal.are_equal(known(tensor), known(it->second)))
        same_as_[number_of(tensor)] = number_of(it->second);
    }
  }
}

/// Appends what the part of a source is, if that is fed: what feeds it.
void Sources::pass_on(const Fragment& part, std::vector<Fragment>& made) const {
  std::size_t source = part.source;
  while (fed_with_[source] && fragments_[source].empty()) source = number_of(*fed_with_[source]);
  const std::vector<Fragment>& parts = fragments_[source];
  if (parts.empty() || !fed_with_[part.source]) {
    made.push_back({part.begin, part.size, same_as_[source], part.from});
    return;
  }
  const Bytes end = part.from + part.size;
  auto it = std::upper_bound(parts.begin(), parts.end(), part.from,
                             [](Bytes at, const Fragment& each) { return at < each.begin; });
  for (--it; it != parts.end() && it->begin < end; ++it) {
    const Bytes first = std::max(it->begin, part.from);
    const Bytes last = std::min(it->begin + it->size, end);
    made.push_back(
        {part.begin + (first - part.from), last - first, it->source, it->from + first - it->begin});
  }
}

void Sources::add_network(const Network& network, std::size_t n) {
  const Contents contents(network.graph);
  for (TensorId t = 0; t < network.graph.tensors.size(); ++t) {
    std::vector<Fragment>& made = fragments_[number_of({n, t})];
    if (fed_with_[number_of({n, t})]) {
      pass_on({0, network.graph.tensors[t].bytes, number_of({n, t}), 0}, made);
    }
    for (Fragment part : contents.of(t)) {
      part.source += first_[n];
      pass_on(part, made);
      if (made.size() > most_source_fragments) break;
    }
    if (made.size() > most_source_fragments) made.clear();
  }
}

}  // namespace stowage::check
