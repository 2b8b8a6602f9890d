#include "export/readable.h"

#include <fmt/format.h>

#include <string_view>

namespace stowage::exporting {

std::string in_units(Bytes bytes) {
  constexpr double kib = 1024;
  const auto value = static_cast<double>(bytes);
  if (value < 10 * kib) return fmt::format("{} bytes", bytes);
  if (value < 10 * kib * kib) return fmt::format("{:.1f} KiB", value / kib);
  if (value < 10 * kib * kib * kib) return fmt::format("{:.1f} MiB", value / (kib * kib));
  return fmt::format("{:.1f} GiB", value / (kib * kib * kib));
}

std::string readable(Bytes bytes) {
  const std::string exact = fmt::format("{} bytes", bytes);
  const std::string rough = in_units(bytes);
  return exact == rough ? exact : fmt::format("{} ({})", exact, rough);
}

std::string shortened(const std::string& name, std::size_t most) {
  constexpr std::string_view left_out = "…";
  if (name.size() <= most) return name;
  std::size_t begin = name.size() - most + 1;
  constexpr unsigned char continuation_mask = 0xC0;
  constexpr unsigned char continuation = 0x80;
  while (begin < name.size() && (static_cast<unsigned char>(name[begin]) & continuation_mask) == continuation)
    ++begin;
  return std::string(left_out) + name.substr(begin);
}

std::optional<std::string> gap_in_percent(const Summary& summary) {
  const Bytes gap = summary.peak - summary.lower_bound;
  if (gap == 0) return "0";
  if (summary.lower_bound == 0) return std::nullopt;
  constexpr double percent = 100;
  return fmt::format("{:.2f}", percent * static_cast<double>(gap) / static_cast<double>(summary.lower_bound));
}

}  // namespace stowage::exporting
