// A recurrent network in reverse begins with the last row. If operators around it begin with their last rows,
// too, then only few rows wait between them:
//
//     x  3 2 1 0
//     a    3 2 1 0            row 3 of `a` first
//     h      3 2 1 0          the network in reverse
//     y        3 2 1 0
//
// So the direction spreads along rows, in front of such a network and behind it, to all operators that may compute
// their rows in any order. Where a network runs forward and another one in reverse, one of them waits for all rows.
//
// Cost: linear in operands.

#include "stream/directions.h"

#include <algorithm>
#include <vector>

#include "stream/recompute.h"

namespace stowage::stream {
namespace {

bool reads_rows(const Operator& op, std::size_t tensor) {
  return std::ranges::any_of(
      op.reads, [&](const Access& access) { return access.tensor == tensor && access.rows.scale > 0; });
}

/// Whether it may run its rows in any order: it keeps nothing from row to row.
bool may_run_backward(const Graph& graph, const Operator& op) {
  return op.source && !graph.subgraphs[0].operators[*op.source].stateful && op.rows > 1 &&
         op.writing == Writing::row_by_row && op.carrying == Carrying::sums && op.accumulator == 0;
}

}  // namespace

bool runs_backward(const RowModel& model) {
  return std::ranges::any_of(model.operators, [](const Operator& op) { return op.backward; });
}

void turn_back(const Graph& graph, RowModel& model) {
  const Links links(model);
  std::vector<std::size_t> todo;
  for (std::size_t op = 0; op < model.operators.size(); ++op) {
    if (model.operators[op].backward) todo.push_back(op);
  }
  const auto turn = [&](std::size_t op) {
    if (model.operators[op].backward || !may_run_backward(graph, model.operators[op])) return;
    model.operators[op].backward = true;
    todo.push_back(op);
  };
  while (!todo.empty()) {
    const Operator& op = model.operators[todo.back()];
    todo.pop_back();
    for (const Access& access : op.reads) {
      if (access.rows.scale > 0 && links.writer[access.tensor]) turn(*links.writer[access.tensor]);
    }
    for (const std::size_t t : op.writes) {
      for (const std::size_t reader : links.readers[t]) {
        if (reads_rows(model.operators[reader], t)) turn(reader);
      }
    }
  }
}

}  // namespace stowage::stream
