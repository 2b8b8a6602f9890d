// Plans of other programs say where each value is, and when. Where two values have the same byte at the same time,
// that program let them share it (a result in place of an operand, a view, a state that a loop carries), for else
// its plan would be wrong. So values that touch in time and space are joined, and a group is one buffer:
//
//     address ^   aaaa          a and b share bytes at one time: a buffer with the
//             |   aaaabbbb      pieces {a's upper half}, {a's lower half and b}
//             +-----------> time
//
// Values that a loop carries are joined even if they rest in between: the next round needs them there.
//
// Pieces of a group are strips between all begins and ends of its values; each strip lives when one of its values
// does. Cost: values * live values.

#include "import/placed.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/union_find.h"
#include "base/unique_names.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

/// Steps of grouping; an honest plan of a million values takes less.
class Work {
 public:
  void spend(std::size_t steps) {
    if (steps > left_) throw Error("", "has too many values that live at the same time, expected a plan");
    left_ -= steps;
  }

 private:
  std::size_t left_ = 2'000'000'000;
};

bool share_bytes(const PlacedValue& a, const PlacedValue& b) {
  return a.memory == b.memory && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

/// Joins values that touch, and those that loops carry in the same bytes. `order` is by begin of the live ranges.
base::UnionFind groups_of(const std::vector<PlacedValue>& values, const std::vector<std::size_t>& order,
                          Work& work) {
  base::UnionFind groups(values.size());
  std::vector<std::size_t> live;
  std::map<std::tuple<std::size_t, Bytes, Bytes>, std::size_t> carried;
  for (const std::size_t v : order) {
    work.spend(live.size() + 1);
    if (values[v].is_carried) {
      const auto [at, is_first] =
          carried.try_emplace({values[v].memory, values[v].offset, values[v].size}, v);
      if (!is_first) groups.join(v, at->second);
    }
    std::erase_if(live, [&](std::size_t other) { return values[other].life.upper <= values[v].life.lower; });
    for (const std::size_t other : live) {
      if (share_bytes(values[v], values[other])) groups.join(v, other);
    }
    live.push_back(v);
  }
  return groups;
}

/// Live ranges without the overlaps.
std::vector<Lifetime> joined(std::vector<Lifetime> lives) {
  std::ranges::sort(lives, {}, &Lifetime::lower);
  std::vector<Lifetime> result;
  for (const Lifetime& life : lives) {
    if (!result.empty() && life.lower <= result.back().upper) {
      result.back().upper = std::max(result.back().upper, life.upper);
    } else {
      result.push_back(life);
    }
  }
  return result;
}

/// The pieces of a group that begins at that offset.
std::vector<Piece> strips_of(const std::vector<const PlacedValue*>& members, Bytes begin, Work& work) {
  std::vector<Bytes> cuts;
  for (const PlacedValue* const value : members) {
    cuts.push_back(value->offset);
    cuts.push_back(value->offset + value->size);
  }
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Piece> pieces;
  std::vector<Lifetime> of_last_strip;
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    work.spend(members.size());
    std::vector<Lifetime> lives;
    for (const PlacedValue* const value : members) {
      if (value->offset <= cuts[c] && cuts[c] < value->offset + value->size) lives.push_back(value->life);
    }
    lives = joined(std::move(lives));
    const Bytes size = cuts[c + 1] - cuts[c];
    if (lives == of_last_strip) {  // the same as below: one piece
      for (std::size_t i = pieces.size() - lives.size(); i < pieces.size(); ++i) pieces[i].size += size;
      continue;
    }
    for (const Lifetime& life : lives) pieces.push_back({cuts[c] - begin, size, life});
    of_last_strip = std::move(lives);
  }
  return pieces;
}

}  // namespace

Input list_of(std::vector<PlacedValue> values, std::vector<std::string> memories, Bytes alignment) {
  std::erase_if(values, [](const PlacedValue& value) { return value.size == 0; });
  std::vector<std::size_t> order(values.size());
  for (std::size_t v = 0; v < order.size(); ++v) order[v] = v;
  std::ranges::stable_sort(order, {}, [&](std::size_t v) { return values[v].life.lower; });
  Work work;
  base::UnionFind groups = groups_of(values, order, work);
  std::map<std::size_t, std::size_t> group_of;
  std::vector<std::vector<const PlacedValue*>> members;
  for (const std::size_t v : order) {
    const auto [at, is_new] = group_of.try_emplace(groups.find(v), members.size());
    if (is_new) members.emplace_back();
    members[at->second].push_back(&values[v]);
  }
  Problem problem;
  base::UniqueNames names;
  for (const auto& group : members) {
    Bytes begin = group[0]->offset;
    Bytes end = begin;
    for (const PlacedValue* const value : group) {
      begin = std::min(begin, value->offset);
      end = std::max(end, value->offset + value->size);
    }
    while (begin % alignment != 0) alignment /= 2;
    problem.buffers.push_back({.id = names.unique(base::as_utf8(group[0]->name)),
                               .size = end - begin,
                               .pieces = strips_of(group, begin, work),
                               .pinned = begin});
    if (memories.size() > 1) problem.buffers.back().memories = {group[0]->memory};
  }
  for (Buffer& buffer : problem.buffers) buffer.alignment = alignment;
  for (std::string& name : memories) problem.memories.push_back({.name = base::as_utf8(name)});
  return {.content = std::move(problem)};
}

}  // namespace stowage::import
