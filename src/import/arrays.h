#pragma once

#include <string_view>

#include "stowage/network.h"

namespace stowage::import {

/// True if the bytes begin like an npy file.
[[nodiscard]] bool looks_like_npy(std::string_view bytes);

/// The array of an npy file, versions 1.0 to 3.0, in row-major order and little-endian. Throws Error with the
/// place and what was expected, unless it is a whole file of booleans or numbers.
[[nodiscard]] Array parse_npy(std::string_view bytes);

}  // namespace stowage::import
