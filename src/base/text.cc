#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/checked.h"

namespace stowage::base {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

/// The length of the valid UTF-8 character at the start of a text; 0 if none is there.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const bool is_overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool is_beyond = first == 0xf4 && byte(1) >= 0x90;
  return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<Bytes> parse_size(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, Bytes>, 6> units{{{"KiB", 1LL << 10},
                                                                            {"MiB", 1LL << 20},
                                                                            {"GiB", 1LL << 30},
                                                                            {"KB", 1'000},
                                                                            {"MB", 1'000'000},
                                                                            {"GB", 1'000'000'000}}};
  Bytes unit = 1;
  for (const auto& [suffix, value] : units) {
    if (text.ends_with(suffix)) {
      text.remove_suffix(suffix.size());
      unit = value;
      break;
    }
  }
  const auto number = parse_integer(text);
  if (!number || *number < 0) return std::nullopt;
  const auto bytes = checked_multiply(*number, unit);
  if (!bytes || *bytes > largest_value) return std::nullopt;
  return bytes;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

std::string visible(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const bool is_c1 = length == 2 && byte(0) == 0xc2 && byte(1) < 0xa0;  // U+0080 to U+009F
    if (is_c1 || (length == 1 && (byte(0) < 0x20 || byte(0) == 0x7f))) {
      constexpr std::string_view digits = "0123456789abcdef";
      const unsigned code = byte(length - 1);
      result += "\\x";
      for (const unsigned digit : {code / 16, code % 16}) result += digits[digit];
    } else {
      result += length > 0 ? text.substr(0, length) : replacement;
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string visible_lines(std::string_view text) {
  std::string result;
  for (const std::string_view line : split(text, '\n')) {
    result += visible(line);
    result += '\n';
  }
  result.pop_back();
  return result;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 120;
  return "'" + visible(text.substr(0, longest)) + (text.size() > longest ? "...'" : "'");
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    result += length > 0 ? text.substr(0, length) : replacement;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

}  // namespace stowage::base
