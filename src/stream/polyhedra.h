#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stream/affine.h"
#include "stream/model.h"

namespace stowage::stream {

/// The largest effort of one question, in operations of the polyhedral library.
inline constexpr unsigned long largest_effort = 50'000'000;

/// Whether the order that these times give honours every dependence, proven for all instances at once.
/// Nothing if the question takes too much effort. The model must be one that can be unrolled.
[[nodiscard]] std::optional<bool> is_legal(const RowModel& model, const std::vector<AffineTime>& times,
                                           unsigned long effort = largest_effort);

/// The largest number of live granules of each tensor in that order, which must be legal. Nothing as above.
[[nodiscard]] std::optional<std::vector<std::int64_t>> windows(const RowModel& model,
                                                               const std::vector<AffineTime>& times,
                                                               unsigned long effort = largest_effort);

}  // namespace stowage::stream
