#pragma once

#include <cstddef>

namespace stowage::run {

/// In a build with AddressSanitizer, ends the program if one of these bytes must not be touched, as touching
/// it would. For loops that look at whole rows instead of single elements, which would take most of the time.
void expect_accessible(const void* begin, std::size_t size);

}  // namespace stowage::run
