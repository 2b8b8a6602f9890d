#include "block_plans.h"

#include <variant>

#include "stowage/network.h"
#include "stream/axes.h"

namespace stowage::testing {

Plan plan_of_blocks(const model::SplitNetwork& split, const StreamedOptions& options) {
  Network network;
  network.input.content = model::stored(split);
  Plan plan = streamed_plan(network, stream::axes_of(network.graph(), {}), options);
  for (Step& step : plan.clocks[0].steps) {
    if (auto* const run = std::get_if<Run>(&step)) {
      run->block = split.operators[run->path[1]].block;
      run->path[1] = split.operators[run->path[1]].of;
    }
  }
  std::size_t own = 0;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const auto& [of, block] = split.tensors[t];
    if (!block) ++own;
    if (!block) continue;
    for (View view : plan.tensors[t].views) {
      view.block = block;
      plan.tensors[of].views.push_back(view);
    }
  }
  plan.tensors.resize(own);
  return plan;
}

}  // namespace stowage::testing
