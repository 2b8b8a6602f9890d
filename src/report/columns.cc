#include "report/columns.h"

#include <cstddef>

namespace stowage::report {

void Column::add(std::int64_t value) {
  // Differences of unsigned numbers wrap around: no value overflows.
  const std::uint64_t difference = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(last_);
  last_ = value;
  constexpr unsigned sign_bit = 63;
  constexpr std::uint64_t low_bits = 127;
  constexpr std::uint64_t more = 128;
  std::uint64_t rest = (difference << 1) ^ ((difference >> sign_bit) != 0 ? ~std::uint64_t{0} : 0);
  for (; rest > low_bits; rest >>= 7) bytes_ += static_cast<char>((rest & low_bits) | more);
  bytes_ += static_cast<char>(rest);
}

std::string Column::text() const { return base64(bytes_); }

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? letters[group >> (18 - 6 * k) & 63U] : '=';
  }
  return text;
}

std::int64_t Texts::index_of(const std::string& text) {
  const auto [it, is_new] = index_of_.emplace(text, static_cast<std::int64_t>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return it->second;
}

}  // namespace stowage::report
