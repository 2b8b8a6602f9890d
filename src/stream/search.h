#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "stream/program.h"

namespace stowage::stream {

struct SearchOptions {
  Bytes target = 0;                ///< Good enough: a bound, or what a memory holds.
  std::int64_t work = 20'000'000;  ///< Rows that are pulled at most, as a try.
  base::Deadline deadline{};       ///< Then the best order so far is returned.
};

/// An order with a peak that is no higher than that of the given one, which must be legal.
[[nodiscard]] std::vector<IterationId> improve(const RowProgram& program, std::span<const IterationId> order,
                                               const SearchOptions& options);

}  // namespace stowage::stream
