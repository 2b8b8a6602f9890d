#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace stowage::base {

/// One enumerator and its name in files and messages.
template <typename Enum>
struct Name {
  Enum value;
  std::string_view name;
};

template <typename Enum, std::size_t count>
[[nodiscard]] constexpr std::string_view name_in(const std::array<Name<Enum>, count>& names, Enum value) {
  for (const auto& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return {};
}

template <typename Enum, std::size_t count>
[[nodiscard]] constexpr std::optional<Enum> value_in(const std::array<Name<Enum>, count>& names,
                                                     std::string_view name) {
  for (const auto& entry : names) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

}  // namespace stowage::base
