#pragma once

#include <vector>

#include "check/row_lives.h"
#include "check/row_places.h"
#include "check/tensor_rows.h"
#include "stowage/import.h"

namespace stowage::check {

/// Everything that holds bytes while a streamed plan runs.
struct Holders {
  std::vector<PlacedRows> rows{};
  std::vector<SumsLife> sums{};
  const Constants* constants = nullptr;  ///< Null: nothing is known of them.
};

/// In every buffer live pieces have the bytes of what is held there, and no two hold the same byte at the
/// same position, except for constants with equal data. Cost: n log n in runs of bytes.
void check_row_bytes(const Streamed& it, const std::vector<TensorRows>& rows, const Holders& holders,
                     Faults& faults);

}  // namespace stowage::check
