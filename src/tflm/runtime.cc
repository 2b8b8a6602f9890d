// When TensorFlow Lite Micro keeps a tensor. Its clock counts allocation scopes: inputs exist from scope 0,
// every operator begins a scope, and an operator with bodies begins another scope before each body. The
// body's operators begin theirs inside of it.
//
//     scope   0        1         2       3        4
//     main    inputs   CONV_2D   IF                         an operator's inputs and outputs are kept to the
//     bodies                     (IF)    then     ABS       end of its last body, its scratch likewise
//
// A subgraph's inputs begin with it, and its outputs last until its end. Source: TensorFlow Lite Micro,
// micro_allocation_info.cc. Its record of a body that runs several times is one span from the first to the
// last; this one has all runs. Cost: operands of all runs.

#include "tflm/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "base/checked.h"
#include "stowage/error.h"

namespace stowage::tflm {
namespace {

constexpr std::size_t deepest = 500;
constexpr std::size_t most_operands = 40'000'000;  // for nested bodies, which are unrolled

class Marker {
 public:
  Marker(const Graph& graph, const Orders& orders)
      : graph_(graph), orders_(orders), run_of_(graph.tensors.size(), 0) {
    timeline_.tensors.resize(graph.tensors.size());
    for (const Subgraph& subgraph : graph.subgraphs)
      timeline_.operators.emplace_back(subgraph.operators.size());
  }

  Timeline run() {
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
        // The runtime marks both branches of an IF, even if they are one subgraph.
        for (std::size_t i = 0; i < (op.type == "IF" && op.bodies.size() == 1 ? 2 : 1); ++i) {
          ++scope_;
          run(body, depth + 1);
        }
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

  /// Only the last creation of a tensor in a run counts.
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
  std::vector<std::size_t> run_of_;  // the last run of a subgraph with the tensor, from 1
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

Timeline timeline_of(const Graph& graph, const Orders& orders) { return Marker(graph, orders).run(); }

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

// Simulates TensorFlow Lite Micro's greedy planner with given offsets. It keeps these as they are, whatever
// they overlap, and places the rest by falling size, later ones first if equal. Each goes to the lowest gap
// among placed requests that are kept at any of the same scopes. Source: TensorFlow Lite Micro,
// memory_planner/greedy_memory_planner.cc.
//
// Cost: the square of the number of requests at worst, as in the runtime.

namespace {

/// More than fits on any device, and as many as one second can place.
constexpr std::size_t most_requests = 10'000;

/// Requests placed so far, by offset; at equal offsets in the order of placement.
using Placed = std::multimap<Bytes, const Request*>;

Bytes lowest_gap(const Request& wanted, const Placed& placed) {
  Bytes candidate = 0;
  for (const auto& [offset, other] : placed) {
    if (!other->span.overlaps(wanted.span)) continue;
    if (offset - candidate >= wanted.bytes) break;
    candidate = std::max(candidate, offset + other->bytes);
  }
  return candidate;
}

}  // namespace

Bytes runtime_bytes(const Tensor& tensor) {
  const std::optional<int> bits = bits_of(tensor.dtype);
  if (!bits || *bits >= 8 || !tensor.shape) return tensor.bytes;
  return bytes_of(DType::int8, *tensor.shape);
}

std::vector<bool> planned_tensors(const Graph& graph) {
  std::vector<bool> is_planned(graph.tensors.size());
  for (TensorId t = 0; t < is_planned.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    is_planned[t] = !is_constant(tensor.kind) && tensor.kind != TensorKind::state && tensor.bytes > 0;
  }
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      if (op.type == "VAR_HANDLE" && !op.outputs.empty() && op.outputs[0]) is_planned[*op.outputs[0]] = false;
    }
  }
  return is_planned;
}

std::vector<Request> requests_of(const Graph& graph, const OfflineOffsets& offsets, const Orders& orders,
                                 const Timeline& timeline) {
  std::vector<Request> requests;
  const auto add = [&](TensorId tensor, std::optional<Bytes> offset) {
    const Spans& spans = timeline.tensors[tensor];
    // Of several runs of a body the runtime records one span, which has them all.
    const Span span = spans.empty() ? Span{-1, -1} : Span{spans.front().first, spans.back().last};
    requests.push_back({base::align_up(runtime_bytes(graph.tensors[tensor]), tflm_alignment), span, offset,
                        tensor < offsets.size() ? std::optional(tensor) : std::nullopt});
  };
  const std::vector<bool> is_planned = planned_tensors(graph);
  for (TensorId t = 0; t < offsets.size(); ++t) {
    if (is_planned[t]) add(t, offsets[t]);
  }
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    for (const std::size_t o : orders[s]) {
      for (const TensorId tensor : graph.subgraphs[s].operators[o].scratch) {
        if (tensor >= offsets.size()) add(tensor, std::nullopt);
      }
    }
  }
  if (requests.size() > most_requests) {
    throw UsageError(
        fmt::format("{} tensors to be planned are more than TensorFlow Lite Micro is expected to, {}",
                    requests.size(), most_requests));
  }
  return requests;
}

std::vector<std::size_t> placing_order(std::span<const Request> requests) {
  std::vector<std::size_t> order;
  std::vector<std::size_t> online;
  for (std::size_t i = 0; i < requests.size(); ++i) (requests[i].offset ? order : online).push_back(i);
  std::reverse(online.begin(), online.end());
  std::stable_sort(online.begin(), online.end(),
                   [&](std::size_t a, std::size_t b) { return requests[a].bytes > requests[b].bytes; });
  order.insert(order.end(), online.begin(), online.end());
  return order;
}

std::vector<Bytes> placed_offsets(std::span<const Request> requests) {
  std::vector<Bytes> offsets(requests.size());
  Placed placed;
  for (const std::size_t i : placing_order(requests)) {
    offsets[i] = requests[i].offset ? *requests[i].offset : lowest_gap(requests[i], placed);
    placed.emplace(offsets[i], &requests[i]);
  }
  return offsets;
}

Bytes most_kept(std::span<const Request> requests) {
  std::vector<std::pair<Position, Bytes>> changes;
  for (const Request& it : requests) {
    changes.emplace_back(it.span.first, it.bytes);
    changes.emplace_back(it.span.last + 1, -it.bytes);
  }
  std::sort(changes.begin(), changes.end());  // at one scope, ends (negative) come first
  Bytes kept = 0;
  Bytes most = 0;
  for (const auto& [scope, change] : changes) most = std::max(most, kept += change);
  return most;
}

Bytes head_of(std::span<const Request> requests) {
  const std::vector<Bytes> offsets = placed_offsets(requests);
  Bytes head = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) head = std::max(head, offsets[i] + requests[i].bytes);
  return head;
}

}  // namespace stowage::tflm
