// The three goals at which tuning ends. Source: the document of docs/rectangle.md, claim 8 and paragraphs 94,
// 95 and 131: "no tail above the threshold, the same sorting result, the adjustments reach the preset
// number". The same result is one equal to any earlier one: in the example of paragraph 95 the third round
// meets the first. Where it is open: what is counted are the adjustments, so that 0 rounds means the first
// order only.

#include "pack/rectangle_goals.h"

namespace stowage::pack {

std::optional<Goal> Goals::reached(std::span<const std::size_t> order, Bytes top) {
  if (top <= threshold_) return Goal::fits;
  std::vector<std::uint32_t> compact;
  compact.reserve(order.size());
  for (const std::size_t b : order) compact.push_back(static_cast<std::uint32_t>(b));
  if (!seen_.insert(std::move(compact)).second) return Goal::repeated;
  const auto adjustments = static_cast<std::int64_t>(seen_.size()) - 1;
  if (rounds_ && adjustments >= *rounds_) return Goal::rounds;
  return std::nullopt;
}

}  // namespace stowage::pack
