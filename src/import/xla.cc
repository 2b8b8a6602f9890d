// XLA writes its plan with --xla_dump_to, as MODULE-buffer-assignment.txt:
//
//     BufferAssignment:
//     allocation 60: size 32792, preallocated-temp:
//      value: <100 sort.1 @0> (size=8192,offset=16384): f32[32,64]{1,0}
//      value: <104 tuple.4{} @0> (size=24,offset=32768): ...
//
// and live ranges, inclusive, as MODULE-live-range.txt (older versions: later in the same file):
//
//     HloLiveRange (max 35):
//       BufferLiveRange:
//         sort.1{}:18-22
//
// A value without an index is the whole one, `{}`. Only allocations marked preallocated-temp are planned by XLA;
// all others are of one value, or of values that take turns in an output.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "import/placed.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

constexpr std::string_view text_head = "BufferAssignment:";
constexpr std::string_view live_head = "BufferLiveRange:";
constexpr std::string_view file_end = "buffer-assignment.txt";
constexpr std::int64_t most_of_xla = largest_value / 2;
constexpr Bytes alignment_of_xla = 64;

/// The number after `key`, such as `size=`.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value > most_of_xla) return std::nullopt;
  return value;
}

/// Of `<100 sort.1 @0> ...` or `<131 arg_tuple.3{} (phi) @0>`: the name with its index.
std::string name_of_value(std::string_view text) {
  const std::size_t begin = text.find(' ');
  const std::size_t end = std::min(text.find(" @"), text.find(" (phi)"));
  if (begin == std::string_view::npos || end == std::string_view::npos || end <= begin) return "";
  std::string name(text.substr(begin + 1, end - begin - 1));
  return name.ends_with('}') ? name : name + "{}";
}

using LivesByName = std::unordered_map<std::string, Lifetime>;

/// Live ranges by name. A line that has none ends the list. `file` is for errors; empty: the file that is read.
LivesByName parse_lives(std::string_view text, const std::string& file) {
  LivesByName lives;
  const std::size_t at = text.find(live_head);
  if (at == std::string_view::npos) return lives;
  auto number = 1 + std::ranges::count(text.substr(0, at), '\n');
  for (std::string_view line : base::split(text.substr(at + live_head.size()), '\n')) {
    const std::string place =
        fmt::format("line {}{}", number++, file.empty() ? "" : " of " + base::quoted(file));
    line = base::trim(line);
    if (line.empty()) continue;
    const std::size_t colon = line.rfind(':');
    const auto range = base::split(line.substr(std::min(line.size(), colon + 1)), '-');
    if (colon == std::string_view::npos || range.size() != 2) break;
    const auto first = base::parse_integer(range[0]);
    const auto last = base::parse_integer(range[1]);
    if (!first || !last) break;
    if (*first < 0 || *last < *first || *last >= most_of_xla)
      throw Error(place,
                  fmt::format("live range is {}-{}, expected ascending numbers from 0", *first, *last));
    lives[std::string(line.substr(0, colon))] = {*first, *last + 1};
  }
  return lives;
}

LivesByName lives_of(const Source& source, const std::filesystem::path& file) {
  LivesByName lives = parse_lives(source.bytes, "");
  if (!lives.empty()) return lives;
  std::string name = file.filename().string();
  const std::string place = "live ranges";
  if (!name.ends_with(file_end))
    throw Error(place, fmt::format("are not in this text, expected a file that is called MODULE-{} beside "
                                   "MODULE-live-range.txt",
                                   file_end));
  name.replace(name.size() - file_end.size(), file_end.size(), "live-range.txt");
  NearbyFiles files(source.folder);
  lives = parse_lives(files.whole(name, place), name);
  if (lives.empty())
    throw Error(place, fmt::format("are not in {}, expected lines below {}", base::quoted(name), live_head));
  return lives;
}

}  // namespace

bool looks_like_xla(std::string_view text) { return text.starts_with(text_head); }

Input read_xla(const Source& source, const std::filesystem::path& file) {
  const LivesByName lives = lives_of(source, file);
  std::vector<PlacedValue> values;
  std::vector<std::string> memories;
  bool is_temporary = false;
  std::size_t number = 0;
  for (std::string_view line : base::split(source.bytes, '\n')) {
    const std::string place = fmt::format("line {}", ++number);
    line = base::trim(line);
    if (line.starts_with("allocation ")) {
      is_temporary = line.find("preallocated-temp") != std::string_view::npos;
      if (is_temporary) memories.emplace_back(line.substr(0, line.find(':')));
    } else if (line.starts_with("Total bytes used")) {
      break;
    } else if (is_temporary && line.starts_with("value: <")) {
      line.remove_prefix(std::string_view("value: ").size());
      const std::size_t end = line.find("> (");
      const std::string name = name_of_value(line.substr(0, end));
      const std::string_view where = end == std::string_view::npos ? "" : line.substr(end);
      const auto size = number_after(where, "size=");
      const auto offset = number_after(where, "offset=");
      if (name.empty() || !size || !offset || *offset > most_of_xla - *size)
        throw Error(place, fmt::format("is {}, expected a name, size= and offset=", base::quoted(line)));
      const auto life = lives.find(name);
      if (life == lives.end())
        throw Error(place, fmt::format("value {} has no live range, expected one", base::quoted(name)));
      const bool is_carried = line.substr(0, end).find(" (phi)") != std::string_view::npos;
      values.push_back({name, memories.size() - 1, *offset, *size, life->second, is_carried});
    }
  }
  return list_of(std::move(values), std::move(memories), alignment_of_xla);
}

}  // namespace stowage::import
