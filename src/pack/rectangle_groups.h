#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "pack/risk.h"
#include "pack/sort_order.h"

namespace stowage::pack {

/// Rectangles in some order, as indices of buffers.
using Order = std::vector<std::size_t>;

/// Divides rectangles into groups that are alive together: by rising start, each joins the group before it
/// when it shares, with the time that group spans, at least `percent` of the shorter of the two (and at least
/// one position); else it opens the next group. Each group keeps the given order. Cost: n log n.
[[nodiscard]] std::vector<std::vector<Rectangle>> groups_by_overlap(std::span<const Rectangle> rectangles,
                                                                    int percent);

/// The merger: tuned high ones, tuned medium ones, then those of `previous` that are neither: the low
/// ones, and the ones without risk, each as they stood. `risks` is by buffer.
[[nodiscard]] Order merged(const Order& high, const Order& medium, std::span<const std::size_t> previous,
                           std::span<const Risk> risks);

}  // namespace stowage::pack
