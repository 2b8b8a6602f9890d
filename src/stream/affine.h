#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "stream/model.h"
#include "stream/program.h"
#include "stream/regions.h"

namespace stowage::stream {

/// When the iterations of an operator run: iteration i at scale * i + shift. Positions order the iterations
/// of one time.
struct AffineTime {
  std::int64_t scale = 1;  ///< At least 1: iterations ascend.
  std::int64_t shift = 0;
  std::int64_t position = 0;  ///< Different for every operator.

  bool operator==(const AffineTime&) const = default;
};

/// An affine schedule: a time for each operator, and the order that follows.
struct AffineOrder {
  std::vector<AffineTime> times{};
  std::vector<IterationId> steps{};
  Bytes peak = 0;  ///< Most live bytes of a step.
  std::vector<Region> regions{};
};

/// The affine schedule of least peak that the search finds; see affine.cc. It ends early when the peak is at
/// most `target`. None if time is up before a schedule is found, or if recomputed rows allow none.
[[nodiscard]] std::optional<AffineOrder> affine_order(const RowModel& model, const RowProgram& program,
                                                      Bytes target, const TrialEffort& effort);

/// The same for operators that run together: the first `operators` of the program, which need none of the others. Their
/// shifts are then the same for inputs of any length, as far as no end decides them. None if no schedule is legal, or
/// time is up.
[[nodiscard]] std::optional<std::vector<AffineTime>> times_together(const RowModel& model,
                                                                    const RowProgram& program,
                                                                    std::size_t operators, Bytes target,
                                                                    const TrialEffort& effort);

/// The iterations in the order of their times.
[[nodiscard]] std::vector<IterationId> order_of(const RowProgram& program,
                                                const std::vector<AffineTime>& times);

}  // namespace stowage::stream
