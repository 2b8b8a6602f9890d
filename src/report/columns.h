#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stowage::report {

/// Numbers as text: the difference of each to the one before it, zigzag (0, -1, 1, -2, ...), in groups of 7
/// bits, lowest first, each but the last with the bit 128 set; all bytes in base64. Neighbours are mostly close
/// to each other, so most numbers take one or two letters.
class Column {
 public:
  void add(std::int64_t value);
  [[nodiscard]] std::string text() const;

 private:
  std::string bytes_{};
  std::int64_t last_ = 0;
};

[[nodiscard]] std::string base64(std::string_view bytes);

/// Texts that columns refer to by index, each once. A text is written without the letters that it shares with
/// the one before it.
class Texts {
 public:
  [[nodiscard]] std::int64_t index_of(const std::string& text);
  [[nodiscard]] const std::vector<std::string>& all() const { return texts_; }

 private:
  std::vector<std::string> texts_{};
  std::unordered_map<std::string, std::int64_t> index_of_{};
};

}  // namespace stowage::report
