// A problem with relations as blocks on one line of cells:
//
//     memory 0          memory 1
//     |....#####....|...|..........|        # reserved
//
// - Buffers that lie together are one item with the bytes of the largest.
// - A cell has as many bytes as divide all sizes (rounded up to what all alignments have in common) and ends of reserved
//   ranges. Any placing of bytes can be rounded down to cells: what was apart stays apart, so nothing is lost. The last cell
//   of an item may have fewer bytes, of which the rest is reserved or behind the memory.
// - Which memories an item may be in, what is reserved and where it is pinned are ranges of its first cell. A range costs
//   what its memory is dearer than the cheapest one.
// - Two items are related if they are live at the same time (hard), lie apart (hard), or cost something when they share a
//   byte. Items are found by a sweep over live ranges, and fall into parts that are solved one by one.
//
// Cost: buffers * log(buffers), and the number of related pairs.

#include "pack/relations/arena.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/union_find.h"
#include "pack/joints.h"
#include "pack/life.h"
#include "stowage/error.h"

namespace stowage::pack::relations {
namespace {

using Pair = std::pair<std::size_t, std::size_t>;

Pair ordered(std::size_t a, std::size_t b) { return {std::min(a, b), std::max(a, b)}; }

Bytes rounded_up(Bytes value, Bytes unit) { return (value + unit - 1) / unit * unit; }

/// All offsets are multiples of it.
Bytes common_of(const std::vector<Block>& groups) {
  Bytes common = 0;
  for (const Block& group : groups) common = std::gcd(common, std::gcd(group.alignment, group.phase));
  return std::max<Bytes>(common, 1);
}

/// The largest cell that loses nothing.
Bytes unit_of(const Problem& problem, const std::vector<Block>& groups) {
  const Bytes common = common_of(groups);
  Bytes unit = 0;
  for (const Block& group : groups) {
    unit = std::gcd(unit, std::gcd(rounded_up(group.size, common), group.phase));
    if (group.pinned) unit = std::gcd(unit, *group.pinned);
  }
  for (const Memory& memory : problem.memories) {
    for (const ByteRange& range : memory.reserved) unit = std::gcd(unit, rounded_up(range.end, common));
  }
  unit = std::max<Bytes>(unit, 1);
  for (bool changes = true; changes;) {  // each alignment divides the cell, or is a multiple of it
    changes = false;
    for (const Block& group : groups) {
      if (unit % group.alignment == 0 || group.alignment % unit == 0) continue;
      unit = std::gcd(unit, group.alignment);
      changes = true;
    }
  }
  return unit;
}

/// More would not fit into the memory of a machine.
constexpr std::size_t most_pairs = 5'000'000;

/// Pairs of groups that are live at the same time, some more than once. Throws Error if they are too many.
std::vector<Pair> live_together(const Problem& problem,
                                std::span<const std::optional<std::size_t>> group_of) {
  std::set<Pair> exclusive;
  for (const BufferPair& pair : problem.relations.exclusive)
    exclusive.insert(ordered(pair.first, pair.second));
  std::vector<std::tuple<Position, bool, std::size_t>> events;  // ends come before starts
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    if (!group_of[b]) continue;
    for (const Piece& piece : problem.buffers[b].pieces) {
      if (piece.life.lower >= piece.life.upper) continue;
      events.emplace_back(piece.life.lower, true, b);
      events.emplace_back(piece.life.upper, false, b);
    }
  }
  std::ranges::sort(events);
  std::vector<Pair> pairs;
  std::multiset<std::size_t> live;
  for (const auto& [at, starts, b] : events) {
    if (!starts) {
      live.erase(live.find(b));
      continue;
    }
    for (const std::size_t other : live) {
      if (*group_of[other] != *group_of[b] && !exclusive.contains(ordered(b, other)))
        pairs.push_back(ordered(*group_of[b], *group_of[other]));
    }
    live.insert(b);
    if (pairs.size() > most_pairs)
      throw Error("", base::concat("more than ", most_pairs, " pairs of buffers are live at the same time"));
  }
  return pairs;
}

/// What two groups have to do with each other.
struct Related {
  Pair pair{};
  bool is_hard = false;
  std::int64_t cost = 0;
};

/// Sorts them, and joins those of the same two.
void join_equal(std::vector<Related>& related) {
  std::ranges::sort(related, {}, &Related::pair);
  std::size_t last = 0;
  for (std::size_t i = 1; i < related.size(); ++i) {
    if (related[i].pair == related[last].pair) {
      related[last].is_hard = related[last].is_hard || related[i].is_hard;
      related[last].cost += related[i].cost;
    } else {
      related[++last] = related[i];
    }
  }
  if (!related.empty()) related.resize(last + 1);
}

/// The most bytes that are live at once and can be in one memory alone. Buffers that exclude others are left out.
std::optional<Overload> overload_of(const Problem& problem, const std::vector<Block>& groups) {
  std::vector<bool> excludes(problem.buffers.size());
  for (const BufferPair& pair : problem.relations.exclusive)
    excludes[pair.first] = excludes[pair.second] = true;
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    const Memory& memory = problem.memories[m];
    Bytes room = *memory.capacity;
    for (const ByteRange& range : memory.reserved) room -= range.end - range.begin;
    std::vector<std::tuple<Position, bool, Bytes>> events;
    for (const Block& group : groups) {
      if (group.memories != std::vector{m}) continue;
      for (const std::size_t b : group.buffers) {
        if (excludes[b]) continue;
        for (const Piece& piece : problem.buffers[b].pieces) {
          if (piece.life.lower >= piece.life.upper) continue;
          const Bytes size = group.buffers.size() == 1 ? group.size : 0;  // of a group, several may be live
          events.emplace_back(piece.life.lower, true, size);
          events.emplace_back(piece.life.upper, false, size);
        }
        if (group.size > room) return Overload{m, life_of(problem.buffers[b]).lower, group.size, room};
      }
    }
    std::ranges::sort(events);
    Bytes live = 0;
    for (const auto& [at, starts, size] : events) {
      live += starts ? size : -size;
      if (live > room) return Overload{m, at, live, room};
    }
  }
  return std::nullopt;
}

/// Where the first cell of a group may be.
std::vector<Range> ranges_of(const Problem& problem, const Block& group, Bytes unit,
                             std::span<const Cell> first_cells) {
  const Cell step = std::max<Cell>(group.alignment / unit, 1);
  const Cell phase = group.phase / unit;
  std::vector<Range> ranges;
  for (const std::size_t m : group.memories) {
    const Memory& memory = problem.memories[m];
    std::vector<ByteRange> taken = memory.reserved;
    std::ranges::sort(taken, {}, &ByteRange::begin);
    taken.push_back({*memory.capacity, *memory.capacity});
    std::int64_t cost = 0;
    for (const std::size_t b : group.buffers) cost += extra_cost(problem, b, m);
    Bytes from = 0;
    for (const ByteRange& it : taken) {
      if (it.begin - from >= group.size) {
        Range range{rounded_up(from, unit) / unit, (it.begin - group.size) / unit};
        if (group.pinned) {
          const Cell pin = *group.pinned / unit;
          range = {std::max(pin, range.first), std::min(pin, range.last)};
        }
        range = {aligned_up(range.first, step, phase), aligned_down(range.last, step, phase)};
        if (range.first <= range.last)
          ranges.push_back({first_cells[m] + range.first, first_cells[m] + range.last, cost});
      }
      from = std::max(from, it.end);
    }
  }
  return ranges;
}

}  // namespace

Arena::Arena(const Problem& problem) : members_(problem.buffers.size()) {
  std::vector<Block> groups = blocks_of(problem);
  for (const Block& group : groups) {
    for (std::size_t i = 0; i < group.buffers.size(); ++i)
      members_[group.buffers[i]].place = {group.memories.front(),
                                          group.pinned.value_or(0) + group.offsets[i]};
  }
  std::erase_if(groups, [](const Block& group) { return group.size == 0; });
  overload_ = overload_of(problem, groups);
  unit_ = unit_of(problem, groups);
  Bytes widest = 1;
  for (const Block& group : groups) widest = std::lcm(widest, std::max<Bytes>(group.alignment / unit_, 1));
  Cell cells = 0;
  for (const Memory& memory : problem.memories) {
    first_cells_.push_back(cells);
    cells = rounded_up(cells + rounded_up(rounded_up(*memory.capacity, common_of(groups)), unit_) / unit_,
                       widest);
  }

  std::vector<std::optional<std::size_t>> group_of(problem.buffers.size());
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::size_t b : groups[g].buffers) group_of[b] = g;
  std::vector<Related> related;
  const auto can_meet = [&](std::size_t a, std::size_t b) {
    return std::ranges::any_of(
        groups[a].memories, [&](std::size_t m) { return std::ranges::binary_search(groups[b].memories, m); });
  };
  for (const Pair& pair : live_together(problem, group_of)) {
    if (can_meet(pair.first, pair.second)) related.push_back({.pair = pair, .is_hard = true});
  }
  for (const BufferPair& pair : problem.relations.apart) {
    const auto& a = group_of[pair.first];
    const auto& b = group_of[pair.second];
    if (a && b && *a != *b && can_meet(*a, *b)) related.push_back({.pair = ordered(*a, *b), .is_hard = true});
  }
  for (const ReuseCost& reuse : problem.relations.reuse_costs) {
    const auto& a = group_of[reuse.pair.first];
    const auto& b = group_of[reuse.pair.second];
    if (a && b && *a != *b && reuse.cost > 0 && can_meet(*a, *b))
      related.push_back({.pair = ordered(*a, *b), .cost = reuse.cost});
  }
  join_equal(related);

  base::UnionFind joined(groups.size());
  std::vector<std::size_t> degrees(groups.size());
  for (const Related& it : related) {
    joined.join(it.pair.first, it.pair.second);
    ++degrees[it.pair.first];
    ++degrees[it.pair.second];
  }
  std::vector<std::optional<std::size_t>> part_of(groups.size());
  std::vector<std::pair<std::size_t, std::size_t>> members(groups.size());  // part and item
  for (std::size_t g = 0; g < groups.size(); ++g) {
    auto& at = part_of[joined.find(g)];
    if (!at) {
      at = parts_.size();
      parts_.push_back({.cells = cells});
      buffers_.emplace_back();
    }
    buffers_[*at].push_back(groups[g].buffers.front());
    Part& part = parts_[*at];
    members[g] = {*at, part.items.size()};
    part.items.push_back({.size = rounded_up(groups[g].size, unit_) / unit_,
                          .step = std::max<Cell>(groups[g].alignment / unit_, 1),
                          .phase = groups[g].phase / unit_,
                          .ranges = ranges_of(problem, groups[g], unit_, first_cells_)});
    part.items.back().neighbours.reserve(degrees[g]);
  }
  for (const Related& it : related) {  // ascending, so the neighbours of each item are, too
    const auto add = [&](std::size_t a, std::size_t b) {
      parts_[members[a].first].items[members[a].second].neighbours.push_back(
          {static_cast<std::uint32_t>(members[b].second), it.is_hard, it.is_hard ? 0 : it.cost});
    };
    add(it.pair.first, it.pair.second);
    add(it.pair.second, it.pair.first);
  }

  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = 0; i < groups[g].buffers.size(); ++i) {
      Member& member = members_[groups[g].buffers[i]];
      member.has_item = true;
      std::tie(member.part, member.item) = members[g];
      member.offset = groups[g].offsets[i];
    }
  }
}

std::vector<Place> Arena::places_of(std::span<const Cells> cells) const {
  std::vector<Place> places;
  for (const Member& member : members_) {
    const Cell cell = member.has_item ? cells[member.part][member.item] : nowhere;
    if (cell == nowhere) {
      places.push_back(member.place);
      continue;
    }
    const auto after = std::upper_bound(first_cells_.begin(), first_cells_.end(), cell);
    const auto memory = static_cast<std::size_t>(after - first_cells_.begin()) - 1;
    places.push_back({memory, (cell - first_cells_[memory]) * unit_ + member.offset});
  }
  return places;
}

std::vector<Cells> Arena::cells_of(std::span<const std::optional<Place>> places) const {
  std::vector<Cells> cells;
  for (const Part& part : parts_) cells.emplace_back(part.items.size(), nowhere);
  for (std::size_t b = 0; b < std::min(places.size(), members_.size()); ++b) {
    const Member& member = members_[b];
    if (!member.has_item || !places[b] || places[b]->memory >= first_cells_.size()) continue;
    const Bytes first = places[b]->offset - member.offset;
    if (first >= 0 && first % unit_ == 0)
      cells[member.part][member.item] = first_cells_[places[b]->memory] + first / unit_;
  }
  return cells;
}

std::vector<bool> Arena::missing(std::span<const Cells> cells) const {
  std::vector<bool> missing;
  for (const Member& member : members_)
    missing.push_back(member.has_item && cells[member.part][member.item] == nowhere);
  return missing;
}

}  // namespace stowage::pack::relations
