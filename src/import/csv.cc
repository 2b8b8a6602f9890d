#include "import/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/unique_names.h"
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
  columns_.assign(fields_.begin(), fields_.end());
}

CsvReader::CsvReader(std::string_view text, std::span<const std::string_view> known,
                     std::span<const ColumnName> others)
    : CsvReader(text) {
  for (std::string& column : columns_) {
    const auto other = std::ranges::find(others, column, &ColumnName::given);
    if (other != others.end()) column = other->known;
  }
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

/// Reads the next line that is not blank into `fields_`.
bool CsvReader::read_line() {
  fields_.clear();
  quoted_.clear();
  while (!rest_.empty() && fields_.empty()) {
    ++line_;
    for (bool in_line = true; in_line;) {
      const std::size_t first = rest_.find_first_not_of(" \t");
      const bool is_quoted = first != std::string_view::npos && rest_[first] == '"';
      if (is_quoted) {
        rest_.remove_prefix(first + 1);
        quoted_.push_back(read_quoted());
      }
      const auto ends_field = [](char c) { return c == ',' || c == '\n'; };
      const auto end = static_cast<std::size_t>(std::ranges::find_if(rest_, ends_field) - rest_.begin());
      std::string_view field = base::trim(rest_.substr(0, end));
      if (is_quoted) field = quoted_.back().append(field);
      in_line = end < rest_.size() && rest_[end] == ',';
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      fields_.push_back(field);
    }
    if (fields_.size() == 1 && fields_[0].empty()) fields_.clear();
  }
  return !fields_.empty();
}

/// Reads the text up to and including the closing quote; two quotes mean one.
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

namespace {

constexpr std::array<std::string_view, 8> buffer_columns{"id",   "lower",     "upper",  "end",
                                                         "size", "alignment", "offset", "gaps"};

/// What minimalloc and others call them.
constexpr std::array<ColumnName, 6> other_names{{{"buffer_id", "id"},
                                                 {"buffer", "id"},
                                                 {"name", "id"},
                                                 {"start", "lower"},
                                                 {"begin", "lower"},
                                                 {"bytes", "size"}}};

/// Positions at which only a window of the buffer is needed; an empty window: nothing is.
struct Gap {
  Lifetime life;
  Bytes begin = 0;
  Bytes end = 0;
};

/// Two integers with a separator between them.
std::optional<std::pair<std::int64_t, std::int64_t>> parse_range(std::string_view text, char separator) {
  const auto parts = base::split(text, separator);
  if (parts.size() != 2) return std::nullopt;
  const auto first = base::parse_integer(parts[0]);
  const auto second = base::parse_integer(parts[1]);
  if (!first || !second) return std::nullopt;
  return std::pair(*first, *second);
}

Gap parse_gap(std::string_view text, const CsvReader& csv, const Lifetime& life, Bytes size) {
  const std::size_t at = text.find('@');
  const auto time = parse_range(text.substr(0, at), '-');
  const auto window = at == std::string_view::npos ? std::pair<std::int64_t, std::int64_t>{0, 0}
                                                   : parse_range(text.substr(at + 1), ':');
  if (!time || !window) {
    throw Error(csv.place(), fmt::format("gap is {}, expected LO-HI or LO-HI@WLO:WHI", base::quoted(text)));
  }
  if (time->second >= largest_value)
    throw Error(csv.place(), fmt::format("gap {} ends after {}", base::quoted(text), largest_value - 1));
  const Gap gap{{time->first, time->second + (csv.has_column("end") ? 1 : 0)}, window->first, window->second};
  if (gap.life.lower < life.lower || gap.life.lower > gap.life.upper || gap.life.upper > life.upper) {
    throw Error(csv.place(), fmt::format("gap {} does not lie in the lifetime {} to {}", base::quoted(text),
                                         life.lower, life.upper));
  }
  if (gap.begin < 0 || gap.begin > gap.end || gap.end > size) {
    throw Error(csv.place(),
                fmt::format("window of gap {} does not lie in the {} bytes", base::quoted(text), size));
  }
  return gap;
}

std::vector<Gap> parse_gaps(const CsvReader& csv, const Lifetime& life, Bytes size) {
  std::vector<Gap> gaps;
  for (const std::string_view text : base::split(csv.text("gaps"), ' ')) {
    if (text.empty()) continue;
    const Gap gap = parse_gap(text, csv, life, size);
    if (gap.life.lower < gap.life.upper) gaps.push_back(gap);
  }
  std::sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) { return a.life.lower < b.life.lower; });
  for (std::size_t g = 1; g < gaps.size(); ++g) {
    if (gaps[g].life.lower < gaps[g - 1].life.upper) {
      throw Error(csv.place(), fmt::format("gaps overlap at position {}", gaps[g].life.lower));
    }
  }
  return gaps;
}

/// The needed bytes over time: the whole buffer between gaps, the windows during them.
std::vector<Piece> pieces_of(const Lifetime& life, Bytes size, const std::vector<Gap>& gaps) {
  std::vector<Piece> pieces;
  Position at = life.lower;
  const auto add_whole = [&](Position upper) {
    if (at < upper) pieces.push_back({0, size, {at, upper}});
  };
  for (const Gap& gap : gaps) {
    add_whole(gap.life.lower);
    if (gap.begin < gap.end) {
      pieces.push_back({gap.begin, gap.end - gap.begin, gap.life});
    }
    at = gap.life.upper;
  }
  add_whole(life.upper);
  if (pieces.empty() && gaps.empty()) pieces.push_back({0, size, life});  // an empty live range, as given
  return pieces;
}

Position read_upper(const CsvReader& csv) {
  if (csv.has_column("upper")) return csv.required_number("upper");
  const std::int64_t end = csv.required_number("end");
  if (end >= largest_value)
    throw Error(csv.place(), fmt::format("end is {}, expected less than {}", end, largest_value));
  return end + 1;
}

}  // namespace

bool looks_like_buffer_csv(std::string_view text) {
  const CsvReader header(text);
  const auto has = [&](std::string_view known) {
    return header.has_column(known) || std::ranges::any_of(other_names, [&](const ColumnName& other) {
             return other.known == known && header.has_column(other.given);
           });
  };
  return header.has_column("id") || (has("id") && has("lower") && has("size"));
}

Problem read_buffer_csv(std::string_view text) {
  CsvReader csv(text, buffer_columns, other_names);
  for (const std::string_view column : {"id", "lower", "size"}) {
    if (!csv.has_column(column)) throw Error(csv.place(), fmt::format("column '{}' is missing", column));
  }
  if (csv.has_column("upper") == csv.has_column("end")) {
    throw Error(csv.place(), "expected either a column 'upper' or a column 'end'");
  }
  Problem problem{{}, {{.name = "arena"}}};
  constexpr std::size_t shortest_row = 8;  // "a,0,0,0" and the end of the line
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  problem.buffers.reserve(std::min(lines, text.size() / shortest_row));
  while (csv.next()) {
    const Lifetime life{csv.required_number("lower"), read_upper(csv)};
    const Bytes size = csv.required_number("size");
    if (life.lower < 0 || life.lower > life.upper) {
      throw Error(csv.place(), fmt::format("buffer {} lives from {} to {}, expected 0 <= lower <= upper",
                                           base::quoted(csv.text("id")), life.lower, life.upper));
    }
    if (size < 0) throw Error(csv.place(), fmt::format("size is {}, expected at least 0", size));
    if (csv.text("id").empty()) throw Error(csv.place(), "id is missing");
    problem.buffers.push_back({.id = std::string(csv.text("id")),
                               .size = size,
                               .alignment = csv.number("alignment").value_or(1),
                               .pieces = pieces_of(life, size, parse_gaps(csv, life, size)),
                               .pinned = csv.number("offset")});
  }
  validate(problem);
  return problem;
}

namespace {

constexpr std::array<std::string_view, 4> operation_columns{"op", "name", "size", "alignment"};

class Sequence {
 public:
  void allocate(const CsvReader& csv, Position at) {
    const std::string_view name = csv.text("name");
    const auto [entry, is_first] = allocated_.try_emplace(std::string(name));
    if (entry->second) throw Error(csv.place(), fmt::format("{} is allocated already", base::quoted(name)));
    const Bytes size = csv.required_number("size");
    if (size < 0) throw Error(csv.place(), fmt::format("size is {}, expected at least 0", size));
    entry->second = problem_.buffers.size();
    if (!is_first) again_.push_back(problem_.buffers.size());
    problem_.buffers.push_back({.id = std::string(name),
                                .size = size,
                                .alignment = csv.number("alignment").value_or(1),
                                .pieces = {{0, size, {at, at}}}});
  }

  void free(const CsvReader& csv, Position at) {
    const std::string_view name = csv.text("name");
    std::optional<std::size_t>& allocated = allocated_[std::string(name)];
    if (!allocated)
      throw Error(csv.place(), fmt::format("{} is freed but not allocated", base::quoted(name)));
    Buffer& buffer = problem_.buffers[*allocated];
    const auto size = csv.number("size");
    if (size && *size != buffer.size) {
      throw Error(csv.place(), fmt::format("{} is freed with size {}, expected {} as allocated",
                                           base::quoted(name), *size, buffer.size));
    }
    buffer.pieces[0].life.upper = at;
    allocated.reset();
  }

  Problem run_until(Position end) {
    base::UniqueNames ids;
    for (const auto& [name, buffer] : allocated_) {
      ids.reserve(name);
      if (buffer) problem_.buffers[*buffer].pieces[0].life.upper = end;
    }
    for (const std::size_t buffer : again_) {
      std::string& id = problem_.buffers[buffer].id;
      id = ids.unique(std::move(id));
    }
    return std::move(problem_);
  }

 private:
  Problem problem_{{}, {{.name = "arena"}}};
  /// By name: the buffer, while it is allocated.
  std::unordered_map<std::string, std::optional<std::size_t>> allocated_;
  std::vector<std::size_t> again_;  ///< Buffers that reuse a freed name.
};

}  // namespace

Problem read_operations_csv(std::string_view text) {
  CsvReader csv(text, operation_columns);
  for (const std::string_view column : {"op", "name", "size"}) {
    if (!csv.has_column(column)) throw Error(csv.place(), fmt::format("column '{}' is missing", column));
  }
  Sequence sequence;
  Position at = 0;
  for (; csv.next(); ++at) {
    if (csv.text("name").empty()) throw Error(csv.place(), "name is missing");
    if (csv.text("op") == "alloc") {
      sequence.allocate(csv, at);
    } else if (csv.text("op") == "free") {
      sequence.free(csv, at);
    } else {
      throw Error(csv.place(), fmt::format("op is {}, expected alloc or free", base::quoted(csv.text("op"))));
    }
  }
  Problem problem = sequence.run_until(at);
  validate(problem);
  return problem;
}

}  // namespace stowage::import
