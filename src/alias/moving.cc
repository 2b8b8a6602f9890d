#include "alias/moving.h"

#include <cstddef>

namespace stowage::alias {

MovingPlaces::MovingPlaces(const Graph& graph) {
  std::vector<const Operator*> moving;
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      if (!op.copies.empty() && model::has_places_that_move(graph, op)) moving.push_back(&op);
    }
  }
  if (moving.empty()) return;
  motions_ = model::Motions(model::largest_extents(graph));
  for (const Tensor& tensor : graph.tensors)
    ends_.push_back(motions_.id_of(model::motion_of_end(tensor).value_or(model::Motion())));
  for (const Operator* const op : moving) {
    const std::vector<model::CopyMotion> motions = model::motions_of_copies(graph, *op);
    for (std::size_t c = 0; c < motions.size(); ++c) {
      const ByteCopy& copy = op->copies[c];
      const bool is_cut = copy.to == 0 && copy.size == graph.tensors[*op->outputs[copy.output]].bytes;
      const TensorId part = is_cut ? *op->outputs[copy.output] : *op->inputs[copy.input];
      const model::MotionId from = motions_.id_of(motions[c].from);
      copies_[&copy] = {from, motions_.sum(from, ends_[part]), motions_.id_of(motions[c].to)};
    }
  }
}

MovingCopy MovingPlaces::of(const Graph& graph, const Operator& op, const ByteCopy& copy) const {
  if (ends_.empty()) return {};
  if (const auto found = copies_.find(&copy); found != copies_.end()) return found->second;
  const TensorId input = *op.inputs[copy.input];
  const bool is_whole = copy.from == 0 && copy.size == graph.tensors[input].bytes;
  return {.from_end = is_whole ? ends_[input] : 0};
}

}  // namespace stowage::alias
