// What TensorFlow Lite Micro's greedy planner makes of offsets that it is given. It keeps those as they are,
// whatever they overlap, and takes the rest by falling size, of equal ones the later first: each goes to the
// lowest gap among what is placed already and is kept at any of the same scopes. Source: TensorFlow
// Lite Micro, memory_planner/greedy_memory_planner.cc.
//
// Cost: the square of the number of requests at worst, as in the runtime.

#include "tflm/arena.h"

#include <algorithm>
#include <map>

#include "base/checked.h"

namespace stowage::tflm {
namespace {

/// Requests placed so far, by offset; those at one offset in the order in which they came.
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

bool is_planned(const Tensor& tensor) {
  return !is_constant(tensor.kind) && tensor.kind != TensorKind::state && tensor.bytes > 0;
}

std::vector<Request> requests_of(const Graph& graph, const OfflineOffsets& offsets, const Orders& orders,
                                 const Timeline& timeline) {
  std::vector<Request> requests;
  const auto add = [&](TensorId tensor, std::optional<Bytes> offset) {
    const Spans& spans = timeline.tensors[tensor];
    const Span span = spans.empty() ? Span{-1, -1} : spans.back();  // the runtime's record is the last
    requests.push_back({base::align_up(runtime_bytes(graph.tensors[tensor]), arena_alignment), span, offset});
  };
  for (TensorId t = 0; t < offsets.size(); ++t) {
    if (is_planned(graph.tensors[t])) add(t, offsets[t]);
  }
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    for (const std::size_t o : orders[s]) {
      for (const TensorId tensor : graph.subgraphs[s].operators[o].scratch) {
        if (tensor >= offsets.size()) add(tensor, std::nullopt);
      }
    }
  }
  return requests;
}

Bytes head_of(std::span<const Request> requests) {
  Placed placed;
  std::vector<const Request*> online;
  Bytes head = 0;
  const auto place = [&](const Request& request, Bytes offset) {
    placed.emplace(offset, &request);
    head = std::max(head, offset + request.bytes);
  };
  for (const Request& request : requests) {
    if (request.offset) {
      place(request, *request.offset);
    } else {
      online.push_back(&request);
    }
  }
  std::reverse(online.begin(), online.end());
  std::stable_sort(online.begin(), online.end(),
                   [](const Request* a, const Request* b) { return a->bytes > b->bytes; });
  for (const Request* const request : online) place(*request, lowest_gap(*request, placed));
  return head;
}

}  // namespace stowage::tflm
