#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "stream/program.h"

namespace stowage::stream {

/// Operators [begin, end).
struct Region {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] bool has(std::size_t op) const { return begin <= op && op < end; }
};

/// Runs steps from a state and records them.
class Walk {
 public:
  Walk(const RowProgram& program, State start) : program_(program), state_(std::move(start)) {}

  /// Runs the operator's next iteration, and before it what it needs, as late as possible. Stops and returns
  /// false if a need is outside the region and has not run, or a step has more than `limit` bytes.
  [[nodiscard]] bool pull(std::size_t op, const Region& region, Bytes limit);

  /// Runs the operator's next iteration. False, and it does not run, if it is not ready or has more than
  /// `limit` bytes.
  [[nodiscard]] bool take(std::size_t op, Bytes limit);

  /// Runs steps in the region that do not raise the live bytes, while any are ready.
  void settle(const Region& region, Bytes limit);

  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] const std::vector<IterationId>& steps() const { return steps_; }
  [[nodiscard]] Bytes peak() const { return peak_; }

 private:
  [[nodiscard]] bool run(std::size_t op, Bytes limit);

  const RowProgram& program_;
  State state_;
  std::vector<IterationId> steps_;
  Bytes peak_ = 0;
};

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

/// Runs a region after all operators before it. Stops at a step that needs more than the limit.
using RegionRunner = std::function<Walk(const State& start, const Region& region, Bytes limit)>;

/// The best order that runs the operators region by region. Tries at most `work` steps; after that, operators
/// are regions of their own. After the deadline the order has no steps, and its peak is the largest value.
[[nodiscard]] RegionOrder order_by_regions(const RowProgram& program, std::int64_t work,
                                           const base::Deadline& deadline, const RegionRunner& run);
/// The same with each region pulled from its last operator.
[[nodiscard]] RegionOrder order_by_regions(const RowProgram& program, std::int64_t work,
                                           const base::Deadline& deadline = {});

/// The peak of that order; the largest value if it exceeds the limit, or after the deadline.
[[nodiscard]] Bytes least_peak_of(const RowModel& model, const TrialEffort& effort,
                                  Bytes limit = std::numeric_limits<Bytes>::max());

}  // namespace stowage::stream
