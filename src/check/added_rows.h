#pragma once

#include <cstdint>
#include <vector>

#include "check/tensor_rows.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::check {

/// Rows of an output that are added up, from the first part to the last.
struct AddedRows {
  RowRange rows{};
  Position since = 0;
  std::vector<Rows> missing{};  ///< Of the input, ascending.
  std::int64_t next = 0;        ///< Rows of the input before this one were in a part.

  /// Whether a part begins with the first row that is missing, and has none that was in a part.
  [[nodiscard]] bool is_next(const Rows& part) const;

  /// What was missing of the rows up to the end of the part.
  [[nodiscard]] std::vector<Rows> take(const Rows& part);
};

}  // namespace stowage::check
