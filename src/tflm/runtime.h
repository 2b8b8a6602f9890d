#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/tflm.h"

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

/// When the runtime keeps tensors, and scratch of operators; see runtime.cc. Throws Error for bodies nested
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

/// Whether the operator's kernel may ask the runtime for scratch memory, as far as is known of the stock
/// reference kernels. Of custom operators nothing is known: they may.
[[nodiscard]] bool may_ask_for_scratch(const Graph& graph, const Operator& op);

/// Memory that the runtime plans: a tensor, or scratch.
struct Request {
  Bytes bytes = 0;  ///< Rounded up to the arena's alignment.
  Span span{};
  std::optional<Bytes> offset{};     ///< Where it must be.
  std::optional<TensorId> tensor{};  ///< None for scratch.
};

/// Bytes of a tensor as the runtime counts them: elements are never smaller than a byte.
[[nodiscard]] Bytes runtime_bytes(const Tensor& tensor);

/// Whether the runtime gives a tensor memory of its plan: no constant, no variable, and not empty.
[[nodiscard]] bool is_planned(const Tensor& tensor);

/// What the runtime plans for a file's tensors, which have offsets, and for scratch, in its order. Throws
/// UsageError for more than it could plan.
[[nodiscard]] std::vector<Request> requests_of(const Graph& graph, const OfflineOffsets& offsets,
                                               const Orders& orders, const Timeline& timeline);

/// Requests in the order in which the runtime places them: those with offsets, then the rest.
[[nodiscard]] std::vector<std::size_t> placing_order(std::span<const Request> requests);

/// Where the runtime places each of them; see runtime.cc.
[[nodiscard]] std::vector<Bytes> placed_offsets(std::span<const Request> requests);

/// The highest byte of all.
[[nodiscard]] Bytes head_of(std::span<const Request> requests);

}  // namespace stowage::tflm
