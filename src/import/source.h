#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace stowage::import {

/// A model file's bytes, as its reader gets them.
struct Source {
  std::string_view bytes{};
  std::filesystem::path folder{};        ///< Where other files that it names are looked for.
  std::shared_ptr<const void> holder{};  ///< What the bytes lie in; null where only the caller knows.
};

/// The same file in a copy of its bytes, which a vector's alignment has and `holder` holds.
[[nodiscard]] Source copy_of(const Source& source);

/// The file as it is, or a copy where nothing holds it: so that the bytes stay where they are.
[[nodiscard]] Source held(const Source& source);

}  // namespace stowage::import
