#pragma once

#include "stowage/problem.h"

namespace stowage::cli {

/// Draws progress as one line on standard error if that is a terminal and the work takes long; otherwise
/// nothing.
[[nodiscard]] Progress progress_line();

/// Removes the line again.
void clear_progress_line();

}  // namespace stowage::cli
