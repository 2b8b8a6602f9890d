// Idea. A memory is a row of blocks up to a frontier, and never used above it. Blocks that were used and
// are free again stand in a list sorted from small to large, and in a map by address, where a
// block that is released finds the neighbours it grows together with.
//
//     address  0        16       24        40      48
//              | taken  |  free  |  taken  | free  | never used ..   | set aside |  never used ..
//                                                  ^ frontier
//     free list: [40, 48), [16, 24)    set aside: blocks above the frontier that are not to be had
//
// Alignment. A request is served from the first aligned address of a block on. Padding in front of it
// goes back to the free list, and so does never-used memory that is left behind: the
// padding behind the frontier, and what lies in front of a block set aside that a fresh block has to
// step over.
//
// A block set aside that is released before the frontier has come to it was never touched: its bytes are
// never-used ones again.
//
// Cost: log n for each call; stepping over blocks set aside costs log n for each of them, once, as long as
// the limit does not forbid the step.
// Source: the document of docs/free-list.md, paragraphs 118-130 and 185-191 (taking), 146-150 (releasing);
// see free_list.cc.

#include "pack/free_blocks.h"

#include <iterator>

#include "base/checked.h"

namespace stowage::pack {
namespace {

/// Of equal blocks the first that is aligned is taken; where they are not, looking on must not
/// cost more than the rest.
constexpr int equal_blocks_looked_at = 32;

}  // namespace

void FreeBlocks::set_aside(Interval block) { set_aside_.emplace(block.begin, block.end); }

std::optional<Bytes> FreeBlocks::take_equal(const Request& request) {
  auto block = by_size_.lower_bound({request.size, 0});
  for (int looked_at = 0; looked_at < equal_blocks_looked_at; ++looked_at, ++block) {
    if (block == by_size_.end() || block->first != request.size) return std::nullopt;
    const Bytes begin = block->second;
    if (begin % request.alignment != 0) continue;
    by_size_.erase(block);
    by_address_.erase(begin);
    return begin;
  }
  return std::nullopt;
}

std::optional<Bytes> FreeBlocks::take_split(const Request& request) {
  if (by_size_.empty()) return std::nullopt;
  const auto [size, begin] = *by_size_.rbegin();
  const Interval largest{begin, begin + size};
  if (base::align_up(begin, request.alignment) + request.size > largest.end) return std::nullopt;
  return take_from(largest, request);
}

std::optional<Bytes> FreeBlocks::take_extended(const Request& request, Bytes limit) {
  if (by_size_.empty()) return std::nullopt;
  const auto [size, begin] = *by_size_.rbegin();
  const Interval largest{begin, begin + size};
  const Bytes end = base::align_up(begin, request.alignment) + request.size;
  const bool is_in_the_way = !set_aside_.empty() && set_aside_.begin()->first < end;
  if (largest.end != frontier_ || end <= frontier_ || end > limit || is_in_the_way) return std::nullopt;
  frontier_ = end;
  remove(by_address_.find(begin));
  add({begin, end});
  return take_from({begin, end}, request);
}

std::optional<Bytes> FreeBlocks::take_fresh(const Request& request, Bytes limit) {
  Bytes begin = base::align_up(frontier_, request.alignment);
  auto next = set_aside_.begin();
  for (; next != set_aside_.end() && next->first < begin + request.size; ++next)
    begin = base::align_up(next->second, request.alignment);
  if (begin + request.size > limit) return std::nullopt;
  for (auto stepped_over = set_aside_.begin(); stepped_over != next;) {
    add({frontier_, stepped_over->first});
    frontier_ = stepped_over->second;
    stepped_over = set_aside_.erase(stepped_over);
  }
  add({frontier_, begin});
  frontier_ = begin + request.size;
  return begin;
}

void FreeBlocks::release(Interval block) {
  if (set_aside_.erase(block.begin) == 0) add(block);  // only blocks set aside begin at the frontier or above
}

std::vector<Interval> FreeBlocks::free_list() const {
  std::vector<Interval> blocks;
  for (const auto& [size, begin] : by_size_) blocks.push_back({begin, begin + size});
  return blocks;
}

/// Puts a block in the free list, grown together with the free blocks that it touches.
void FreeBlocks::add(Interval block) {
  if (block.begin == block.end) return;
  auto above = by_address_.lower_bound(block.begin);
  if (above != by_address_.end() && above->first == block.end) {
    block.end = above->second;
    above = remove(above);
  }
  if (above != by_address_.begin() && std::prev(above)->second == block.begin) {
    block.begin = std::prev(above)->first;
    above = remove(std::prev(above));
  }
  by_address_.emplace_hint(above, block.begin, block.end);
  by_size_.emplace(block.end - block.begin, block.begin);
}

/// Returns the next one by address.
FreeBlocks::ByAddress::iterator FreeBlocks::remove(ByAddress::iterator block) {
  by_size_.erase({block->second - block->first, block->first});
  return by_address_.erase(block);
}

/// Serves the request from a free block that is large enough.
Bytes FreeBlocks::take_from(Interval block, const Request& request) {
  const Bytes begin = base::align_up(block.begin, request.alignment);
  remove(by_address_.find(block.begin));
  add({block.begin, begin});
  add({begin + request.size, block.end});
  return begin;
}

}  // namespace stowage::pack
