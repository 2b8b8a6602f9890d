#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stream/model.h"
#include "stream/program.h"

namespace stowage::stream {

/// When the instances of an operator run: instance i at scale * i + shift, and what runs at the same time in
/// the order of positions.
struct AffineTime {
  std::int64_t scale = 1;  ///< At least 1: instances ascend.
  std::int64_t shift = 0;
  std::int64_t position = 0;  ///< Different for every operator.
};

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

/// The order as a list.
[[nodiscard]] std::vector<IterationId> order_of(const RowProgram& program,
                                                const std::vector<AffineTime>& times);

}  // namespace stowage::stream
