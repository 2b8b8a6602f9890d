/// Graphs for tests, made at random from a seed or by hand from names. Example:
///
///     Sketch sketch;
///     sketch.subgraph({"x"}, {"y"});
///     sketch.add(0, "Relu", {"x"}, {"y"});
///     const Graph by_hand = sketch.graph();
///     const Graph by_chance = random_graph(17);
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::oracle {

/// Choices from a seed, the same with every standard library (the distributions of <random> are not).
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : engine_(seed) {}

  /// 0 to count - 1; `count` is at least 1.
  [[nodiscard]] std::size_t below(std::size_t count);
  [[nodiscard]] std::int64_t between(std::int64_t least, std::int64_t most);
  [[nodiscard]] bool chance(std::size_t percent) { return below(100) < percent; }

  template <typename Value>
  [[nodiscard]] const Value& one_of(const std::vector<Value>& values) {
    return values[below(values.size())];
  }

  template <typename Value>
  void shuffle(std::vector<Value>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

struct GraphOptions {
  std::size_t depth = 3;       ///< Bodies in bodies, at most. 0: no operator has a body.
  bool has_ties = false;       ///< Some outputs are the next run's inputs; not all of them can be.
  bool repeats_names = false;  ///< Some tensors have no name or that of another.
  std::size_t operators = 14;  ///< Of the network itself, at most.
  std::size_t copies = 0;      ///< Percent of operators that only pass on bytes, or work in place.
  std::size_t results = 0;     ///< Percent of operators with new bodies whose outputs are those of bodies.
};

/// A graph that `validate` accepts, of everything a graph can have.
[[nodiscard]] Graph random_graph(std::uint64_t seed, const GraphOptions& options = {});

/// For each operator of a subgraph the operators of it that must run before it.
[[nodiscard]] std::vector<std::set<std::size_t>> waits_for(const Graph& graph, std::size_t subgraph);

/// The steps of a graph in some order that respects what operators wait for; each run of a body
/// has an order of its own.
[[nodiscard]] Clock random_clock(const Graph& graph, std::uint64_t seed);

/// A graph written down by tensor names. A new name makes a tensor of 16 bytes; "" leaves an
/// operand out.
class Sketch {
 public:
  using Names = std::vector<std::string>;

  std::size_t subgraph(const Names& inputs, const Names& outputs);
  /// The operator stays where it is until the next one of that subgraph is added.
  Operator& add(std::size_t subgraph, const std::string& type, const Names& inputs, const Names& outputs);
  [[nodiscard]] TensorId id(const std::string& name);
  Tensor& tensor(const std::string& name) { return graph_.tensors[id(name)]; }
  void tie(const std::string& output, const std::string& input);
  /// Not validated, so that it may be wrong.
  [[nodiscard]] Graph& graph() { return graph_; }

 private:
  Graph graph_;
  std::unordered_map<std::string, TensorId> ids_;
};

}  // namespace stowage::oracle
