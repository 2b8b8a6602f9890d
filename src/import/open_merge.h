#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stowage/graph.h"

namespace stowage::import {

/// As many readings as are held in memory at a time.
constexpr std::size_t readings_at_once = 256;

struct TensorSize {
  std::optional<Shape> shape{};  ///< As Tensor::shape.
  Bytes bytes = 0;

  bool operator==(const TensorSize&) const = default;
};

/// What differs between readings of a model. Tensors that share a size are compared at once.
struct OtherReading {
  std::vector<const TensorSize*> tensors{};
  /// Per subgraph and operator; null: none. Only of operators that copy in the reading of the largest sizes.
  std::vector<std::vector<const std::vector<ByteCopy>*>> copies{};
  std::shared_ptr<const void> holder{};  ///< Of what is pointed to; null if that is held elsewhere.
};

/// What a graph says of the sizes at which it was read.
[[nodiscard]] OtherReading reading_of(Graph graph);

/// Makes the graph of the largest sizes hold for the sizes of the others, too: extents that differ are open, copies at
/// offsets that differ are gone unless whole tensors are joined (model/motions.h), and so is what else one of the others
/// contradicts. All readings are of one model and have the same operators and folded results. What was open stays open,
/// so others may be given a few at a time. Throws Error for a tensor that is largest elsewhere.
void hold_for_all(Graph& largest, std::span<const OtherReading> others);

}  // namespace stowage::import
