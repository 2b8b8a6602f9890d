#include <fmt/format.h>

#include <algorithm>

#include "run/program.h"
#include "stowage/run.h"

namespace stowage::run {
namespace {

/// Turns the steps of a clock into a tree, trusting none of them.
class CallReader {
 public:
  CallReader(const Graph& graph, const std::vector<Step>& steps) : graph_(graph) {
    for (const Step& step : steps) {
      const Run* const run = std::get_if<Run>(&step);
      if (run == nullptr || run->model != 0 || run->rows || run->path.empty() || run->path.size() % 2 != 0)
        refuse(paths_.size());
      paths_.push_back(&run->path);
    }
  }

  std::vector<Call> read() {
    std::vector<Call> calls = read_body(0, 1);
    if (at_ < paths_.size()) refuse(at_);
    return calls;
  }

 private:
  [[noreturn]] static void refuse(std::size_t at) {
    throw RunFault{fmt::format("step {} is not an operator of the network that could run there", at)};
  }

  /// Whether the next step is of that subgraph, at that depth below the open operators.
  [[nodiscard]] bool is_in(std::size_t subgraph, std::size_t depth) const {
    if (at_ >= paths_.size()) return false;
    const std::vector<std::size_t>& path = *paths_[at_];
    return path.size() == 2 * depth && path[2 * depth - 2] == subgraph &&
           std::equal(open_.begin(), open_.end(), path.begin()) &&
           path.back() < graph_.subgraphs[subgraph].operators.size();
  }

  std::vector<Call> read_body(std::size_t subgraph, std::size_t depth) {
    std::vector<Call> calls;
    while (is_in(subgraph, depth)) {
      const std::vector<std::size_t>& path = *paths_[at_];
      Call call{.subgraph = subgraph, .op = path.back(), .at = static_cast<Position>(at_)};
      ++at_;
      open_ = path;
      for (const std::size_t body : graph_.subgraphs[subgraph].operators[call.op].bodies)
        call.bodies.push_back(read_body(body, depth + 1));
      open_.resize(2 * depth - 2);
      calls.push_back(std::move(call));
    }
    return calls;
  }

  const Graph& graph_;
  std::vector<const std::vector<std::size_t>*> paths_{};
  std::vector<std::size_t> open_{};
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Call> calls_of(const Graph& graph, const Plan& plan) {
  if (plan.clocks.size() != 1 || plan.models.size() != 1)
    throw RunFault{fmt::format("the plan has {} models and {} clocks, expected one of each to run",
                               plan.models.size(), plan.clocks.size())};
  return CallReader(graph, plan.clocks[0].steps).read();
}

std::vector<Call> calls_of(const Graph& graph, const std::vector<std::vector<std::size_t>>& orders,
                           std::size_t subgraph) {
  std::vector<Call> calls;
  for (const std::size_t o : orders[subgraph]) {
    const Operator& op = graph.subgraphs[subgraph].operators[o];
    if (op.folded) continue;
    Call& call = calls.emplace_back(Call{.subgraph = subgraph, .op = o});
    for (const std::size_t body : op.bodies) call.bodies.push_back(calls_of(graph, orders, body));
  }
  return calls;
}

bool is_control_flow(const Operator& op) { return !op.bodies.empty(); }

bool only_copies(const Graph& graph, const Operator& op) {
  if (op.copies.empty() || is_control_flow(op)) return false;
  Bytes copied = 0;
  Bytes written = 0;
  for (const ByteCopy& copy : op.copies) copied += copy.size;
  for (const auto& output : op.outputs) written += output ? graph.tensors[*output].bytes : 0;
  return copied == written;
}

}  // namespace stowage::run
