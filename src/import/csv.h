#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/problem.h"

namespace stowage::import {

/// Reads comma-separated rows after a header line, in any column order. Fields may be quoted as in
/// RFC 4180; blank lines are passed over. Errors name the line.
class CsvReader {
 public:
  /// Reads the header. Throws Error for a column that is not in `known` or comes twice.
  CsvReader(std::string_view text, std::span<const std::string_view> known);

  /// Reads a header of any columns, for telling what a file is; empty where there is no text.
  explicit CsvReader(std::string_view text);

  [[nodiscard]] bool has_column(std::string_view column) const;

  /// Goes to the next row; false after the last. Throws Error for a row with too few or many fields.
  bool next();

  /// The field of a column in this row, trimmed; empty when there is no such column.
  [[nodiscard]] std::string_view text(std::string_view column) const;

  /// Nothing for an empty field or no such column. Throws Error for anything but a whole number.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view column) const;

  /// As `number`; throws Error for an empty field too.
  [[nodiscard]] std::int64_t required_number(std::string_view column) const;

  /// Where the present row is: "line 3".
  [[nodiscard]] std::string place() const;

 private:
  bool read_line();
  std::string read_quoted();

  std::string_view rest_;
  std::size_t line_ = 0;
  std::vector<std::string> columns_;
  std::vector<std::string> fields_;
};

/// Reads a buffer list: columns `id,lower,upper,size` in any order (or `end`, inclusive, for
/// `upper`), optional `alignment`, `offset` (pins the buffer) and `gaps`: `lo-hi` for positions at
/// which nothing of the buffer is needed, or `lo-hi@wlo:whi` where only bytes wlo to whi are, as
/// many as there are, separated by spaces. All ranges are half-open. Throws Error with the line.
[[nodiscard]] Problem read_buffer_csv(std::string_view text);

/// Reads a sequence of memory operations: columns `op,name,size,alignment` in any order, `op` being
/// `alloc` or `free`. Row i is position i; what is never freed lives to the end. A name may be
/// allocated again once it is freed: that is another buffer, `name#2`. Throws Error with the line.
[[nodiscard]] Problem read_operations_csv(std::string_view text);

}  // namespace stowage::import
