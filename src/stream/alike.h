#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stream/program.h"

namespace stowage::stream {

/// An earlier stretch of operators that is like the one before an operator.
struct AlikeStretch {
  std::size_t period = 0;  ///< So many operators earlier; 0 if there is none.
  std::size_t length = 0;  ///< Operators of the stretch.
};

/// For each place between operators, the stretch before it that is most like an earlier one.
[[nodiscard]] std::vector<AlikeStretch> alike_stretches(const RowProgram& program);

}  // namespace stowage::stream
