#pragma once

#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::alias {

/// Bytes [begin, end) of a tensor are bytes of `source` from `source_begin` on: those that some
/// operator computed, or the network was given.
struct Fragment {
  Bytes begin = 0;
  Bytes end = 0;
  TensorId source = 0;
  Bytes source_begin = 0;

  bool operator==(const Fragment&) const = default;
};

/// A tensor that would fall into more fragments counts as computed by its operator.
constexpr std::size_t most_fragments = 1024;

/// For each tensor what its bytes are, in rising order and without holes; see contents.cc. Nothing for
/// tensors without bytes.
[[nodiscard]] std::vector<std::vector<Fragment>> contents_of(const Graph& graph, const Clock& clock);

}  // namespace stowage::alias
