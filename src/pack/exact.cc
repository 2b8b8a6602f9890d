#include "pack/exact.h"

#include <fmt/format.h>

#include <algorithm>

#include "pack/least_height.h"
#include "pack/load.h"
#include "pack/model.h"

namespace stowage::pack {
namespace {

/// Pairs of pieces that meet, and sections times pieces: beyond that the tables of the searches are too
/// large.
constexpr std::size_t most_pairs = std::size_t{1} << 20U;
constexpr std::size_t most_entries = std::size_t{1} << 21U;

struct Extent {
  std::size_t pairs = 0;
  std::size_t entries = 0;
};

Extent extent_of(const Model& model) {
  std::vector<std::size_t> begins(model.sections + 1, 0);
  std::vector<std::size_t> ends(model.sections + 1, 0);
  Extent extent;
  for (const Item& item : model.items) {
    for (const Part& part : item.parts) {
      ++begins[part.begin];
      ++ends[part.end];
      extent.entries += part.end - part.begin;
    }
  }
  std::size_t alive = 0;
  for (std::uint32_t s = 0; s < model.sections; ++s) {
    alive -= ends[s];
    extent.pairs += begins[s] * alive + begins[s] * (begins[s] - 1) / 2;
    alive += begins[s];
  }
  return extent;
}

}  // namespace

Placing exact(const Problem& problem, const Control& control) {
  control.report("exact", 0);
  Placing placing{std::vector<Place>(problem.buffers.size())};
  std::vector<Bytes> offsets(problem.buffers.size(), 0);
  for (std::size_t b = 0; b < offsets.size(); ++b) offsets[b] = problem.buffers[b].pinned.value_or(0);
  const Model model = model_of(problem.buffers);
  std::vector<Region> regions = regions_of(model, offsets);
  const auto bound = [](const Region& region) { return region.base + region.model.bound(); };
  std::stable_sort(regions.begin(), regions.end(),
                   [&](const Region& a, const Region& b) { return bound(a) > bound(b); });
  Bytes height = lower_bound_of(problem.buffers) / model.unit;
  placing.is_least = true;
  Bytes proven = height;
  for (const Region& region : regions) {
    const Tables tables(region.model);
    const Least least = least_height(tables, height - region.base, control);
    for (std::size_t i = 0; i < least.offsets.size(); ++i)
      offsets[region.model.items[i].buffer] = (region.base + least.offsets[i]) * model.unit;
    height = std::max(height, region.base + least.height);
    if (least.is_proven) proven = std::max(proven, region.base + least.height);
    placing.cut_short = placing.cut_short || least.was_stopped;
  }
  placing.is_least = proven == height;
  if (placing.is_least) placing.cut_short = false;
  for (std::size_t b = 0; b < offsets.size(); ++b) placing.places[b].offset = offsets[b];
  return placing;
}

std::optional<std::string> obstacle_to_exact(const Problem& problem) {
  if (auto obstacle = several_memories(problem)) return obstacle;
  const Extent extent = extent_of(model_of(problem.buffers));
  if (extent.pairs <= most_pairs && extent.entries <= most_entries) return std::nullopt;
  return fmt::format("takes up to {} pairs of buffers that are alive at once, there are {}", most_pairs,
                     extent.pairs);
}

}  // namespace stowage::pack
