#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stream/affine.h"
#include "stream/model.h"

namespace stowage::stream {

/// The largest effort of one call, in operations of the polyhedral library.
inline constexpr unsigned long largest_effort = 50'000'000;

/// Whether the order of these times respects every dependence, proven for all iterations at once. None if the
/// proof takes too much effort, or the build has no polyhedral library. The model must be one that can be unrolled.
[[nodiscard]] std::optional<bool> is_legal(const RowModel& model, const std::vector<AffineTime>& times,
                                           unsigned long effort = largest_effort);

/// The largest number of live granules of each tensor in that order, which must be legal. None as above.
[[nodiscard]] std::optional<std::vector<std::int64_t>> windows(const RowModel& model,
                                                               const std::vector<AffineTime>& times,
                                                               unsigned long effort = largest_effort);

}  // namespace stowage::stream
