// What TensorFlow Lite Micro's greedy planner makes of offsets that it is given. It keeps those as they are,
// whatever they overlap, and takes the rest by falling size, of equal ones the later first: each goes to the
// lowest gap among what is placed already and is kept at any of the same scopes. Source: TensorFlow
// Lite Micro, memory_planner/greedy_memory_planner.cc.
//
// Cost: the square of the number of requests at worst, as in the runtime.

#include "tflm/arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/checked.h"
#include "stowage/error.h"

namespace stowage::tflm {
namespace {

/// More than any device has room for, and as many as can be placed in a second.
constexpr std::size_t most_requests = 10'000;

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
    requests.push_back({base::align_up(runtime_bytes(graph.tensors[tensor]), tflm_alignment), span, offset,
                        tensor < offsets.size() ? std::optional(tensor) : std::nullopt});
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

Bytes head_of(std::span<const Request> requests) {
  const std::vector<Bytes> offsets = placed_offsets(requests);
  Bytes head = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) head = std::max(head, offsets[i] + requests[i].bytes);
  return head;
}

}  // namespace stowage::tflm
