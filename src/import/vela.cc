// Vela (Arm's compiler for Ethos-U) prints its plan with --verbose-allocation, amid other output:
//
//     Allocation, memory Sram, usage mask: FeatureMap|Staging
//     Start Time - End Time  : Start Addr -   End Addr: Tensor Size: Memory Usage: Format  : Name
//              0 -          1:        0x0 -     0x2400:        9216:        46512: NHWC    : input
//
// Times are inclusive. A table without "Allocation, memory" is of constants and is left out.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "import/placed.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

constexpr std::string_view table_head = "Start Time - End Time";
constexpr std::string_view memory_head = "Allocation, memory ";
constexpr Bytes alignment_of_vela = 16;

std::optional<std::int64_t> parse_hexadecimal(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// The row of a table; none if the line is something else.
std::optional<PlacedValue> parse_row(std::string_view line, const std::string& place) {
  const auto fields = base::split(line, ':');
  if (fields.size() < 6) return std::nullopt;
  const auto times = base::split(fields[0], '-');
  const auto addresses = base::split(fields[1], '-');
  if (times.size() != 2 || addresses.size() != 2) return std::nullopt;
  const auto first = base::parse_integer(base::trim(times[0]));
  const auto last = base::parse_integer(base::trim(times[1]));
  const auto begin = parse_hexadecimal(base::trim(addresses[0]));
  const auto end = parse_hexadecimal(base::trim(addresses[1]));
  if (!first || !last || !begin || !end) return std::nullopt;
  constexpr std::int64_t most_of_vela = largest_value / 2;
  if (*first < 0 || *last < *first || *last >= most_of_vela)
    throw Error(place, fmt::format("has times {} to {}, expected ascending ones from 0", *first, *last));
  if (*end < *begin || *end > most_of_vela)
    throw Error(place, fmt::format("has addresses {} to {}, expected ascending ones", *begin, *end));
  const auto name_at = static_cast<std::size_t>(fields[5].data() - line.data());  // names may have colons
  return PlacedValue{.name = std::string(base::trim(line.substr(name_at))),
                     .offset = *begin,
                     .size = *end - *begin,
                     .life = {*first, *last + 1}};
}

}  // namespace

bool looks_like_vela(std::string_view text) {
  return text.find(memory_head) != std::string_view::npos && text.find(table_head) != std::string_view::npos;
}

Input read_vela(const Source& source) {
  std::vector<PlacedValue> values;
  std::vector<std::string> memories;
  bool in_table = false;
  bool is_of_memory = false;
  std::size_t number = 0;
  for (std::string_view line : base::split(source.bytes, '\n')) {
    const std::string place = fmt::format("line {}", ++number);
    line = base::trim(line);
    if (line.starts_with(memory_head)) {
      const std::string name(
          line.substr(memory_head.size(), line.find(',', memory_head.size()) - memory_head.size()));
      const auto same = std::ranges::count_if(
          memories, [&](const std::string& it) { return it == name || it.starts_with(name + " "); });
      memories.push_back(same == 0 ? name : fmt::format("{} {}", name, same + 1));
      is_of_memory = true;
      in_table = false;
    } else if (line.starts_with(table_head)) {
      in_table = is_of_memory;
      is_of_memory = false;
    } else if (in_table) {
      auto value = parse_row(line, place);
      if (!value) {
        in_table = false;
        continue;
      }
      value->memory = memories.size() - 1;
      values.push_back(*std::move(value));
    }
  }
  if (values.empty())
    throw Error("", "has no row of a table, expected the output of vela --verbose-allocation");
  return list_of(std::move(values), std::move(memories), alignment_of_vela);
}

}  // namespace stowage::import
