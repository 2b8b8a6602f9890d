#pragma once

#include <cstdint>

namespace stowage::model {

/// The multiplications of rows [begin, end) of an operator with `extent` rows and `multiplies` in all. The
/// remainder of an uneven division counts with the first rows.
[[nodiscard]] std::int64_t multiplies_of_rows(std::int64_t multiplies, std::int64_t extent,
                                              std::int64_t begin, std::int64_t end);

}  // namespace stowage::model
