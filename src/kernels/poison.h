#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define STOWAGE_HAS_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STOWAGE_HAS_SHADOW 1
#endif
#endif

namespace stowage::kernels {

/// In a build with AddressSanitizer, aborts the program if one of these bytes must not be touched, as
/// touching it would. For loops over whole rows: checks of single elements would take most of the time.
void expect_accessible(const void* begin, std::size_t size);

}  // namespace stowage::kernels
