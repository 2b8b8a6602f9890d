#pragma once

#include <string_view>

#include "stowage/problem.h"

namespace stowage::import {

/// Reads a buffer list: columns `id,lower,upper,size` in any order (or `end`, inclusive, for
/// `upper`), optional `alignment`, `offset` (pins the buffer) and `gaps`: `lo-hi` for positions at
/// which nothing of the buffer is needed, or `lo-hi@wlo:whi` where only bytes wlo to whi are, as
/// many as there are, separated by spaces. All ranges are half-open. Throws Error with the line.
[[nodiscard]] Problem read_buffer_csv(std::string_view text);

}  // namespace stowage::import
