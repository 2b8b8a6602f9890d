#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/problem.h"

namespace stowage::import {

/// Another name of a column.
struct ColumnName {
  std::string_view given{};
  std::string_view known{};
};

/// Reads comma-separated rows after a header line, in any column order. Fields may be quoted as in RFC 4180;
/// blank lines are skipped. Errors name the line.
class CsvReader {
 public:
  /// Reads the header, in which columns may have other names. Throws Error for a column that is repeated or not in
  /// `known`.
  CsvReader(std::string_view text, std::span<const std::string_view> known,
            std::span<const ColumnName> others = {});

  /// Reads a header of any columns, to detect the format; empty if there is no text.
  explicit CsvReader(std::string_view text);

  [[nodiscard]] bool has_column(std::string_view column) const;

  /// Goes to the next row; false after the last. Throws Error for a row with too few or many fields.
  bool next();

  /// The field of a column in this row, trimmed; empty if the column is missing. Valid until the next row.
  [[nodiscard]] std::string_view text(std::string_view column) const;

  /// None for an empty field or a missing column. Throws Error unless it is an integer.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view column) const;

  /// Like `number`; throws Error for an empty field too.
  [[nodiscard]] std::int64_t required_number(std::string_view column) const;

  /// Place of the present row: "line 3".
  [[nodiscard]] std::string place() const;

 private:
  bool read_line();
  std::string read_quoted();

  std::string_view rest_;
  std::size_t line_ = 0;
  std::vector<std::string> columns_;
  std::vector<std::string_view> fields_;
  std::deque<std::string> quoted_;  ///< Fields of this row that were quoted; all others are in the text.
};

/// Whether the header is that of a buffer list: it has ids, or other names of ids, lives and sizes.
[[nodiscard]] bool looks_like_buffer_csv(std::string_view text);

/// Reads a buffer list: columns `id,lower,upper,size` in any order (or `end`, inclusive, instead of `upper`);
/// optional are `alignment`, `offset` (pins the buffer) and `gaps`. A gap is `lo-hi`, positions at which no
/// byte is needed, or `lo-hi@wlo:whi`, at which only bytes wlo to whi are; spaces separate gaps. All ranges
/// are half-open, but with `end` the last position of a gap belongs to it, too, as minimalloc has it. Its names
/// `buffer_id` or `buffer` for `id`, `start` or `begin` for `lower` are read as well. Throws Error with the line.
[[nodiscard]] Problem read_buffer_csv(std::string_view text);

/// Reads a sequence of memory operations: columns `op,name,size,alignment` in any order, `op` being `alloc`
/// or `free`. Row i is position i; buffers that are never freed live to the end. A freed name may be
/// allocated again: that is another buffer, `name#2`. Throws Error with the line.
[[nodiscard]] Problem read_operations_csv(std::string_view text);

}  // namespace stowage::import
