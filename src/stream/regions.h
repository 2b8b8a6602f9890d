#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "stream/program.h"
#include "stream/region_peaks.h"
#include "stream/walk.h"

namespace stowage::stream {

/// An order, its most live bytes, and the regions that it consists of.
struct RegionOrder {
  std::vector<IterationId> steps{};
  Bytes peak = 0;
  std::vector<Region> regions{};
};

/// The effort for trying one model after another.
struct TrialEffort {
  std::int64_t work = 0;  ///< The most steps to try for one order.
  base::Deadline deadline{};
};

/// A memory that is too small for what an order needs, beside one that is slower.
struct FastMemory {
  Bytes capacity = 0;
  std::vector<Bytes> weights{};  ///< Of each operator: bytes that each of its iterations reads.
};

struct RegionOptions {
  std::int64_t work = 0;  ///< The most steps to try; after that, operators are regions of their own.
  Bytes limit = std::numeric_limits<Bytes>::max();  ///< Higher peaks are as good as none.
  /// If it is given, regions are chosen by about how many bytes are read and written outside it, and not by the peak.
  std::optional<FastMemory> fast{};
  bool reuses = true;  ///< Peaks of regions hold for other stretches of operators that are alike.
  base::Deadline deadline{};
};

/// The best order that runs the operators region by region. After the deadline the order has no steps, and its peak
/// is the largest value; so it is if the peak exceeds the limit.
[[nodiscard]] RegionOrder order_by_regions(const RowProgram& program, const RegionOptions& options,
                                           const RegionSteps& steps_of);
/// The same with each region pulled from its last operator.
[[nodiscard]] RegionOrder order_by_regions(const RowProgram& program, const RegionOptions& options);
[[nodiscard]] inline RegionOrder order_by_regions(const RowProgram& program, std::int64_t work,
                                                  const base::Deadline& deadline = {}) {
  return order_by_regions(program, {.work = work, .deadline = deadline});
}

/// The peak of that order; the largest value if it exceeds the limit, or after the deadline.
[[nodiscard]] Bytes least_peak_of(const RowModel& model, const TrialEffort& effort,
                                  Bytes limit = std::numeric_limits<Bytes>::max());

}  // namespace stowage::stream
