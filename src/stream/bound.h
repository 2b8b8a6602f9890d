#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "base/deadline.h"
#include "stream/program.h"

namespace stowage::stream {

struct BoundOptions {
  std::int64_t most_cuts = 0;  ///< Minimum cuts for iterations that may be computed, and as many for races.
  Bytes enough = std::numeric_limits<Bytes>::max();  ///< A higher bound is not needed.
  base::Deadline deadline{};
};

struct Bound {
  Bytes bytes = 0;          ///< No order needs less.
  std::int64_t cuts = 0;    ///< Minimum cuts computed.
  bool is_complete = true;  ///< Every iteration was considered; else more cuts might prove more.
};

/// A lower bound on the peak of every order, by minimum cuts. `order` is any legal order; a better one needs
/// fewer cuts. With too few cuts, or a cut that the deadline ends, the bound is weaker but valid. An
/// iteration that may write over its inputs does so where that is less.
[[nodiscard]] Bound lower_bound(const RowProgram& program, std::span<const IterationId> order,
                                const BoundOptions& options);

}  // namespace stowage::stream
