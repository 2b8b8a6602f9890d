#pragma once

#include <cstdint>

#include "model/row_rules.h"

namespace stowage::model {

/// Multiplies of a run of a convolution or product, those in the padding included; 0 of other operators, and
/// where there would be too many to count.
[[nodiscard]] std::int64_t multiplies_of(const Site& site);

/// Multiplies of rows [begin, end) of an operator that has `extent` rows and that many multiplies in all. What
/// rows do not share evenly is counted with the first rows.
[[nodiscard]] std::int64_t multiplies_of_rows(std::int64_t multiplies, std::int64_t extent,
                                              std::int64_t begin, std::int64_t end);

}  // namespace stowage::model
