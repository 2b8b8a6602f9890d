#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stowage/units.h"

namespace stowage::base {

/// A whole decimal integer, with an optional minus; nothing for anything else or out of range.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

/// A size such as "4096", "256KiB", "64 K" or "1.5MB": kB, MB, GB are powers of 1000; K, M, G and KiB, MiB, GiB of 1024,
/// in upper or lower case. A part of a byte is left out. Nothing for anything else, for negative values and for values
/// beyond `largest_value`.
[[nodiscard]] std::optional<Bytes> parse_size(std::string_view text);

/// Texts and whole numbers one after the other.
template <typename... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::string text;
  const auto add = [&](const auto& part) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(part)>>) {
      text += std::to_string(part);
    } else {
      text += part;
    }
  };
  (add(parts), ...);
  return text;
}

/// The parts of `text` between separators; one empty part for an empty text.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// Without blanks, tabs and carriage returns at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

/// The text with control characters as "\x1b" (also those of Unicode, and line breaks), and bytes that are not
/// UTF-8 as U+FFFD.
[[nodiscard]] std::string visible(std::string_view text);

/// The same, but lines stay lines.
[[nodiscard]] std::string visible_lines(std::string_view text);

/// As `visible`, in quotes, truncated at 120 bytes: for untrusted values in messages.
[[nodiscard]] std::string quoted(std::string_view text);

/// A word as a shell takes it, in quotes where it needs them.
[[nodiscard]] std::string shell_word(std::string_view word);

[[nodiscard]] bool is_utf8(std::string_view text);

/// The text with every byte that is not part of valid UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string as_utf8(std::string_view text);

}  // namespace stowage::base
