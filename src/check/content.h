#pragma once

#include <span>
#include <vector>

#include "stowage/graph.h"

namespace stowage::check {

/// Bytes [begin, begin + size) of a tensor are the bytes of `source` from `from` on, whenever both have
/// their values of one run.
struct Fragment {
  Bytes begin = 0;
  Bytes size = 0;
  TensorId source = 0;
  Bytes from = 0;
};

/// What every byte of a network's tensors is, told from its copies alone.
class Contents {
 public:
  explicit Contents(const Graph& graph);

  /// The tensor's bytes in order; empty if all of them are its own.
  [[nodiscard]] std::span<const Fragment> of(TensorId tensor) const { return fragments_[tensor]; }

 private:
  std::vector<std::vector<Fragment>> fragments_;
};

}  // namespace stowage::check
