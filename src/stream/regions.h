#pragma once

#include <cstdint>
#include <functional>
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

/// Takes steps from a state and notes them.
class Walk {
 public:
  Walk(const RowProgram& program, State start) : program_(program), state_(std::move(start)) {}

  /// Runs the operator's next instance, and before it what it needs, as late as possible; all of it must be
  /// in the region or have run. False, and stopped where that is, if it is not or a step has more than
  /// `limit` bytes.
  [[nodiscard]] bool pull(std::size_t op, const Region& region, Bytes limit);

  /// Runs the operator's next instance; false, and it does not run, if it is not ready or has more than
  /// `limit` bytes.
  [[nodiscard]] bool take(std::size_t op, Bytes limit);

  /// Takes steps in the region that do not leave more bytes than there were, while there are any.
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

/// An order, the most bytes that are live in it, and the regions it was put together from.
struct RegionOrder {
  std::vector<IterationId> steps{};
  Bytes peak = 0;
  std::vector<Region> regions{};
};

/// What may be spent where one model after the other is tried.
struct TrialEffort {
  std::int64_t work = 0;  ///< Steps that are tried for one order at most.
  base::Deadline deadline{};
};

/// Runs a region from the state in which all operators before it have run, or a part of it if a step needs
/// more than the limit.
using RegionRunner = std::function<Walk(const State& start, const Region& region, Bytes limit)>;

/// The best order that runs the operators region by region. `work` is how many steps are tried at most; beyond
/// that, operators are regions of their own. Over the deadline there are no steps, and the peak is the largest
/// there is.
[[nodiscard]] RegionOrder order_by_regions(const RowProgram& program, std::int64_t work,
                                           const base::Deadline& deadline, const RegionRunner& run);
/// The same with each region pulled from its last operator.
[[nodiscard]] RegionOrder order_by_regions(const RowProgram& program, std::int64_t work,
                                           const base::Deadline& deadline = {});

/// The peak of that order; the largest there is if the deadline is over.
[[nodiscard]] Bytes least_peak_of(const RowModel& model, const TrialEffort& effort);

}  // namespace stowage::stream
