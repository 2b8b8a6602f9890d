#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/plan.h"
#include "stowage/units.h"

namespace stowage::exporting {

/// "54.0 KiB"; below 10 KiB "672 bytes".
[[nodiscard]] std::string in_units(Bytes bytes);

/// "55296 bytes (54.0 KiB)": exact for programs and short for people.
[[nodiscard]] std::string readable(Bytes bytes);

/// The end of a name, which distinguishes long ones, in at most `most` bytes and whole UTF-8 sequences.
[[nodiscard]] std::string shortened(const std::string& name, std::size_t most);

/// Distance of the peak above the bound in percent, "4.76"; none if the bound is 0.
[[nodiscard]] std::optional<std::string> gap_in_percent(const Summary& summary);

/// With several memories the bound is of the chosen ones, unless a claim says that no choice needs less.
[[nodiscard]] bool is_of_chosen_memories(const Plan& plan);

/// The text with XML escapes.
[[nodiscard]] std::string escaped(std::string_view text);

/// A round distance between marks that gives at most `count` of them up to `range`.
[[nodiscard]] std::int64_t step_of_marks(std::int64_t range, std::int64_t count, std::int64_t base);

/// Where each position of each clock is on one axis, and where the clock ends. A fork is as long as its longest
/// branch, and all its branches begin with it.
[[nodiscard]] std::vector<std::vector<Position>> starts_on_one_axis(const Plan& plan);

/// A position of a clock on that axis.
[[nodiscard]] Position on_one_axis(const std::vector<std::vector<Position>>& starts, std::size_t clock,
                                   Position at);

/// The plan's buffers with all live ranges on one axis, for pictures and reports.
[[nodiscard]] std::vector<Buffer> on_one_axis(const Plan& plan);

}  // namespace stowage::exporting
