/// Example:
///
///     stowage::Bytes size = 4 * 1024;       // sizes, offsets and addresses
///     stowage::Position last_read = 12;     // a place on a clock, which is what time is here
///     return size > last_read ? 0 : 1;
#pragma once

#include <cstdint>

namespace stowage {

/// A number of bytes: a size, an offset or an address. Signed, so that differences are safe.
using Bytes = std::int64_t;

/// A position in the sequence of steps of one clock.
using Position = std::int64_t;

/// The largest size, offset or position stowage accepts: half of what the type holds, so that the
/// sum of two valid values never overflows.
inline constexpr std::int64_t largest_value = std::int64_t{1} << 61;

}  // namespace stowage
