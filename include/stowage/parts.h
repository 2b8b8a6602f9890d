/// Example: which optional parts a program of these libraries has.
///
///     return stowage::has_isl() || !stowage::has_isl() ? 0 : 1;
#pragma once

#include <string>

namespace stowage {

/// Whether isl proves affine schedules and writes their loops.
[[nodiscard]] bool has_isl();

/// "oneDNN 2.6.3", the fast kernels of the runner; empty without them. Part of the library stowage_run.
[[nodiscard]] std::string name_of_fast_kernels();

}  // namespace stowage
