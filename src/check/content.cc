// An operator that only copies a byte does not change it. Followed back through reshapes, concats and
// splits, every byte comes from one tensor that computes it, its source. Two tensors may have a byte in one
// place at one time if it is the same byte of the same source.
//
//   a  [0..8)                    concat     [ a 0..8 | b 0..4 ]
//   b  [0..4)                    reshape    [ a 0..8 | b 0..4 ]
//                                slice 6..  [ a 6..8 | b 0..4 ]
//
// Tensors are processed in the order of their dependences; adjacent fragments that continue each other are
// merged. State may change between two reads, so a copy of it is a source of its own. A copy to or from a place
// that moves with an open extent is none: its bytes may be others in each run. So is a tensor of too
// many fragments, which is safe: a plan in which it shares bytes is then refused.
// Cost: (copies + fragments) * log(fragments), with at most `most_fragments` per tensor and
// `most_fragments_in_all`.

#include "check/content.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "check/constants.h"

namespace stowage::check {
namespace {

constexpr std::size_t most_fragments = 4096;
constexpr std::size_t most_fragments_in_all = std::size_t{1} << 22;

using Fragments = std::vector<Fragment>;

class ContentMaker {
 public:
  explicit ContentMaker(const Graph& graph)
      : graph_(graph), copiers_(graph.tensors.size()), fragments_(graph.tensors.size()) {
    for (const Subgraph& subgraph : graph.subgraphs) {
      for (const Operator& op : subgraph.operators) add_copier(op);
    }
  }

  std::vector<Fragments> make() {
    enum class State : std::uint8_t { unseen, waiting, done };
    std::vector<State> states(graph_.tensors.size(), State::unseen);
    std::vector<TensorId> open;
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      open.push_back(t);
      while (!open.empty()) {
        const TensorId tensor = open.back();
        if (states[tensor] == State::unseen) {
          states[tensor] = State::waiting;
          for (const Copied& copied : copiers_[tensor]) {
            if (states[copied.input] == State::unseen) open.push_back(copied.input);
          }
          continue;
        }
        open.pop_back();
        if (states[tensor] == State::waiting && !copiers_[tensor].empty()) compose(tensor);
        states[tensor] = State::done;
      }
    }
    return std::move(fragments_);
  }

 private:
  /// Bytes that a tensor copies from another one.
  struct Copied {
    Bytes to = 0;
    Bytes size = 0;
    TensorId input = 0;
    Bytes from = 0;
  };

  void add_copier(const Operator& op) {
    if (!op.bodies.empty()) return;
    const std::vector<bool> fixed = fixed_copies(graph_, op);
    for (std::size_t c = 0; c < op.copies.size(); ++c) {
      const ByteCopy& copy = op.copies[c];
      const TensorId input = *op.inputs[copy.input];
      const TensorId output = *op.outputs[copy.output];
      if (!may_change(input) && fixed[c]) copiers_[output].push_back({copy.to, copy.size, input, copy.from});
    }
  }

  /// No step changes a state whose new value is copied to its place when all have run.
  [[nodiscard]] bool may_change(TensorId t) const {
    return graph_.tensors[t].kind == TensorKind::state &&
           std::ranges::find(graph_.ties, t, &StateTie::input) == graph_.ties.end();
  }

  void compose(TensorId tensor) {
    auto& copies = copiers_[tensor];
    std::sort(copies.begin(), copies.end(), [](const Copied& a, const Copied& b) { return a.to < b.to; });
    Fragments made;
    Bytes done = 0;
    for (const Copied& copied : copies) {
      append(made, {done, copied.to - done, tensor, done});
      pass_on(made, copied);
      done = copied.to + copied.size;
      if (made.size() > most_fragments) return;
    }
    append(made, {done, graph_.tensors[tensor].bytes - done, tensor, done});
    if (made.size() > most_fragments || count_ + made.size() > most_fragments_in_all) return;
    count_ += made.size();
    fragments_[tensor] = std::move(made);
  }

  /// Appends the sources of the input's bytes.
  void pass_on(Fragments& made, const Copied& copied) const {
    const Fragments& input = fragments_[copied.input];
    if (input.empty()) {
      append(made, {copied.to, copied.size, copied.input, copied.from});
      return;
    }
    const Bytes end = copied.from + copied.size;
    auto part = std::upper_bound(input.begin(), input.end(), copied.from,
                                 [](Bytes at, const Fragment& it) { return at < it.begin; });
    for (--part; part != input.end() && part->begin < end && made.size() <= most_fragments; ++part) {
      const Bytes first = std::max(part->begin, copied.from);
      const Bytes last = std::min(part->begin + part->size, end);
      append(made, {copied.to + (first - copied.from), last - first, part->source,
                    part->from + first - part->begin});
    }
  }

  static void append(Fragments& made, const Fragment& next) {
    if (next.size == 0) return;
    if (!made.empty()) {
      Fragment& last = made.back();
      if (last.source == next.source && last.from + last.size == next.from) {
        last.size += next.size;
        return;
      }
    }
    made.push_back(next);
  }

  const Graph& graph_;
  std::vector<std::vector<Copied>> copiers_;  ///< For each tensor, its copied bytes.
  std::vector<Fragments> fragments_;
  std::size_t count_ = 0;
};

// Several networks. The source of a fed input is the source of the output that feeds it. So networks are
// processed in the order of their feeds, and their fragments are resolved once more:
//
//   network 0     y = [ a 0..8 | b 0..4 ]        concat
//   network 1     x, fed with y                   reshape r = [ x 0..12 ]
//                 r = [ a 0..8 | b 0..4 ]
//
// Networks that feed each other in a circle are not resolved; other checks refuse them. Cost: that of the
// contents, plus the data of weights that share a place.

constexpr std::size_t most_source_fragments = 4096;

/// The networks, each after those that feed it, without those in circles.
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
    size_ += network.graph().tensors.size();
  }
  same_as_.resize(size_);
  std::iota(same_as_.begin(), same_as_.end(), std::size_t{0});
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
    for (TensorId t = 0; t < networks[n].graph().tensors.size(); ++t) fed_with_.erase(number_of({n, t}));
    add_network(networks[n], n);
  }
}

std::size_t Sources::of_all(const TensorRef& tensor) const {
  std::size_t number = number_of(tensor);
  for (auto it = fed_with_.find(number); it != fed_with_.end(); it = fed_with_.find(number))
    number = number_of(it->second);
  return same_as_[number];
}

std::span<const Fragment> Sources::of(const TensorRef& tensor) const { return fragments_[number_of(tensor)]; }

void Sources::unite_weights(std::span<const Network> networks) {
  std::map<std::pair<std::size_t, Bytes>, TensorRef> first_in;  // by buffer and offset
  EqualConstants equal;
  const auto known = [&](const TensorRef& it) {
    return KnownConstant{networks[it.network].part.graph, networks[it.network].constants, it.tensor};
  };
  for (std::size_t n = 0; n < networks.size(); ++n) {
    const Graph& graph = networks[n].graph();
    for (const KeptBytes& need : networks[n].needs.all) {
      if (need.view == nullptr || !is_constant(graph.tensors[need.tensor].kind)) continue;
      const TensorRef tensor{n, need.tensor};
      const auto [it, is_new] = first_in.try_emplace({need.view->buffer, need.view->offset}, tensor);
      if (!is_new && equal.are_equal(known(tensor), known(it->second)))
        same_as_[number_of(tensor)] = number_of(it->second);
    }
  }
}

/// Appends the sources of this part of a source, which may be fed.
void Sources::pass_on(const Fragment& part, std::vector<Fragment>& made) const {
  std::size_t source = part.source;
  for (auto it = fed_with_.find(source); it != fed_with_.end() && fragments_[source].empty();
       it = fed_with_.find(source)) {
    source = number_of(it->second);
  }
  const std::vector<Fragment>& parts = fragments_[source];
  if (parts.empty() || !fed_with_.contains(part.source)) {
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
  const std::vector<Fragments> contents = ContentMaker(network.graph()).make();
  for (TensorId t = 0; t < network.graph().tensors.size(); ++t) {
    std::vector<Fragment>& made = fragments_[number_of({n, t})];
    if (fed_with_.contains(number_of({n, t}))) {
      pass_on({0, network.graph().tensors[t].bytes, number_of({n, t}), 0}, made);
    }
    for (Fragment part : contents[t]) {
      part.source += first_[n];
      pass_on(part, made);
      if (made.size() > most_source_fragments) break;
    }
    if (made.size() > most_source_fragments) made.clear();
  }
}

}  // namespace stowage::check
