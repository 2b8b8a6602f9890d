#pragma once

#include <cstddef>
#include <vector>

#include "stowage/graph.h"
#include "stream/instances.h"
#include "stream/regions.h"

namespace stowage::stream {

/// A rewritten network: its operators in another order, or some of them repeated for each reader.
struct Repeated {
  Graph graph{};
  std::vector<std::size_t> operators{};  ///< Index in the network of each operator.
  std::vector<TensorId> tensors{};       ///< The same for tensors; the network's own come first.
};

/// Operators that compute a tensor with several readers, without multiplies, from the same rows of one other
/// tensor.
struct Repeatable {
  TensorId tensor = 0;
  std::vector<std::size_t> operators{};  ///< Ascending; the last one writes the tensor.
};

[[nodiscard]] Repeated once(const Graph& graph);

/// All whose rows need not be kept for later readers, since those of the other tensor are there or are
/// smaller. None is inside another. Those with the fewest readers come first.
[[nodiscard]] std::vector<Repeatable> repeatables(const Graph& graph);

/// The same operators in another order. `order` has all of them, each after what it needs.
[[nodiscard]] Repeated in_order(const Graph& graph, const std::vector<std::size_t>& order);

/// Repeats these operators right before every reader but the first.
[[nodiscard]] Repeated repeat(const Repeated& repeated, const Repeatable& what);

/// Repeats everything that it may, for all readers but the first, or as much until the deadline.
[[nodiscard]] Repeated repeat_all(const Repeated& given, const base::Deadline& deadline);

/// Repeats all of them or none, then flips single ones where that lowers the peak of the best order.
[[nodiscard]] Repeated repeat_where_it_helps(const Repeated& given, const InstanceOptions& options,
                                             const TrialEffort& effort);

}  // namespace stowage::stream
