// Blocks of pixels that become channels or batches, or vice versa.

#include <optional>
#include <vector>

#include "operators/readings.h"

namespace stowage::operators {

namespace {

/// Files may say otherwise.
bool has_axes_of_output(const Site& site) { return site.input_shape(0).size() == site.output_shape().size(); }

}  // namespace

Reading blocks(const Site& site, std::size_t input, std::size_t axis) {
  if (input != 0) return shared();
  if (!has_axes_of_output(site) || (axis != 0 && !moves_windows_along(site, axis))) return all();
  const std::int64_t in = site.input_shape(0)[axis];
  const std::int64_t out = site.output_shape()[axis];
  if (in < 1 || out < 1) return all();
  if (out % in == 0) return rows_along(axis, {.divisor = out / in});
  return in % out == 0 ? rows_along(axis, {.scale = in / out, .taps = in / out}) : all();
}

namespace {

/// Blocks along an axis behind the batches, and what is added in front or cut off there.
struct Block {
  std::int64_t extent = 1;
  std::int64_t margin = 0;
};

/// None if they are unknown.
std::optional<std::vector<Block>> blocks_of(const Site& site) {
  const auto extents = site.integers(1);
  const auto margins = site.integers(2);
  if (!extents || !margins || margins->size() != 2 * extents->size()) return std::nullopt;
  constexpr std::int64_t largest = std::int64_t{1} << 40;
  std::vector<Block> blocks;
  for (std::size_t d = 0; d < extents->size(); ++d) {
    if ((*extents)[d] < 1 || (*margins)[2 * d] < 0 || (*margins)[2 * d] > largest) return std::nullopt;
    blocks.push_back({(*extents)[d], (*margins)[2 * d]});
  }
  return blocks;
}

}  // namespace

Reading space_to_batch(const Site& site, std::size_t input, std::size_t axis) {
  if (input != 0) return shared();
  if (!has_axes_of_output(site)) return all();
  if (axis == 0) return tile(site, 0, 0);
  const auto all_blocks = blocks_of(site);
  if (!all_blocks) return all();
  if (axis > all_blocks->size()) return same_row(axis);
  const Block& block = (*all_blocks)[axis - 1];
  return rows_along(axis, {.scale = block.extent, .offset = -block.margin, .taps = block.extent});
}

Reading batch_to_space(const Site& site, std::size_t input, std::size_t axis) {
  if (input != 0) return shared();
  if (!has_axes_of_output(site)) return all();
  const std::int64_t out = site.output_shape()[axis];
  if (out < 1) return all();
  if (axis == 0) return rows_along(0, {.taps = site.input_shape(0)[0] / out, .dilation = out});
  const auto all_blocks = blocks_of(site);
  if (!all_blocks) return all();
  if (axis > all_blocks->size()) return same_row(axis);
  const Block& block = (*all_blocks)[axis - 1];
  return rows_along(axis, {.divisor = block.extent, .offset = block.margin});
}

}  // namespace stowage::operators
