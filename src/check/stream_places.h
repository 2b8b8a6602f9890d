#pragma once

#include <span>
#include <vector>

#include "check/stream_lives.h"
#include "check/stream_rows.h"
#include "stowage/plan.h"

namespace stowage::check {

/// Rows that lie in one view from their write to their last read. Row r begins at
/// `first + (r - rows.first) * step` of the buffer, and is `outer` runs of `run` bytes, `stride` bytes apart.
struct PlacedRows {
  TensorId tensor = 0;
  Rows rows{};
  Lifetime life{};
  const View* view = nullptr;
  Bytes first = 0;
  Bytes step = 0;
  Bytes run = 0;
  Bytes stride = 0;
  std::int64_t outer = 1;

  [[nodiscard]] Bytes at(std::int64_t row) const { return first + (row - rows.first) * step; }
  [[nodiscard]] bool is_whole() const { return !view->ring && !view->rows; }
};

/// Finds the view that holds each row during its whole live range; none, or more than one, is a fault.
/// Cost: n log n in live ranges and views, if no two views are live together.
void place_rows(const Streamed& it, TensorId tensor, const TensorRows& rows, std::span<const RowLife> lives,
                std::vector<PlacedRows>& placed, Faults& faults);

}  // namespace stowage::check
