// What steps read of weights and instructions. A step by rows reads the constants of its operator again, so a plan of many
// small steps reads them often:
//
//     conv, rows 0..1     3 x 3 x 64 weights
//     conv, rows 1..2     3 x 3 x 64 weights, again
//
// A step of a block reads the part that its row rule names.
//
// Cost: linear in steps and operands.

#include "plan/weight_reads.h"

#include <variant>

#include "model/blocks.h"
#include "stowage/graph.h"

namespace stowage::plan {
namespace {

/// What a step of the operator needs of a constant.
ReadOfConstant read_at(Position at, const Graph& graph, const Operator& op, std::size_t input,
                       const Rare<RowRange>& block) {
  const Tensor& tensor = graph.tensors[*op.inputs[input]];
  const RowAxis* const along = block ? row_axis(op, block->axis) : nullptr;
  const RowRead* const read = along == nullptr ? nullptr : row_read(*along, input);
  const auto row = read == nullptr ? std::nullopt : bytes_of_row(tensor, read->axis);
  if (!row) return {at, tensor.bytes, std::nullopt};
  const RowRange part = model::block_read(*read, (*tensor.shape)[read->axis], *block);
  return {at, *row * (part.end - part.begin), part};
}

}  // namespace

std::vector<ReadsOfConstant> reads_of_constants(std::span<const Input> inputs, const Plan& plan) {
  std::vector<ReadsOfConstant> reads(plan.tensors.size());
  std::vector<std::size_t> first(plan.models.size());  // tensor of each model
  for (std::size_t t = plan.tensors.size(); t-- > 0;) first[plan.tensors[t].model] = t;
  for (const Clock& clock : plan.clocks) {
    for (std::size_t at = 0; at < clock.steps.size(); ++at) {
      const auto* const run = std::get_if<Run>(&clock.steps[at]);
      if (run == nullptr) continue;
      const Graph& graph = std::get<Graph>(inputs[run->model].content);
      const std::size_t depth = run->path.size();
      const Operator& op = graph.subgraphs[run->path[depth - 2]].operators[run->path[depth - 1]];
      const auto position = static_cast<Position>(at);
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (!op.inputs[i] || !is_constant(graph.tensors[*op.inputs[i]].kind)) continue;
        ReadsOfConstant& own = reads[first[run->model] + *op.inputs[i]];
        if (!own.empty() && own.back().at == position) continue;  // it reads it twice
        own.push_back(read_at(position, graph, op, i, run->block));
        own.back().is_of_bodies = depth > 2 || !op.bodies.empty();
      }
    }
  }
  return reads;
}

}  // namespace stowage::plan
