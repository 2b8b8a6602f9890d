// While an operator runs, all its operands are in memory at once. Their best places have a cost. Even
// if tensors moved between operators for free, no plan would cost less than the sum of these costs:
//
//     fast memory 10       conv reads x (8), writes y (6)      one of them is in slow memory, at best y
//                          relu reads y (6), writes z (6)      may write over it: nothing need be slow
//
// The bound must hold for every way of sharing. So operands that may overlap count as one, as large as the
// largest of them: an output with the input that it is best written over, and tensors that repeat each
// other's bytes through any number of copies. Operators that copy or run bodies may do nothing, so they cost
// nothing.
//
// Cost: memories ^ operands for each operator. Beyond a limit, each operand has its best place.

#include "plan/least_cost.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <variant>

#include "base/checked.h"
#include "base/union_find.h"
#include "model/ties.h"
#include "pack/placing.h"

namespace stowage::plan {
namespace {

constexpr std::int64_t most_choices = 4096;
constexpr std::int64_t most_cost = std::numeric_limits<std::int64_t>::max();

std::int64_t sum_of(std::int64_t a, std::int64_t b) { return base::checked_add(a, b).value_or(most_cost); }

/// Sets of tensors that may share bytes.
base::UnionFind classes_of(const Graph& graph) {
  base::UnionFind classes(graph.tensors.size());
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      for (const ByteCopy& copy : op.copies) classes.join(*op.inputs[copy.input], *op.outputs[copy.output]);
    }
  }
  for (const StateTie& tie : model::ties_in_place(graph)) classes.join(tie.output, tie.input);
  return classes;
}

/// Operands that may overlap.
struct Operand {
  std::size_t group = 0;
  Bytes size = 0;
  Bytes traffic = 0;
};

class OperatorCost {
 public:
  OperatorCost(const std::vector<Operand>& operands, const std::vector<Memory>& memories)
      : operands_(operands), memories_(memories) {
    for (const Memory& memory : memories) free_.push_back(pack::capacity_of(memory));
    for (const Operand& operand : operands) alone_.push_back(cheapest(operand));
  }

  std::int64_t least() {
    std::int64_t choices = 1;
    for (std::size_t i = 0; i < operands_.size() && choices <= most_choices; ++i)
      choices *= std::ssize(memories_);
    if (choices > most_choices) return std::accumulate(alone_.begin(), alone_.end(), std::int64_t{0}, sum_of);
    choose(0, 0);
    return best_ == most_cost ? 0 : best_;  // they never fit, so no plan needs a bound
  }

 private:
  [[nodiscard]] std::int64_t price(const Operand& operand, std::size_t memory) const {
    return base::checked_multiply(operand.traffic, memories_[memory].cost).value_or(most_cost);
  }

  [[nodiscard]] std::int64_t cheapest(const Operand& operand) const {
    std::int64_t cost = most_cost;
    for (std::size_t m = 0; m < memories_.size(); ++m) {
      if (operand.size <= free_[m]) cost = std::min(cost, price(operand, m));
    }
    return cost == most_cost ? 0 : cost;
  }

  void choose(std::size_t i, std::int64_t cost) {
    if (cost >= best_) return;
    if (i == operands_.size()) {
      best_ = cost;
      return;
    }
    for (std::size_t m = 0; m < memories_.size(); ++m) {
      if (operands_[i].size > free_[m]) continue;
      free_[m] -= operands_[i].size;
      choose(i + 1, sum_of(cost, price(operands_[i], m)));
      free_[m] += operands_[i].size;
    }
  }

  const std::vector<Operand>& operands_;
  const std::vector<Memory>& memories_;
  std::vector<Bytes> free_;
  std::vector<std::int64_t> alone_;  ///< Per operand: its cost if it were the only one.
  std::int64_t best_ = most_cost;
};

class LeastCost {
 public:
  LeastCost(std::span<const Input> networks, const Plan& plan, const std::vector<Memory>& memories)
      : networks_(networks), plan_(plan), memories_(memories), first_tensor_(networks.size()) {
    for (std::size_t t = plan.tensors.size(); t-- > 0;) first_tensor_[plan.tensors[t].model] = t;
    for (const Input& network : networks) classes_.push_back(classes_of(std::get<Graph>(network.content)));
  }

  std::int64_t of_all_steps() {
    std::int64_t cost = 0;
    for (const Clock& clock : plan_.clocks) {
      for (const Step& step : clock.steps) {
        if (const auto* const run = std::get_if<Run>(&step)) cost = sum_of(cost, of_run(*run));
      }
    }
    return cost;
  }

 private:
  std::int64_t of_run(const Run& run) {
    const auto& graph = std::get<Graph>(networks_[run.model].content);
    const Operator& op = graph.subgraphs[run.path[run.path.size() - 2]].operators[run.path.back()];
    if (!op.copies.empty() || !op.bodies.empty()) return 0;
    std::vector<Operand> operands;
    for (const auto* const all : {&op.inputs, &op.outputs}) {
      for (const auto& tensor : *all) {
        if (tensor) add(run.model, *tensor, graph.tensors[*tensor], operands);
      }
    }
    std::int64_t cost = OperatorCost(operands, memories_).least();
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const auto output = in_place_output(graph, op, i);
      if (!output) continue;
      const std::vector<Operand> merged =
          with_one_of(operands, classes_[run.model].find(*op.inputs[i]), classes_[run.model].find(*output));
      cost = std::min(cost, OperatorCost(merged, memories_).least());
    }
    return cost;
  }

  void add(std::size_t model, TensorId tensor, const Tensor& it, std::vector<Operand>& operands) {
    if (plan_.tensors[first_tensor_[model] + tensor].views.empty() || is_constant(it.kind)) return;
    const std::size_t group = classes_[model].find(tensor);
    const auto same = std::find_if(operands.begin(), operands.end(),
                                   [&](const Operand& operand) { return operand.group == group; });
    if (same == operands.end()) {
      operands.push_back({group, it.bytes, it.bytes});
    } else {
      same->size = std::max(same->size, it.bytes);
      same->traffic = sum_of(same->traffic, it.bytes);
    }
  }

  /// The operands with those two merged.
  static std::vector<Operand> with_one_of(std::vector<Operand> operands, std::size_t group,
                                          std::size_t other) {
    const auto find = [&](std::size_t wanted) {
      return std::find_if(operands.begin(), operands.end(),
                          [&](const Operand& operand) { return operand.group == wanted; });
    };
    const auto first = find(group);
    const auto second = find(other);
    if (first == operands.end() || second == operands.end() || first == second) return operands;
    second->size = std::max(first->size, second->size);
    second->traffic = sum_of(first->traffic, second->traffic);
    operands.erase(first);
    return operands;
  }

  std::span<const Input> networks_;
  const Plan& plan_;
  const std::vector<Memory>& memories_;
  std::vector<std::size_t> first_tensor_;  ///< Per model: index in Plan::tensors.
  std::vector<base::UnionFind> classes_;   ///< Per model.
};

}  // namespace

std::int64_t least_cost(std::span<const Input> networks, const Plan& plan,
                        const std::vector<Memory>& memories) {
  return LeastCost(networks, plan, memories).of_all_steps();
}

}  // namespace stowage::plan
