#pragma once

#include <fmt/format.h>

#include <string>

namespace stowage::base {

/// A share in percent, as all texts have it: "4.76".
[[nodiscard]] inline std::string in_percent(double share) {
  constexpr double percent = 100;
  return fmt::format("{:.2f}", percent * share);
}

}  // namespace stowage::base
