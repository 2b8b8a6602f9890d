/// Example: whether this is the version that a program was written for.
///
///     return stowage::version_major == 0 && stowage::version.starts_with("0.") ? 0 : 1;
#pragma once

#include <string_view>

namespace stowage {

/// The version of stowage. CMake and the Python package read it from this line.
inline constexpr std::string_view version = "0.1.0";
/// Its parts.
inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

}  // namespace stowage
