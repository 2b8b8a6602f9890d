#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stowage/problem.h"

namespace stowage::campaign {

/// A buffer to be packed: its pieces and what its address is a multiple of.
struct PackItem {
  Bytes size = 0;
  Bytes alignment = 1;
  std::vector<Piece> pieces{};
};

/// The least peak of all placings, if there are few enough items to try them all.
[[nodiscard]] std::optional<Bytes> least_peak(std::span<const PackItem> items);

/// The most bytes of pieces alive at one position.
[[nodiscard]] Bytes load_of(std::span<const PackItem> items);

}  // namespace stowage::campaign
