// A branch of IF sees nothing but its inputs, so converters hand weights over to it. Each would be copied to the
// branch's input in every run:
//
//     IF c, x, w -> y, with then(x', w'): FULLY_CONNECTED x', w'     becomes     IF c, x -> y, with then(x'): ... x', w
//
// Cost: the operators of all branches, for each branch that runs another one.

#include "import/tflite_branches.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace stowage::import {
namespace {

class Branches {
 public:
  explicit Branches(Graph& graph) : graph_(graph), uses_(graph.subgraphs.size(), 0) {
    for (const Subgraph& subgraph : graph.subgraphs)
      for (const Operator& op : subgraph.operators)
        for (const std::size_t body : op.bodies) ++uses_[body];
  }

  /// Whether there was one to give.
  bool give_all() {
    bool gave = false;
    for (Subgraph& subgraph : graph_.subgraphs)
      for (Operator& op : subgraph.operators)
        if (op.type == "IF" && can_give(op)) gave = give(op) || gave;
    return gave;
  }

 private:
  /// Each operand but the condition is an input of each branch, which no other operator runs.
  [[nodiscard]] bool can_give(const Operator& op) const {
    return std::ranges::all_of(op.inputs, [](const auto& input) { return input.has_value(); }) &&
           std::ranges::all_of(op.bodies, [&](std::size_t body) {
             return uses_[body] == 1 && graph_.subgraphs[body].inputs.size() + 1 == op.inputs.size();
           });
  }

  bool give(Operator& op) {
    const std::size_t before = op.inputs.size();
    for (std::size_t i = op.inputs.size(); i-- > 1;) {
      if (!fits(op, i)) continue;
      for (const std::size_t body : op.bodies) replace(graph_.subgraphs[body], i - 1, *op.inputs[i]);
      op.inputs.erase(op.inputs.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return op.inputs.size() != before;
  }

  /// A constant like the inputs that stand for it, which no branch returns.
  [[nodiscard]] bool fits(const Operator& op, std::size_t i) const {
    const Tensor& constant = graph_.tensors[*op.inputs[i]];
    return constant.kind == TensorKind::weight && std::ranges::all_of(op.bodies, [&](std::size_t b) {
             const Subgraph& body = graph_.subgraphs[b];
             const TensorId own = body.inputs[i - 1];
             const Tensor& tensor = graph_.tensors[own];
             return tensor.kind == TensorKind::temporary && tensor.dtype == constant.dtype &&
                    tensor.shape == constant.shape && tensor.bytes == constant.bytes &&
                    std::ranges::count(body.inputs, own) == 1 &&
                    std::ranges::find(body.outputs, own) == body.outputs.end();
           });
  }

  static void replace(Subgraph& body, std::size_t input, TensorId constant) {
    const TensorId own = body.inputs[input];
    for (Operator& op : body.operators)
      std::ranges::replace(op.inputs, std::optional(own), std::optional(constant));
    body.inputs.erase(body.inputs.begin() + static_cast<std::ptrdiff_t>(input));
  }

  Graph& graph_;
  std::vector<std::size_t> uses_;  ///< Of each subgraph as a body.
};

}  // namespace

void give_constants_to_branches(Graph& graph) {
  Branches branches(graph);
  for (std::size_t depth = 0; depth < graph.subgraphs.size() && branches.give_all(); ++depth) {
  }
}

}  // namespace stowage::import
