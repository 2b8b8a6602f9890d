#pragma once

#include <span>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::tflm {

/// Allocation scopes in which the runtime keeps a tensor, both ends included. One that is read but never
/// written begins at -1.
struct Span {
  Position first = 0;
  Position last = 0;

  bool operator==(const Span&) const = default;
  [[nodiscard]] bool overlaps(const Span& other) const { return first <= other.last && other.first <= last; }
};

using Orders = std::vector<std::vector<std::size_t>>;

/// Spans in rising order, one for each run of the subgraph.
using Spans = std::vector<Span>;

struct Timeline {
  std::vector<Spans> tensors;                 ///< Of the graph; none for those that nothing uses.
  std::vector<std::vector<Spans>> operators;  ///< Per subgraph: with the bodies they run.
};

/// For each subgraph its operators as in the file.
[[nodiscard]] Orders file_orders(const Graph& graph);

/// When the runtime keeps tensors, and scratch of operators; see scopes.cc. Throws Error for bodies nested
/// too deeply.
[[nodiscard]] Timeline timeline_of(const Graph& graph, const Orders& orders);

/// A set of scopes.
class Scopes {
 public:
  explicit Scopes(Spans spans);

  /// Whether any scope of the spans is in the set.
  [[nodiscard]] bool meet(std::span<const Span> spans) const;

 private:
  Spans spans_;  // apart, in rising order
};

}  // namespace stowage::tflm
