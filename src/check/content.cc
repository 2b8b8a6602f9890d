// An operator that only copies a byte does not change it. Followed back through reshapes, concats and
// splits, every byte comes from one tensor that computes it, its source. Two tensors may have a byte in one
// place at one time if it is the same byte of the same source.
//
//   a  [0..8)                    concat     [ a 0..8 | b 0..4 ]
//   b  [0..4)                    reshape    [ a 0..8 | b 0..4 ]
//                                slice 6..  [ a 6..8 | b 0..4 ]
//
// Tensors are processed in the order of their dependences; adjacent fragments that continue each other are
// merged. State may change between two reads, so a copy of it is a source of its own. Where copies join whole tensors
// at places that move with open extents (model/motions.h), so do their fragments; any other copy to or from a place that
// moves is none: its bytes may be others in each run. So is a tensor of too many fragments, or one of which it depends on
// the sizes what they are. That is safe: a plan in which it shares bytes is then refused.
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
  /// `number_of` gives motions numbers among `motions`.
  template <typename NumberOf>
  ContentMaker(const Graph& graph, model::Motions& motions, const NumberOf& number_of)
      : graph_(graph), motions_(motions), copiers_(graph.tensors.size()), fragments_(graph.tensors.size()) {
    for (const Subgraph& subgraph : graph.subgraphs) {
      for (const Operator& op : subgraph.operators) are_moving_ |= model::has_places_that_move(graph, op);
    }
    for (TensorId t = 0; t < graph.tensors.size() && are_moving_; ++t)
      ends_.push_back(number_of(model::motion_of_end(graph.tensors[t]).value_or(model::Motion())));
    for (const Subgraph& subgraph : graph.subgraphs) {
      for (const Operator& op : subgraph.operators) add_copier(op, number_of);
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
    model::MotionId to_motion = 0;
    model::MotionId from_motion = 0;
    model::MotionId end_motion = 0;  ///< Of `from + size`.
  };

  template <typename NumberOf>
  void add_copier(const Operator& op, const NumberOf& number_of) {
    if (!op.bodies.empty()) return;
    const std::vector<model::CopyMotion> motions = model::motions_of_copies(graph_, op);
    const bool is_moving = are_moving_ && model::has_places_that_move(graph_, op);
    for (std::size_t c = 0; c < op.copies.size(); ++c) {
      const ByteCopy& copy = op.copies[c];
      const TensorId input = *op.inputs[copy.input];
      const TensorId output = *op.outputs[copy.output];
      if (may_change(input) || !motions[c].is_known) continue;
      Copied copied{copy.to, copy.size, input, copy.from};
      const bool is_all = copy.from == 0 && copy.size == graph_.tensors[input].bytes;
      if (is_moving) {
        copied.to_motion = number_of(motions[c].to);
        copied.from_motion = number_of(motions[c].from);
        copied.end_motion = motions_.sum(copied.from_motion, ends_[is_all ? input : output]);
      } else if (are_moving_ && is_all) {
        copied.end_motion = ends_[input];
      }
      copiers_[output].push_back(copied);
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
      if (!pass_on(made, copied)) return;
      done = copied.to + copied.size;
      if (made.size() > most_fragments) return;
    }
    append(made, {done, graph_.tensors[tensor].bytes - done, tensor, done, 0, end_of(tensor)});
    if (made.size() > most_fragments || count_ + made.size() > most_fragments_in_all) return;
    count_ += made.size();
    fragments_[tensor] = std::move(made);
  }

  [[nodiscard]] model::MotionId end_of(TensorId tensor) const { return are_moving_ ? ends_[tensor] : 0; }

  /// Appends the sources of the input's bytes. False: which these are depends on the sizes.
  bool pass_on(Fragments& made, const Copied& copied) {
    const Fragments& input = fragments_[copied.input];
    const Fragment whole{0, graph_.tensors[copied.input].bytes, copied.input, 0, 0, end_of(copied.input)};
    if (input.empty()) return pass_on(made, copied, whole);
    if (are_moving_) {
      return std::ranges::all_of(input, [&](const Fragment& part) { return pass_on(made, copied, part); });
    }
    const Bytes end = copied.from + copied.size;
    auto part = std::upper_bound(input.begin(), input.end(), copied.from,
                                 [](Bytes at, const Fragment& it) { return at < it.begin; });
    for (--part; part != input.end() && part->begin < end && made.size() <= most_fragments; ++part)
      (void)pass_on(made, copied, *part);
    return true;
  }

  /// Appends what the copy has of a part of its input.
  bool pass_on(Fragments& made, const Copied& copied, const Fragment& part) {
    using Edge = std::pair<Bytes, model::MotionId>;
    const auto is_never_behind = [&](const Edge& a, const Edge& b) {
      return motions_.is_never_behind(a.first, a.second, b.first, b.second);
    };
    const Edge begin(copied.from, copied.from_motion);
    const Edge end(copied.from + copied.size, copied.end_motion);
    const Edge first(part.begin, part.begin_motion);
    const Edge last(part.begin + part.size, part.end_motion);
    if (is_never_behind(last, begin) || is_never_behind(end, first)) return true;
    const bool is_cut_before = !is_never_behind(begin, first);
    const bool is_cut_behind = !is_never_behind(last, end);
    if ((is_cut_before && !is_never_behind(first, begin)) || (is_cut_behind && !is_never_behind(end, last)))
      return false;
    const Edge from = is_cut_before ? begin : first;
    const Edge until = is_cut_behind ? end : last;
    const model::MotionId moved = motions_.difference(copied.to_motion, copied.from_motion);
    append(made, {copied.to + (from.first - copied.from), until.first - from.first, part.source,
                  part.from + from.first - part.begin, motions_.sum(from.second, moved),
                  motions_.sum(until.second, moved), motions_.sum(part.shift_motion, moved)});
    return true;
  }

  static void append(Fragments& made, const Fragment& next) {
    if (next.size == 0) return;
    if (!made.empty()) {
      Fragment& last = made.back();
      if (last.source == next.source && last.from + last.size == next.from &&
          last.end_motion == next.begin_motion && last.shift_motion == next.shift_motion) {
        last.size += next.size;
        last.end_motion = next.end_motion;
        return;
      }
    }
    made.push_back(next);
  }

  const Graph& graph_;
  model::Motions& motions_;
  bool are_moving_ = false;                   ///< Some copies of the graph.
  std::vector<model::MotionId> ends_{};       ///< Of each tensor, if some are.
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
  model::Extents largest;
  for (const Network& network : networks) {
    for (const auto& [symbol, extent] : model::largest_extents(network.graph()))
      largest.emplace(symbol_in(first_.size(), symbol), extent);
    first_.push_back(size_);
    size_ += network.graph().tensors.size();
  }
  motions_ = model::Motions(std::move(largest));
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

model::MotionId Sources::motion_in(std::size_t network, model::Motion motion) {
  model::Motion renamed;
  for (OpenBytes& it : motion) {
    for (std::size_t& symbol : it.symbols) symbol = symbol_in(network, symbol);
    std::ranges::sort(it.symbols);
    renamed = model::sum_of(renamed, {std::move(it)}, 1);
  }
  return motions_.id_of(std::move(renamed));
}

std::size_t Sources::symbol_in(std::size_t network, std::size_t symbol) {
  return symbols_.try_emplace({network, symbol}, symbols_.size()).first->second;
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
  const auto moves = [](const Fragment& it) { return it.begin_motion != 0 || it.shift_motion != 0; };
  if (parts.empty() || !fed_with_.contains(part.source) || moves(part) || std::ranges::any_of(parts, moves)) {
    Fragment& own = made.emplace_back(part);
    own.source = same_as_[source];
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
  const auto motion_of = [&](model::Motion motion) { return motion_in(n, std::move(motion)); };
  const std::vector<Fragments> contents = ContentMaker(network.graph(), motions_, motion_of).make();
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
