#pragma once

#include <cstddef>
#include <optional>
#include <string>

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

}  // namespace stowage::exporting
