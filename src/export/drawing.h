#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stowage::exporting {

/// Text as it is written in XML.
[[nodiscard]] std::string escaped(std::string_view text);

/// A round distance between marks, so that there are at most `count` of them up to `range`.
[[nodiscard]] std::int64_t step_of_marks(std::int64_t range, std::int64_t count, std::int64_t base);

}  // namespace stowage::exporting
