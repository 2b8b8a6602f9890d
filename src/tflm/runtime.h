#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/tflm.h"

namespace stowage::tflm {

/// Allocation scopes in which the runtime keeps a tensor, both ends included. A tensor that is read but never
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
  std::vector<Spans> tensors;                 ///< Of the graph; empty for unused tensors.
  std::vector<std::vector<Spans>> operators;  ///< Per subgraph: including their bodies.
};

/// For each subgraph, its operators in file order.
[[nodiscard]] Orders file_orders(const Graph& graph);

/// The scopes in which the runtime keeps tensors and scratch of operators; see runtime.cc. Throws Error for
/// bodies that are nested too deeply.
[[nodiscard]] Timeline timeline_of(const Graph& graph, const Orders& orders);

/// A set of scopes.
class Scopes {
 public:
  explicit Scopes(Spans spans);

  /// True if any scope of the spans is in the set.
  [[nodiscard]] bool meet(std::span<const Span> spans) const;

 private:
  Spans spans_;  // disjoint, in rising order
};

/// Memory that the runtime plans: a tensor, or scratch.
struct Request {
  Bytes bytes = 0;  ///< Rounded up to the arena's alignment.
  Span span{};
  std::optional<Bytes> offset{};     ///< Its fixed offset.
  std::optional<TensorId> tensor{};  ///< None for scratch.
};

/// Bytes of a tensor as the runtime counts them: elements are never smaller than a byte.
[[nodiscard]] Bytes runtime_bytes(const Tensor& tensor);

/// For each tensor, whether the runtime plans memory for it: it is not constant, not variable, not empty, and
/// no handle of a resource variable, which lies in the tail.
[[nodiscard]] std::vector<bool> planned_tensors(const Graph& graph);

/// The requests for a file's tensors, with their offsets, and for scratch, in the runtime's order. Throws
/// UsageError for more than it could plan.
[[nodiscard]] std::vector<Request> requests_of(const Graph& graph, const OfflineOffsets& offsets,
                                               const Orders& orders, const Timeline& timeline);

/// Requests in the order in which the runtime places them: those with offsets, then the rest.
[[nodiscard]] std::vector<std::size_t> placing_order(std::span<const Request> requests);

/// The offset that the runtime gives each request; see runtime.cc.
[[nodiscard]] std::vector<Bytes> placed_offsets(std::span<const Request> requests);

/// The most bytes that the runtime keeps in one scope: no offsets have a lower head.
[[nodiscard]] Bytes most_kept(std::span<const Request> requests);

/// The highest end of all.
[[nodiscard]] Bytes head_of(std::span<const Request> requests);

}  // namespace stowage::tflm
