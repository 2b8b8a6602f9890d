#pragma once

#include <string_view>
#include <vector>

namespace stowage::model {

/// All types for which `updates_in_place` holds for some input.
[[nodiscard]] std::vector<std::string_view> types_updated_in_place();

}  // namespace stowage::model
