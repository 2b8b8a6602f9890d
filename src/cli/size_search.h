#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "stowage/import.h"

namespace stowage::cli {

/// Whether a model can be read at a size, or for a range of sizes.
using AcceptsSize = std::function<bool(const GivenSize& size)>;

/// The sizes of the range that a model accepts: the smallest of them, and the step from it to the next. None: none of
/// those that were tried. Takes it that all whole steps from the smallest are accepted, and looks at the largest and at
/// about 40 others.
[[nodiscard]] std::optional<GivenSize> accepted_range(const AcceptsSize& accepts, const GivenSize& range);

/// Whether there is more than one size.
[[nodiscard]] bool is_range(const GivenSize& size);

/// The size as --dim takes it: "512", "1..512", "32..512:32".
[[nodiscard]] std::string in_digits(const GivenSize& size);

}  // namespace stowage::cli
