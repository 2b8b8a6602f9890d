#pragma once

#include <vector>

#include "base/overlap.h"
#include "stowage/problem.h"

namespace stowage::check {

/// The bytes of a buffer that none of its pieces reserves, by time, from 0 to `largest_value`. None if two pieces
/// overlap, which check_places reports.
[[nodiscard]] std::vector<base::Box> free_bytes(const Buffer& buffer);

}  // namespace stowage::check
