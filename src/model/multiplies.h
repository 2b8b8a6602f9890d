#pragma once

#include <cstdint>

#include "model/row_rules.h"

namespace stowage::model {

/// Multiplies of a run of a convolution or product, those in the padding included; 0 of other operators, and
/// where there would be too many to count.
[[nodiscard]] std::int64_t multiplies_of(const Site& site);

}  // namespace stowage::model
