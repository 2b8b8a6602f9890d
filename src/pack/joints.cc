// What lies together is one block: from one buffer its joints lead to all others of the block, each at a distance.
//
//     a ------         joints: b is 2 behind a, c is 3 behind b
//       b --           block:  7 bytes, whichever of them is live
//          c ----
//
// Cost: buffers * log(memories), and the joints.

#include "pack/joints.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::pack {
namespace {

std::string named(const Buffer& buffer) { return "buffer " + base::quoted(buffer.id); }

std::vector<std::size_t> memories_of(const Problem& problem, const Buffer& buffer) {
  std::vector<std::size_t> memories = buffer.memories;
  if (memories.empty()) {
    memories.resize(problem.memories.size());
    std::iota(memories.begin(), memories.end(), std::size_t{0});
  }
  std::ranges::sort(memories);
  return memories;
}

/// Goes along the joints from a buffer that is in no block yet.
class Blocks {
 public:
  explicit Blocks(const Problem& problem)
      : problem_(problem), at_(problem.buffers.size()), joints_(problem.buffers.size()) {
    for (const Joint& joint : problem.relations.together) {
      joints_[joint.first].emplace_back(joint.second, joint.distance);
      joints_[joint.second].emplace_back(joint.first, -joint.distance);
    }
  }

  std::vector<Block> all() {
    std::vector<Block> blocks;
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      if (!at_[b]) blocks.push_back(from(b));
    }
    return blocks;
  }

 private:
  Block from(std::size_t first) {
    Block block{.buffers = {first}};
    at_[first] = 0;
    for (std::size_t i = 0; i < block.buffers.size(); ++i) {
      const std::size_t b = block.buffers[i];
      for (const auto& [other, distance] : joints_[b]) {
        const Bytes at = *at_[b] + distance;
        if (!at_[other]) {
          at_[other] = at;
          block.buffers.push_back(other);
        } else if (*at_[other] != at) {
          throw Error(
              named(problem_.buffers[b]),
              base::concat("lies together with ", named(problem_.buffers[other]), " at two distances"));
        }
      }
    }
    std::ranges::sort(block.buffers);
    join(block);
    return block;
  }

  void join(Block& block) const {
    Bytes begin = *at_[block.buffers.front()];
    Bytes end = begin;
    std::size_t base = block.buffers.front();  // the one of the largest alignment
    block.memories = memories_of(problem_, problem_.buffers[base]);
    for (const std::size_t b : block.buffers) {
      const Buffer& buffer = problem_.buffers[b];
      begin = std::min(begin, *at_[b]);
      end = std::max(end, *at_[b] + buffer.size);
      if (buffer.alignment > problem_.buffers[base].alignment) base = b;
      std::vector<std::size_t> common;
      std::ranges::set_intersection(block.memories, memories_of(problem_, buffer),
                                    std::back_inserter(common));
      block.memories = std::move(common);
      if (block.memories.empty())
        throw Error(named(buffer), "lies together with a buffer that is in another memory");
    }
    block.size = end - begin;
    for (const std::size_t b : block.buffers) {
      const Buffer& buffer = problem_.buffers[b];
      const Bytes offset = *at_[b] - begin;
      const Bytes from_base = *at_[b] - *at_[base];
      const bool is_aligned =
          from_base % buffer.alignment == 0 && problem_.buffers[base].alignment % buffer.alignment == 0;
      if (from_base != 0 && !is_aligned)
        throw Error(named(buffer),
                    "lies together with a buffer at a distance that their alignments do not allow");
      if (buffer.pinned && block.pinned.value_or(*buffer.pinned - offset) != *buffer.pinned - offset)
        throw Error(named(buffer), "lies together with a buffer that is pinned elsewhere");
      if (buffer.pinned) block.pinned = *buffer.pinned - offset;
      if (block.pinned && *block.pinned < 0)
        throw Error(named(buffer), "is pinned where a buffer together with it would begin before the memory");
      const Bytes factor = buffer.alignment / std::gcd(block.alignment, buffer.alignment);
      if (block.alignment > largest_value / factor)
        throw Error(named(buffer),
                    "lies together with buffers whose alignments have no common multiple of reasonable size");
      block.alignment *= factor;
      block.offsets.push_back(offset);
    }
    const Bytes lead = (*at_[base] - begin) % block.alignment;
    block.phase = lead == 0 ? 0 : block.alignment - lead;
  }

  const Problem& problem_;
  std::vector<std::optional<Bytes>> at_;  ///< Beside the first of the block.
  std::vector<std::vector<std::pair<std::size_t, Bytes>>> joints_;
};

}  // namespace

std::vector<Block> blocks_of(const Problem& problem) { return Blocks(problem).all(); }

}  // namespace stowage::pack
