#pragma once

#include <string>
#include <string_view>

namespace stowage::cli {

/// A word as a shell takes it: in quotes if it has other characters than letters, digits and a few signs.
[[nodiscard]] std::string quoted_for_shell(std::string_view word);

}  // namespace stowage::cli
