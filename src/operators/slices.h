#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "operators/context.h"

/// The parts that slices and splits of TFLite take. Their rules of shapes use them, and who computes the
/// values of small tensors.
namespace stowage::operators {

/// How a slice by steps makes an output axis, or, if it is shrunk, takes one element of an axis away.
struct SlicedAxis {
  bool is_new = false;  ///< Of extent 1, and no axis of the input.
  bool is_shrunk = false;
  std::int64_t start = 0;
  std::int64_t step = 1;
  Dim extent{};
};

/// The axes of STRIDED_SLICE and SLICE, those of the input and new ones, in their order. None if the input's
/// rank, or where the slice begins or ends, is unknown. Throws Misfit where they do not fit together.
[[nodiscard]] std::optional<std::vector<SlicedAxis>> strided_slice_of(const NodeContext& node);
[[nodiscard]] std::optional<std::vector<SlicedAxis>> slice_of(const NodeContext& node);

/// The extents that SPLIT or SPLIT_V makes of the axis, which is counted from the front; none if they are
/// unknown.
struct SplitAxis {
  std::size_t axis = 0;
  Shape extents{};
};
[[nodiscard]] std::optional<SplitAxis> split_of(const NodeContext& node);
[[nodiscard]] std::optional<SplitAxis> split_v_of(const NodeContext& node);

}  // namespace stowage::operators
