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

/// "55296 bytes (54.0 KiB)", so that both the machine's and the person's number is there.
[[nodiscard]] std::string readable(Bytes bytes);

/// The end of a name, which tells long ones apart, in at most so many bytes and whole UTF-8 sequences.
[[nodiscard]] std::string shortened(const std::string& name, std::size_t most);

/// How far the peak is above the bound, in percent, "4.76"; none above a bound of 0.
[[nodiscard]] std::optional<std::string> gap_in_percent(const Summary& summary);

/// Text as it is written in XML.
[[nodiscard]] std::string escaped(std::string_view text);

/// A round distance between marks, so that there are at most `count` of them up to `range`.
[[nodiscard]] std::int64_t step_of_marks(std::int64_t range, std::int64_t count, std::int64_t base);

/// The plan's buffers with all lifetimes on one axis, for pictures and reports: a fork takes as many places
/// on it as its longest branch has positions, and all its branches begin where it does.
[[nodiscard]] std::vector<Buffer> on_one_axis(const Plan& plan);

}  // namespace stowage::exporting
