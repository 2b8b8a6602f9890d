#pragma once

#include <cstddef>
#include <vector>

#include "stowage/graph.h"
#include "stream/instances.h"
#include "stream/regions.h"

namespace stowage::stream {

/// A network written down anew: its operators in another order, or some of them several times, each time to
/// run for one reader.
struct Repeated {
  Graph graph{};
  std::vector<std::size_t> operators{};  ///< Which operator of the network each is.
  std::vector<TensorId> tensors{};       ///< The same of tensors; those of the network come first.
};

/// Operators that compute rows of a tensor that several operators read, from the same rows of one other
/// tensor, without multiplies.
struct Repeatable {
  TensorId tensor = 0;
  std::vector<std::size_t> operators{};  ///< Ascending; the last one writes the tensor.
};

[[nodiscard]] Repeated once(const Graph& graph);

/// All whose rows need not be kept for the later readers, as those of the other tensor are there or are
/// smaller; but none inside another. Those of the fewest readers come first.
[[nodiscard]] std::vector<Repeatable> repeatables(const Graph& graph);

/// The same operators in another order: `order` has all of them, so that none stands in front of what it
/// needs.
[[nodiscard]] Repeated in_order(const Graph& graph, const std::vector<std::size_t>& order);

/// Every reader but the first has these operators anew, right in front of it.
[[nodiscard]] Repeated repeat(const Repeated& repeated, const Repeatable& what);

/// Everything repeated that may be, for all readers but the first.
[[nodiscard]] Repeated repeat_all(const Repeated& given);

/// The network with all of them repeated, or none, but for those where the other is better: whichever has the
/// order of least peak.
[[nodiscard]] Repeated repeat_where_it_helps(const Repeated& given, const InstanceOptions& options,
                                             const TrialEffort& effort);

}  // namespace stowage::stream
