// Idea. A byte that an operator only passes on is the byte it was: followed back through reshapes,
// concats and splits, every byte comes from one tensor that really computes it, its source. Two tensors
// may have a byte in one place at one time if it is the same byte of the same source.
//
//   a  [0..8)                    concat     [ a 0..8 | b 0..4 ]
//   b  [0..4)                    reshape    [ a 0..8 | b 0..4 ]
//                                slice 6..  [ a 6..8 | b 0..4 ]
//
// Tensors are done in the order in which they depend on each other; neighbours that continue each other
// become one fragment. State may change between two readings: copies of it have bytes of their own. So has
// a tensor of too many fragments; that is safe, since whoever lets it share bytes is then refused.
// Cost: (copies + fragments) * log(fragments), with at most `most_fragments` per tensor and
// `most_fragments_in_all`.

#include "check/content.h"

#include <algorithm>
#include <cstdint>

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
  /// A run of bytes that a tensor has from another one.
  struct Copied {
    Bytes to = 0;
    Bytes size = 0;
    TensorId input = 0;
    Bytes from = 0;
  };

  void add_copier(const Operator& op) {
    if (!op.bodies.empty()) return;
    for (const ByteCopy& copy : op.copies) {
      const TensorId input = *op.inputs[copy.input];
      const TensorId output = *op.outputs[copy.output];
      if (graph_.tensors[input].kind != TensorKind::state)
        copiers_[output].push_back({copy.to, copy.size, input, copy.from});
    }
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

  /// Appends what the input's bytes are.
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
  std::vector<std::vector<Copied>> copiers_;  ///< For each tensor, what it has from others.
  std::vector<Fragments> fragments_;
  std::size_t count_ = 0;
};

}  // namespace

Contents::Contents(const Graph& graph) : fragments_(ContentMaker(graph).make()) {}

}  // namespace stowage::check
