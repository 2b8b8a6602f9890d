#include "run/multiplies.h"

#include "base/checked.h"
#include "model/multiplies.h"

namespace stowage::run {

std::int64_t multiplies_of(const Graph& graph, std::size_t op, const RowRange& rows) {
  const Operator& it = graph.subgraphs[0].operators[op];
  const std::int64_t extent = graph.tensors[it.outputs.at(0).value()].shape.value().at(rows.axis);
  return model::multiplies_of_rows(it.multiplies, extent, rows.begin, rows.end);
}

std::int64_t multiplies_of(const Graph& graph) {
  std::int64_t sum = 0;
  for (const Operator& op : graph.subgraphs[0].operators)
    sum = base::checked_add(sum, op.folded ? 0 : op.multiplies).value_or(sum);
  return sum;
}

}  // namespace stowage::run
