#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stowage/graph.h"
#include "stowage/tflm.h"
#include "tflm/scopes.h"

namespace stowage::tflm {

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

/// Where the runtime places each of them; see arena.cc.
[[nodiscard]] std::vector<Bytes> placed_offsets(std::span<const Request> requests);

/// The highest byte of all.
[[nodiscard]] Bytes head_of(std::span<const Request> requests);

}  // namespace stowage::tflm
