#pragma once

#include <string_view>

#include "stowage/problem.h"

namespace stowage::import {

/// Reads a sequence of memory operations: columns `op,name,size,alignment` in any order, `op` being
/// `alloc` or `free`. Row i is position i; what is never freed lives to the end. A name may be
/// allocated again once it is freed: that is another buffer, `name#2`. Throws Error with the line.
[[nodiscard]] Problem read_operations_csv(std::string_view text);

}  // namespace stowage::import
