#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stowage/plan.h"
#include "stream/model.h"
#include "stream/program.h"

namespace stowage::stream {

/// Steps that write or read a granule, while its bytes must not move.
struct RowAccess {
  Position first = 0;
  Position last = 0;
  Bytes bytes = 0;      ///< That operators read and write.
  bool writes = false;  ///< It is there from this access on: written, given or arrived.
};

/// An order of iterations as the steps of a plan, and live ranges.
struct RowTimetable {
  std::vector<Step> steps{};  ///< Of model 0.
  /// Of each tensor's granules: from the writing to after the last reading.
  std::vector<std::vector<Lifetime>> lives{};
  /// Of each tensor's granules: bytes that operators read and write, at most `largest_value`.
  std::vector<std::vector<Bytes>> traffic{};
  /// Of each tensor's granules, in the order of time, if they are wanted.
  std::vector<std::vector<std::vector<RowAccess>>> accesses{};
  std::vector<std::optional<Lifetime>> sums{};  ///< Of each operator that keeps sums.
  /// Of each operator that keeps sums: its steps, and those of the second pass.
  std::vector<std::vector<std::size_t>> summing{};
  std::vector<bool> is_second_pass{};  ///< Of each step.
};

/// The rows of a granule. The tensor must have rows.
[[nodiscard]] RowRange rows_of(const Tensor& tensor, std::int64_t granule);

/// The order must be legal. If an output leaves by rows, a step for that follows each step that writes some.
[[nodiscard]] RowTimetable timetable_of(const RowModel& model, const RowProgram& program,
                                        std::span<const IterationId> order, bool wants_accesses = false);

}  // namespace stowage::stream
