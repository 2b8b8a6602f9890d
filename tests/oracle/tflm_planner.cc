#include "oracle/tflm_planner.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace stowage::testing {
namespace {

/// A request that has got its place.
struct Entry {
  const tflm::Request* request;
  Bytes offset;
};

bool clash_in_time(const tflm::Request& a, const tflm::Request& b) {
  if (a.span.first > b.span.last) return false;
  return b.span.first <= a.span.last;
}

/// The list is kept in the order of offsets; a newcomer goes behind those with its own.
void insert(std::vector<Entry>& list, const Entry& entry) {
  std::size_t at = 0;
  while (at < list.size() && list[at].offset <= entry.offset) ++at;
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), entry);
}

}  // namespace

Bytes naive_tflm_head(std::span<const tflm::Request> requests) {
  std::vector<const tflm::Request*> order(requests.size());
  std::size_t head = 0;
  std::size_t tail = requests.size();
  for (const tflm::Request& request : requests) {
    if (request.offset) {
      order[head++] = &request;
    } else {
      order[--tail] = &request;
    }
  }
  for (bool swapped = true; swapped;) {
    swapped = false;
    for (std::size_t i = head + 1; i < order.size(); ++i) {
      if (order[i - 1]->bytes >= order[i]->bytes) continue;
      std::swap(order[i - 1], order[i]);
      swapped = true;
    }
  }
  std::vector<Entry> list;
  for (const tflm::Request* const wanted : order) {
    Bytes candidate = 0;
    for (std::size_t i = 0; !wanted->offset && i < list.size(); ++i) {
      if (!clash_in_time(*list[i].request, *wanted)) continue;
      if (list[i].offset - candidate >= wanted->bytes) break;
      candidate = std::max(candidate, list[i].offset + list[i].request->bytes);
    }
    insert(list, {wanted, wanted->offset.value_or(candidate)});
  }
  Bytes highest = 0;
  for (const Entry& entry : list) highest = std::max(highest, entry.offset + entry.request->bytes);
  return highest;
}

}  // namespace stowage::testing
