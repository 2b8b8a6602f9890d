#include "import/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text;
}

}  // namespace

CsvReader::CsvReader(std::string_view text) : rest_(without_byte_order_mark(text)) {
  read_line();
  columns_ = fields_;
}

CsvReader::CsvReader(std::string_view text, std::span<const std::string_view> known) : CsvReader(text) {
  if (columns_.empty())
    throw Error("line 1", fmt::format("there is no header, expected {}", fmt::join(known, ",")));
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (std::find(known.begin(), known.end(), columns_[c]) == known.end()) {
      throw Error(place(), fmt::format("unknown column {}, expected some of {}", base::quoted(columns_[c]),
                                       fmt::join(known, ",")));
    }
    if (std::find(columns_.begin(), columns_.begin() + static_cast<std::ptrdiff_t>(c), columns_[c]) !=
        columns_.begin() + static_cast<std::ptrdiff_t>(c)) {
      throw Error(place(), fmt::format("column {} comes twice", base::quoted(columns_[c])));
    }
  }
}

bool CsvReader::has_column(std::string_view column) const {
  return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
}

bool CsvReader::next() {
  if (!read_line()) return false;
  if (fields_.size() != columns_.size()) {
    throw Error(place(), fmt::format("has {} fields, expected {}", fields_.size(), columns_.size()));
  }
  return true;
}

std::string_view CsvReader::text(std::string_view column) const {
  const auto it = std::find(columns_.begin(), columns_.end(), column);
  return it == columns_.end() ? std::string_view{} : fields_[static_cast<std::size_t>(it - columns_.begin())];
}

std::optional<std::int64_t> CsvReader::number(std::string_view column) const {
  const std::string_view field = text(column);
  if (field.empty()) return std::nullopt;
  const auto value = base::parse_integer(field);
  if (!value) {
    throw Error(place(),
                fmt::format("{} is {}, expected a whole number of 64 bits", column, base::quoted(field)));
  }
  return value;
}

std::int64_t CsvReader::required_number(std::string_view column) const {
  const auto value = number(column);
  if (!value) throw Error(place(), fmt::format("{} is missing, expected a whole number", column));
  return *value;
}

std::string CsvReader::place() const { return fmt::format("line {}", line_); }

/// Reads one line that is not blank into `fields_`.
bool CsvReader::read_line() {
  fields_.clear();
  while (!rest_.empty() && fields_.empty()) {
    ++line_;
    for (bool in_line = true; in_line;) {
      const std::size_t first = rest_.find_first_not_of(" \t");
      std::string field;
      if (first != std::string_view::npos && rest_[first] == '"') {
        rest_.remove_prefix(first + 1);
        field = read_quoted();
      }
      const std::size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
      field += base::trim(rest_.substr(0, end));
      in_line = end < rest_.size() && rest_[end] == ',';
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      fields_.push_back(std::move(field));
    }
    if (fields_.size() == 1 && fields_[0].empty()) fields_.clear();
  }
  return !fields_.empty();
}

/// The text up to the closing quote, which is taken too; two quotes stand for one.
std::string CsvReader::read_quoted() {
  std::string field;
  for (;;) {
    const std::size_t quote = rest_.find('"');
    if (quote == std::string_view::npos) throw Error(place(), "a quoted field has no end");
    field += rest_.substr(0, quote);
    rest_.remove_prefix(quote + 1);
    if (!rest_.starts_with('"')) break;
    field += '"';
    rest_.remove_prefix(1);
  }
  line_ += static_cast<std::size_t>(std::count(field.begin(), field.end(), '\n'));
  return field;
}

}  // namespace stowage::import
