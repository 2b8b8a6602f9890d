// When TensorFlow Lite Micro keeps a tensor. Its clock counts allocation scopes: inputs are there from scope
// 0, every operator begins a scope, and one with bodies begins another before each body, inside of which the
// body's operators begin theirs.
//
//     scope   0        1         2       3        4
//     main    inputs   CONV_2D   IF                         an operator's inputs and outputs are kept to the
//     bodies                     (IF)    then     ABS       end of its last body, its scratch likewise
//
// A subgraph's inputs begin with it, its outputs last until its end. Source: TensorFlow Lite Micro,
// micro_allocation_info.cc. Its record of a body that runs several times has the last run only; here all are
// kept, for all are there when the network runs. Cost: operands of all runs.

#include "tflm/scopes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "stowage/error.h"

namespace stowage::tflm {
namespace {

constexpr std::size_t deepest = 500;
constexpr std::size_t most_operands = 40'000'000;  // when bodies in bodies unfold

class Marker {
 public:
  Marker(const Graph& graph, const Orders& orders)
      : graph_(graph), orders_(orders), run_of_(graph.tensors.size(), 0) {
    timeline_.tensors.resize(graph.tensors.size());
    for (const Subgraph& subgraph : graph.subgraphs)
      timeline_.operators.emplace_back(subgraph.operators.size());
  }

  Timeline take() {
    run(0, 0);
    return std::move(timeline_);
  }

 private:
  void run(std::size_t s, std::size_t depth) {
    if (depth > deepest) throw Error(fmt::format("subgraph {}", s), "bodies are nested too deeply");
    const Subgraph& subgraph = graph_.subgraphs[s];
    const std::size_t this_run = ++runs_;
    spend(subgraph.inputs.size() + subgraph.outputs.size(), s);
    for (const TensorId tensor : subgraph.inputs) create(tensor, this_run);
    for (const TensorId tensor : subgraph.outputs) create(tensor, this_run);
    for (const std::size_t o : orders_[s]) {
      const Operator& op = subgraph.operators[o];
      spend(1 + op.inputs.size() + op.outputs.size() + op.scratch.size(), s);
      const Position begin = ++scope_;
      for (const auto& tensor : op.outputs) {
        if (tensor) create(*tensor, this_run);
      }
      for (const std::size_t body : op.bodies) {
        ++scope_;
        run(body, depth + 1);
      }
      for (const auto* operands : {&op.inputs, &op.outputs}) {
        for (const auto& tensor : *operands) {
          if (tensor) use(*tensor, this_run);
        }
      }
      timeline_.operators[s][o].push_back({begin, scope_});
      for (const TensorId tensor : op.scratch) timeline_.tensors[tensor].push_back({begin, scope_});
    }
    for (const TensorId tensor : subgraph.outputs) use(tensor, this_run);
  }

  void spend(std::size_t operands, std::size_t s) {
    operands_ += operands;
    if (operands_ > most_operands)
      throw Error(fmt::format("subgraph {}", s),
                  fmt::format("unfolds to more than {} operands", most_operands));
  }

  /// The last time that a tensor is created in a run counts.
  void create(TensorId tensor, std::size_t run) {
    Spans& spans = timeline_.tensors[tensor];
    if (run_of_[tensor] != run) spans.emplace_back();
    run_of_[tensor] = run;
    spans.back() = {scope_, scope_};
  }

  void use(TensorId tensor, std::size_t run) {
    Spans& spans = timeline_.tensors[tensor];
    if (run_of_[tensor] != run) spans.push_back({-1, scope_});
    run_of_[tensor] = run;
    spans.back().last = scope_;
  }

  const Graph& graph_;
  const Orders& orders_;
  Timeline timeline_;
  std::vector<std::size_t> run_of_;  // the last run of a subgraph that had the tensor, from 1
  std::size_t runs_ = 0;
  std::size_t operands_ = 0;
  Position scope_ = 0;
};

}  // namespace

Orders file_orders(const Graph& graph) {
  Orders orders;
  for (const Subgraph& subgraph : graph.subgraphs) {
    orders.emplace_back(subgraph.operators.size());
    std::iota(orders.back().begin(), orders.back().end(), std::size_t{0});
  }
  return orders;
}

Timeline timeline_of(const Graph& graph, const Orders& orders) { return Marker(graph, orders).take(); }

Scopes::Scopes(Spans spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.first < b.first; });
  for (const Span& span : spans) {
    if (!spans_.empty() && span.first <= spans_.back().last) {
      spans_.back().last = std::max(spans_.back().last, span.last);
    } else {
      spans_.push_back(span);
    }
  }
}

bool Scopes::meet(std::span<const Span> spans) const {
  return std::any_of(spans.begin(), spans.end(), [&](const Span& span) {
    const auto reaches = std::partition_point(spans_.begin(), spans_.end(),
                                              [&](const Span& it) { return it.last < span.first; });
    return reaches != spans_.end() && reaches->first <= span.last;
  });
}

}  // namespace stowage::tflm
