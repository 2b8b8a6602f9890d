#include "base/text.h"

#include <algorithm>
#include <charconv>

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

constexpr std::size_t most_digits = 9;  // behind a point: with them, a part of a GiB has 60 bits

/// What one of a unit is in bytes: K and KiB are 1024, kB and KB are 1000. No unit is 1.
std::optional<Bytes> unit_of(std::string_view text) {
  if (text.empty() || text == "B") return 1;
  constexpr std::string_view letters = "kmg";
  const auto lower = [](char letter) { return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter; };
  const std::size_t power = letters.find(static_cast<char>(lower(text[0])));
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(1);
  const bool is_binary = rest.empty() || ((rest.size() == 1 || (rest.size() == 2 && lower(rest[1]) == 'b')) &&
                                          lower(rest[0]) == 'i');
  const bool is_decimal = rest.size() == 1 && lower(rest[0]) == 'b';
  if (!is_binary && !is_decimal) return std::nullopt;
  Bytes unit = 1;
  for (std::size_t i = 0; i <= power; ++i) unit *= is_binary ? 1024 : 1000;
  return unit;
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
  const std::size_t end = text.find_first_not_of("0123456789.");
  const auto unit = unit_of(trim(text.substr(std::min(end, text.size()))));
  const std::string_view number = text.substr(0, end);
  const std::size_t point = number.find('.');
  const auto whole = parse_integer(number.substr(0, point));
  if (!unit || !whole) return std::nullopt;
  auto bytes = checked_multiply(*whole, *unit);
  if (bytes && point != std::string_view::npos) {
    const std::string_view digits = number.substr(point + 1);
    const auto part = parse_integer(digits);
    if (*unit == 1 || digits.size() > most_digits || !part) return std::nullopt;
    std::int64_t scale = 1;
    for (std::size_t i = 0; i < digits.size(); ++i) scale *= 10;
    bytes = checked_add(*bytes, *part * *unit / scale);
  }
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
