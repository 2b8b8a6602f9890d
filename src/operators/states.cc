// A new state is written over the old one where that is possible. A cache that grows is the old one and new bytes behind
// it, if no axis before the one along which it grows has more than one index:
//
//     past [n,8]  ──concat, axis 0──> present [n+1,8]       |p p p p|x|         in place: only x is written
//     past [h,n,8] ──concat, axis 1──> present [h,n+1,8]    |p p|x|p p|x|       each head moves: a tensor of its own
//
// In place, the operator that writes the new state is the only one that may read the old one in that step, all others
// read it before, and the caller does not want it. All other new states are outputs with bytes of their own; the caller
// copies them to the place of the state when the model has run.
//
// Cost: ties * (operators + operands).

#include "operators/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "model/ties.h"
#include "operators/copy_rules.h"
#include "operators/facts.h"

namespace stowage::operators {
namespace {

bool is_among(const std::vector<TensorId>& tensors, TensorId tensor) {
  return std::ranges::find(tensors, tensor) != tensors.end();
}

bool has(const std::vector<std::optional<TensorId>>& operands, TensorId tensor) {
  return std::ranges::find(operands, std::optional(tensor)) != operands.end();
}

/// Whether the tensors differ along one axis at most, and have one index along all axes before it, at all sizes.
bool differ_in_the_outermost(const Tensor& input, const Tensor& output) {
  if (input.dtype != output.dtype || !input.shape || !output.shape ||
      input.shape->size() != output.shape->size())
    return false;
  const auto symbol_of = [](const Tensor& tensor, std::size_t axis) {
    const auto open = std::ranges::find(tensor.open, axis, &OpenExtent::axis);
    return open == tensor.open.end() ? std::nullopt : std::optional(open->symbol);
  };
  bool is_inside = false;  // an axis with more than one index is before
  bool has_grown = false;
  for (std::size_t d = 0; d < input.shape->size(); ++d) {
    const bool differs =
        (*input.shape)[d] != (*output.shape)[d] || symbol_of(input, d) != symbol_of(output, d);
    if (differs && (is_inside || has_grown)) return false;
    has_grown = has_grown || differs;
    is_inside = is_inside || (*output.shape)[d] > 1;
  }
  return true;
}

/// Whether the output is, from its first byte on, the whole input unchanged, at all sizes.
bool begins_with(const Graph& graph, const Operator& op, std::size_t input, TensorId output) {
  const Tensor& read = graph.tensors[*op.inputs[input]];
  const Tensor& written = graph.tensors[output];
  const auto is_all = [&](const ByteCopy& it) {
    return it.input == input && op.outputs[it.output] == output && it.from == 0 && it.to == 0 &&
           it.size == read.bytes;
  };
  if (read.bytes < written.bytes && std::ranges::any_of(op.copies, is_all)) return true;
  const bool joins = op.outputs.size() == 1 &&
                     facts_of(op.type).facts.copies == copies::concat;  // it may have none, as sizes are open
  return input == 0 && joins && differ_in_the_outermost(read, written);
}

/// The operators of the main subgraph, and which of them must wait for which.
class Waits {
 public:
  explicit Waits(const Graph& graph) : captures_(captures_of(graph)) {
    const std::vector<Operator>& operators = graph.subgraphs[0].operators;
    waiting_.resize(operators.size());
    std::vector<std::optional<std::size_t>> writers(graph.tensors.size());
    for (std::size_t o = 0; o < operators.size(); ++o) {
      for (const auto& output : operators[o].outputs)
        if (output) writers[*output] = o;
    }
    std::optional<std::size_t> last_stateful;
    for (std::size_t o = 0; o < operators.size(); ++o) {
      for_each_read(operators[o], [&](TensorId tensor) {
        if (writers[tensor]) waiting_[*writers[tensor]].push_back(o);
      });
      for (const std::size_t earlier : operators[o].after) waiting_[earlier].push_back(o);
      if (!operators[o].stateful) continue;
      if (last_stateful) waiting_[*last_stateful].push_back(o);
      last_stateful = o;
    }
  }

  /// False, with nothing changed, if `later` must run before some of `earlier`.
  bool add(const std::vector<std::size_t>& earlier, std::size_t later) {
    std::vector<bool> follows(waiting_.size(), false);
    std::vector<std::size_t> open{later};
    while (!open.empty()) {
      const std::size_t next = open.back();
      open.pop_back();
      for (const std::size_t o : waiting_[next]) {
        if (follows[o]) continue;
        follows[o] = true;
        open.push_back(o);
      }
    }
    if (std::ranges::any_of(earlier, [&](std::size_t o) { return follows[o]; })) return false;
    for (const std::size_t o : earlier) waiting_[o].push_back(later);
    return true;
  }

  [[nodiscard]] bool reads(const Operator& op, TensorId wanted) const {
    bool has_read = false;
    for_each_read(op, [&](TensorId tensor) { has_read = has_read || tensor == wanted; });
    return has_read;
  }

 private:
  template <typename Visit>
  void for_each_read(const Operator& op, Visit visit) const {
    for (const auto& input : op.inputs)
      if (input) visit(*input);
    for (const std::size_t body : op.bodies) std::ranges::for_each(captures_[body], visit);
  }

  std::vector<std::vector<TensorId>> captures_;
  std::vector<std::vector<std::size_t>> waiting_{};
};

/// Whether the new state can be written over the old one; the other readers of that then run before.
bool can_be_in_place(const Graph& graph, const StateTie& tie, Waits& waits) {
  const Subgraph& main = graph.subgraphs[0];
  if (is_among(main.outputs, tie.input)) return true;  // planning refuses it
  if (is_among(main.inputs, tie.output)) return false;
  const auto writer =
      std::ranges::find_if(main.operators, [&](const Operator& op) { return has(op.outputs, tie.output); });
  if (writer == main.operators.end()) return true;  // it has no bytes
  const auto later = static_cast<std::size_t>(writer - main.operators.begin());
  if (waits.reads(*writer, tie.input)) {
    if (!writer->bodies.empty()) return false;
    for (std::size_t i = 0; i < writer->inputs.size(); ++i) {
      if (writer->inputs[i] == tie.input && !may_write_over_state(graph, *writer, i, tie.output))
        return false;
    }
  }
  std::vector<std::size_t> earlier;
  for (std::size_t o = 0; o < main.operators.size(); ++o) {
    if (o != later && waits.reads(main.operators[o], tie.input)) earlier.push_back(o);
  }
  return waits.add(earlier, later);
}

}  // namespace

bool may_write_over_state(const Graph& graph, const Operator& op, std::size_t input, TensorId output) {
  const Tensor& read = graph.tensors[*op.inputs[input]];
  const Tensor& written = graph.tensors[output];
  if (updates_in_place(op, input) && read.bytes == written.bytes && are_open_alike(read, written))
    return true;
  return begins_with(graph, op, input, output);
}

std::string settle_states(Graph& graph) {
  if (graph.ties.empty()) return {};
  Waits waits(graph);
  Bytes bytes = 0;
  std::vector<StateTie> copied;
  for (const StateTie& tie : graph.ties) {
    Tensor& old_state = graph.tensors[tie.input];
    if (old_state.kind == TensorKind::input && !can_be_in_place(graph, tie, waits))
      old_state.kind = TensorKind::state;
    if (!model::is_copied(graph, tie)) continue;
    copied.push_back(tie);
    bytes += graph.tensors[tie.output].bytes;
  }
  if (copied.empty()) return {};
  return fmt::format(
      "{}{} cannot be written over the old state, {}, and is copied there when the model has run: {} "
      "bytes{}; a cache "
      "whose first axis of more than one index is time, or one of fixed length, is written in place",
      describe(graph, copied[0].output),
      copied.size() > 1 ? fmt::format(" (and {} more)", copied.size() - 1) : "",
      describe(graph, copied[0].input), bytes, copied.size() > 1 ? " in all" : "");
}

}  // namespace stowage::operators
