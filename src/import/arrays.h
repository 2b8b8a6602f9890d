#pragma once

#include <string_view>

#include "stowage/network.h"

namespace stowage::import {

/// Whether the bytes begin as npy files do.
[[nodiscard]] bool looks_like_npy(std::string_view bytes);

/// The array of an npy file, versions 1.0 to 3.0, in row-major order and little-endian. Throws Error, saying
/// where and what was expected, for anything but a whole file of booleans or numbers.
[[nodiscard]] Array parse_npy(std::string_view bytes);

}  // namespace stowage::import
