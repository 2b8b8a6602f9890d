#include "plan/row_blocks.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>
#include <vector>

namespace stowage::plan {
namespace {

/// Each operator is in the first region that runs a block of it. A region that would name none counts for the
/// one that has its first operator; arrivals have regions without operators.
std::vector<StreamRegion> in_network(const std::vector<StreamRegion>& regions,
                                     const model::SplitNetwork& network) {
  std::vector<StreamRegion> result;
  std::map<std::size_t, std::size_t> region_of;  // by operator
  for (const StreamRegion& region : regions) {
    StreamRegion own{.load = region.load, .load_of_layers = region.load_of_layers};
    for (const std::size_t op : region.operators) {
      const std::size_t of = network.operators[op].of;
      if (region_of.emplace(of, result.size()).second) own.operators.push_back(of);
    }
    if (!own.operators.empty() || region.operators.empty()) {
      result.push_back(std::move(own));
      continue;
    }
    StreamRegion& first = result[region_of.at(network.operators[region.operators[0]].of)];
    first.load = std::max(first.load, region.load);
    first.load_of_layers = std::max(first.load_of_layers, region.load_of_layers);
  }
  return result;
}

/// Blocks of an operator follow each other, where the first of them is.
void rename(AffineSchedule& affine, const model::SplitNetwork& network) {
  std::map<std::pair<std::size_t, bool>, std::size_t> first;
  std::vector<std::pair<std::size_t, TimedSteps>> entries;
  for (const TimedSteps& it : affine.operators) {
    auto& [place, steps] = entries.emplace_back(entries.size(), it);
    if (!steps.op) continue;
    steps.block = network.operators[*steps.op].block;
    steps.op = network.operators[*steps.op].of;
    place = first.emplace(std::pair(*steps.op, steps.sums), place).first->second;
  }
  std::ranges::stable_sort(entries, {}, [](const auto& it) { return it.first; });
  for (std::size_t i = 0; i < entries.size(); ++i) affine.operators[i] = entries[i].second;
}

}  // namespace

PlacedRows in_network(PlacedRows placed, const model::SplitNetwork& network) {
  const auto name_own = [](std::size_t& number, Rare<RowRange>& block,
                           const std::vector<model::BlockOf>& all) {
    const auto& [of, own] = all[number];
    number = of;
    block = own;
  };
  for (Step& step : placed.steps) {
    if (auto* const run = std::get_if<Run>(&step)) name_own(run->path[1], run->block, network.operators);
    if (auto* const arrive = std::get_if<Arrive>(&step))
      name_own(arrive->tensor, arrive->block, network.tensors);
    if (auto* const leave = std::get_if<Leave>(&step)) name_own(leave->tensor, leave->block, network.tensors);
  }
  for (const auto& [tensor, blocks] : network.blocks) {
    for (const TensorId block : blocks) {
      for (View& view : placed.tensors[block].views) {
        view.block = network.tensors[block].block;
        placed.tensors[tensor].views.push_back(std::move(view));
      }
    }
  }
  std::size_t own = placed.tensors.size();
  while (own > 0 && network.tensors[own - 1].block) --own;
  placed.tensors.resize(own);
  placed.streaming.regions = in_network(placed.streaming.regions, network);
  if (placed.streaming.affine) rename(*placed.streaming.affine, network);
  return placed;
}

}  // namespace stowage::plan
