/// Example:
///
///     stowage::Bytes size = 4 * 1024;       // sizes, offsets and addresses
///     stowage::Position last_read = 12;     // an index in the steps of a clock, which is time here
///     return size > last_read ? 0 : 1;
#pragma once

#include <cstdint>

namespace stowage {

/// A number of bytes: a size, an offset or an address. Signed, so that differences are safe.
using Bytes = std::int64_t;

/// An index in the sequence of steps of one clock; time is counted in positions.
using Position = std::int64_t;

/// The largest size, offset or position that stowage accepts. The sum of two such values does not overflow.
inline constexpr std::int64_t largest_value = std::int64_t{1} << 61;

}  // namespace stowage
