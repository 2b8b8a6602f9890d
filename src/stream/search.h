#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "stream/program.h"

namespace stowage::stream {

struct SearchOptions {
  Bytes target = 0;                ///< A peak that is good enough: a bound or a capacity.
  std::int64_t work = 20'000'000;  ///< The most rows to pull in tries.
  base::Deadline deadline{};       ///< Returns the best order by then.
};

/// An order whose peak is no higher than that of the given one, which must be legal.
[[nodiscard]] std::vector<IterationId> improve(const RowProgram& program, std::span<const IterationId> order,
                                               const SearchOptions& options);

}  // namespace stowage::stream
