#pragma once

#include <string_view>

namespace stowage::report {

/// The page of report-ui/ as it is built. Data stands in place of `data_mark`.
[[nodiscard]] std::string_view page();

inline constexpr std::string_view data_mark = "@stowage-data@";

}  // namespace stowage::report
