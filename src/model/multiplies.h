#pragma once

#include <cstdint>
#include <optional>

#include "model/row_rules.h"

namespace stowage::model {

/// The multiplications of one run of a convolution or product, including those in the padding; 0 for other
/// operators, none if there are too many to count.
[[nodiscard]] std::optional<std::int64_t> multiplies_of(const Site& site);

/// The multiplications of rows [begin, end) of an operator with `extent` rows and `multiplies` in all. The
/// remainder of an uneven division counts with the first rows.
[[nodiscard]] std::int64_t multiplies_of_rows(std::int64_t multiplies, std::int64_t extent,
                                              std::int64_t begin, std::int64_t end);

}  // namespace stowage::model
