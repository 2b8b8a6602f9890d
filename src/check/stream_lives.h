#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "check/stream_rows.h"
#include "stowage/plan.h"

namespace stowage::check {

/// The sums of an operator, from its first rows to its last.
struct SumsLife {
  std::size_t op = 0;
  Sums sums{};
  Bytes bytes = 0;
  Lifetime life{};
};

/// A step in which an operator computes rows of its outputs, or whole outputs, from its inputs.
struct RowStep {
  std::size_t op = 0;
  Position at = 0;
  std::optional<std::size_t> axis{};  ///< Axis of the rows; none: it runs as a whole.
};

/// Result of playing the steps of a streamed plan.
struct PlayedRows {
  std::vector<std::vector<RowLife>> lives{};  ///< Of each tensor.
  std::vector<SumsLife> sums{};
  std::vector<RowStep> steps{};
  bool has_run_again = false;  ///< Rows were computed more than once.
};

/// Plays the steps. Steps that the network does not have and reads of absent rows are faults.
[[nodiscard]] PlayedRows play_rows(const Streamed& it, const std::vector<TensorRows>& rows, Faults& faults);

}  // namespace stowage::check
