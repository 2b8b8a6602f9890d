#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>

#include "stowage/graph.h"

namespace stowage::import {

/// "float32[2,3]", as recipes of constants name it; none for tensors of text or of unknown shape.
[[nodiscard]] inline std::optional<std::string> type_in_words(const Tensor& tensor) {
  if (!tensor.shape || !bits_of(tensor.dtype)) return std::nullopt;
  return fmt::format("{}[{}]", name_of(tensor.dtype), fmt::join(*tensor.shape, ","));
}

}  // namespace stowage::import
