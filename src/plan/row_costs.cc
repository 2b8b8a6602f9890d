// What rows in an order cost at least in several memories, before they have offsets: prices of bytes of the fastest memory
// bound it (pack/memories/prices.cc). Of two orders, that with the lower bound mostly has the cheaper plan.
//
// Cost: linear in steps and views, and that of the prices.

#include "plan/row_costs.h"

#include <span>
#include <utility>

#include "base/checked.h"
#include "plan/row_moves.h"
#include "plan/weight_reads.h"

namespace stowage::plan {

std::optional<std::int64_t> least_cost_of(const Input& input, const PlacedRows& rows,
                                          const MemoriesOfRows& memories, const pack::Control& control) {
  Plan plan;
  plan.models = {input.info};
  plan.clocks.emplace_back().steps = rows.steps;
  plan.buffers = rows.problem.buffers;
  plan.places.resize(plan.buffers.size());
  plan.tensors = rows.tensors;
  BufferAccesses accesses = rows.accesses;
  accesses.resize(plan.buffers.size());
  const std::vector<ReadsOfConstant> reads = reads_of_constants(std::span(&input, 1), plan);
  std::optional<StoredWeights> weights;
  if (memories.weights) weights.emplace(StoredWeights{*memories.weights, reads});
  const auto least = least_cost_of_moves(accesses, memories.working, weights, control, plan);
  if (!least) return std::nullopt;
  std::int64_t cost = least->cost_bound - least->weights_cost;
  for (const ReadsOfConstant& of_one : reads) {
    for (const ReadOfConstant& read : of_one) {
      const auto own = base::checked_multiply(read.bytes, memories.cost_of_weights);
      const auto sum = own ? base::checked_add(cost, *own) : std::nullopt;
      if (!sum) return std::nullopt;
      cost = *sum;
    }
  }
  return cost;
}

}  // namespace stowage::plan
