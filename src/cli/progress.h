#pragma once

#include "stowage/problem.h"

namespace stowage::cli {

/// Draws progress as one line on standard error, until `clear_progress_line`, if that is a terminal and the work takes
/// long; otherwise nothing. The line has what is tried, with the best so far, and the time of the limit that is left; it
/// moves on by itself. Create it behind the InterruptWatch: it has a thread.
[[nodiscard]] Progress progress_line(const SolveOptions& options = {.time_limit = {}});

/// Removes the line again.
void clear_progress_line();

}  // namespace stowage::cli
