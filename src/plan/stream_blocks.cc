#include "plan/stream_blocks.h"

#include <set>
#include <utility>
#include <variant>

namespace stowage::plan {
namespace {

/// Each operator is in the first region that runs a block of it.
void rename(Streaming& streaming, const model::SplitNetwork& network) {
  std::set<std::size_t> seen;
  for (StreamRegion& region : streaming.regions) {
    std::vector<std::size_t> own;
    for (const std::size_t op : region.operators) {
      const std::size_t of = network.operators[op].of;
      if (seen.insert(of).second) own.push_back(of);
    }
    region.operators = std::move(own);
  }
  if (!streaming.affine) return;
  for (TimedSteps& steps : streaming.affine->operators) {
    if (!steps.op) continue;
    steps.block = network.operators[*steps.op].block;
    steps.op = network.operators[*steps.op].of;
  }
}

}  // namespace

PlacedStream in_network(PlacedStream placed, const model::SplitNetwork& network) {
  for (Step& step : placed.steps) {
    auto* const run = std::get_if<Run>(&step);
    if (run == nullptr) continue;
    const model::BlockOf& op = network.operators[run->path[1]];
    run->path[1] = op.of;
    run->block = op.block;
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
  rename(placed.streaming, network);
  return placed;
}

}  // namespace stowage::plan
