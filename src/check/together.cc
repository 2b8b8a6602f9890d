// Cost: the square of the joints, and the buffers.

#include "check/together.h"

#include <algorithm>
#include <numeric>

namespace stowage::check {

Together together_of(const Problem& problem, std::span<const std::int64_t> copies) {
  const std::size_t count = problem.buffers.size();
  Together it{.group = std::vector<std::size_t>(count)};
  std::iota(it.group.begin(), it.group.end(), std::size_t{0});
  std::vector<Bytes> at(count);  // beside the first of the group
  for (bool changes = true; changes;) {
    changes = false;
    for (const Joint& joint : problem.relations.together) {
      const auto adopt = [&](std::size_t from, std::size_t to, Bytes distance) {
        if (it.group[from] >= it.group[to]) return;
        it.group[to] = it.group[from];
        at[to] = at[from] + distance;
        changes = true;
      };
      adopt(joint.first, joint.second, joint.distance);
      adopt(joint.second, joint.first, -joint.distance);
    }
  }
  std::vector<Bytes> begins(count);
  std::vector<Bytes> ends(count);
  for (std::size_t b = 0; b < count; ++b) {
    const Bytes size = size_of_copies(problem.buffers[b], copies.empty() ? 1 : copies[b]);
    begins[it.group[b]] = std::min(begins[it.group[b]], at[b]);
    ends[it.group[b]] = std::max(ends[it.group[b]], at[b] + size);
  }
  for (std::size_t b = 0; b < count; ++b) {
    it.ahead.push_back(at[b] - begins[it.group[b]]);
    it.size.push_back(ends[it.group[b]] - begins[it.group[b]]);
  }
  return it;
}

std::vector<std::size_t> memories_of(const Problem& problem, const Together& together, std::size_t buffer) {
  std::vector<std::size_t> memories;
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    bool is_allowed = true;
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      const auto& own = problem.buffers[b].memories;
      if (together.group[b] == together.group[buffer] && !own.empty() && std::ranges::count(own, m) == 0)
        is_allowed = false;
    }
    if (is_allowed) memories.push_back(m);
  }
  return memories;
}

}  // namespace stowage::check
