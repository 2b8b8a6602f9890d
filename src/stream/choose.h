#pragma once

#include <functional>
#include <set>
#include <vector>

#include "base/deadline.h"
#include "stowage/graph.h"

namespace stowage::stream {

/// Of the tensors those for which the peak is least, and rather fewer: none, or all, but for single ones
/// where the other is better, until the deadline.
[[nodiscard]] std::set<TensorId> choose_tensors(
    const std::vector<TensorId>& candidates, const std::function<Bytes(const std::set<TensorId>&)>& peak_of,
    const base::Deadline& deadline);

}  // namespace stowage::stream
