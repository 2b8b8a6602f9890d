#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "check/stream_rows.h"
#include "stowage/plan.h"

namespace stowage::check {

/// An operator's sums, from its first rows to its last.
struct SumsLife {
  std::size_t op = 0;
  Sums sums{};
  Bytes bytes = 0;
  Lifetime life{};
};

/// A step in which an operator computes rows of its outputs, or all of them, from its inputs.
struct RowStep {
  std::size_t op = 0;
  Position at = 0;
  std::optional<std::size_t> axis{};  ///< Of the rows; none: it runs as a whole.
};

/// What the steps of a streamed plan come to.
struct PlayedRows {
  std::vector<std::vector<RowLife>> lives{};  ///< Of each tensor.
  std::vector<SumsLife> sums{};
  std::vector<RowStep> steps{};
  bool has_run_again = false;  ///< Rows were computed more than once.
};

/// Plays the steps; faults where they are not those of the network, or read rows that are not there yet.
[[nodiscard]] PlayedRows play_rows(const Streamed& it, const std::vector<TensorRows>& rows, Faults& faults);

}  // namespace stowage::check
