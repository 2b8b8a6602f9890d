#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/json.h"

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

/// Columns of one length, with their names.
class Table {
 public:
  Table(std::initializer_list<const char*> names)
      : names_(names.begin(), names.end()), columns_(names.size()) {}

  void add(std::initializer_list<std::int64_t> row) {
    std::size_t i = 0;
    for (const std::int64_t value : row) columns_[i++].add(value);
    ++rows_;
  }
  [[nodiscard]] exporting::Json json() const {
    exporting::Json json{{"rows", rows_}};
    for (std::size_t i = 0; i < names_.size(); ++i) json[names_[i]] = columns_[i].text();
    return json;
  }
  [[nodiscard]] std::int64_t rows() const { return rows_; }

 private:
  std::vector<std::string> names_;
  std::vector<Column> columns_;
  std::int64_t rows_ = 0;
};

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
