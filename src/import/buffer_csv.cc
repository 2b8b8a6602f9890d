#include "import/buffer_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "import/csv.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

constexpr std::array<std::string_view, 8> buffer_columns{"id",   "lower",     "upper",  "end",
                                                         "size", "alignment", "offset", "gaps"};

/// Positions at which only a window of the buffer is needed; an empty one: nothing.
struct Gap {
  Lifetime life;
  Bytes begin = 0;
  Bytes end = 0;
};

/// Two whole numbers with a separator between them.
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
  const Gap gap{{time->first, time->second}, window->first, window->second};
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

/// What is needed when: all of it between gaps, the windows during them.
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
  if (pieces.empty() && gaps.empty()) pieces.push_back({0, size, life});  // an empty life, kept as given
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

Problem read_buffer_csv(std::string_view text) {
  CsvReader csv(text, buffer_columns);
  for (const std::string_view column : {"id", "lower", "size"}) {
    if (!csv.has_column(column)) throw Error(csv.place(), fmt::format("column '{}' is missing", column));
  }
  if (csv.has_column("upper") == csv.has_column("end")) {
    throw Error(csv.place(), "expected either a column 'upper' or a column 'end'");
  }
  Problem problem{{}, {{.name = "arena"}}};
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

}  // namespace stowage::import
