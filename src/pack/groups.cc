// Buffers of one life may as well lie on each other, and buffers of one size whose lives follow each other
// may as well share an address. As one item they need one decision, not several.
//
//     address ^  +---------3--------+       1 and 2 have one size, and 2 begins where 1 ends: a chain.
//             |  +--1--+-----2------+       Together they have the life of 3: a stack.
//             +--+-----+------------+--> time
//
// Where groups fit, their items fit, but not the other way round. So a search of groups finds placings, and
// proves nothing.
//
// Items of one life are always stacked. Where items end and others begin, chance chains some of one size. What
// has one life then is stacked, and so on until there is nothing to chain. Which chains come first matters: of
// 689 dives with groups of D that chance drew, 242 placed all at max load; of 647 with one draw, none. Of
// minimalloc's lists (154 to 409 buffers) a twelfth to a half is left, of copies with jittered sizes three
// fifths.
//
// With a tolerance, sizes may differ by so much: the smaller item takes as many bytes as the larger, if no section
// gets more live bytes than max load. That leaves two fifths of jittered copies. Without one, the live bytes of
// all sections stay as they were.
//
// Cost: n log n per round, and the sections of all items; half of what can be chained is chained in each. Source:
// ours.

#include "pack/groups.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "pack/random.h"

namespace stowage::pack {
namespace {

/// Items with fixed places relative to each other.
struct Group {
  Item item{};                    ///< All of them as one.
  std::vector<Member> members{};  ///< Here `group` is an item of the first model.
};

/// Items that can lie on each other without a hole.
bool is_plain(const Item& item) {
  if (item.pin || item.parts.size() != 1) return false;
  const Segment& part = item.parts[0];
  return part.low == 0 && part.high >= item.size && part.high % item.alignment == 0;
}

/// Bytes from the offset of a plain item to where the next can begin.
Bytes height_of(const Item& item) { return item.parts[0].high; }

void append(Group& group, const Group& other, Bytes above) {
  for (const Member& member : other.members) group.members.push_back({member.group, member.above + above});
}

class Grouper {
 public:
  explicit Grouper(const SectionModel& model) : loads_(model.loads()) {
    for (const Bytes load : loads_) max_load_ = std::max(max_load_, load);
    for (std::uint32_t i = 0; i < model.items.size(); ++i) {
      auto& groups = is_plain(model.items[i]) ? groups_ : others_;
      groups.push_back({model.items[i], {{i, 0}}});
    }
  }

  /// Makes one of all groups of one life.
  void stack() {
    const auto life = [](const Group& group) {
      const Segment& part = group.item.parts[0];
      return std::tuple(part.begin, part.end, group.item.alignment);
    };
    std::ranges::stable_sort(groups_, {}, life);
    std::vector<Group> stacks;
    for (Group& group : groups_) {
      if (stacks.empty() || life(stacks.back()) != life(group)) {
        stacks.push_back(std::move(group));
        continue;
      }
      Item& item = stacks.back().item;
      const Bytes above = height_of(item);
      item.size = above + group.item.size;
      item.parts[0].high = above + height_of(group.item);
      append(stacks.back(), group, above);
    }
    groups_ = std::move(stacks);
  }

  /// Chains groups that follow each other, about half of those that can be chained; false if there are none.
  bool chain(Random& random, double tolerance) {
    std::vector<std::size_t> first_of(groups_.size());  // by group, that of its chain
    std::iota(first_of.begin(), first_of.end(), std::size_t{0});
    bool can_chain = false;
    for (Meeting& meeting : meetings()) {  // in the order of time
      std::vector<std::size_t>& beginning = meeting.beginning;
      std::ranges::stable_sort(beginning, {}, [&](std::size_t g) { return kind_of(g); });
      for (std::size_t left = meeting.ending.size(); left > 0 && !beginning.empty(); --left) {
        std::swap(meeting.ending[left - 1], meeting.ending[random.below(left)]);
        const std::size_t first = first_of[meeting.ending[left - 1]];
        const auto second = closest(beginning, first, random);
        if (second == beginning.end() || !may_chain(first, *second, tolerance)) continue;
        can_chain = true;
        if (random.below(2) == 0) continue;
        join(first, *second);
        first_of[*second] = first;
        beginning.erase(second);
      }
    }
    std::erase_if(groups_, [](const Group& group) { return group.members.empty(); });
    return can_chain;
  }

  /// The model of the groups.
  [[nodiscard]] Groups result(const SectionModel& model) const {
    Groups result{{.unit = model.unit, .grid = model.grid, .sections = model.sections},
                  std::vector<Member>(model.items.size())};
    for (const auto* groups : {&groups_, &others_}) {
      for (const Group& group : *groups) {
        const auto index = static_cast<std::uint32_t>(result.model.items.size());
        for (const Member& member : group.members) result.members[member.group] = {index, member.above};
        result.model.items.push_back(group.item);
      }
    }
    return result;
  }

 private:
  /// Groups that end and begin at one section.
  struct Meeting {
    std::vector<std::size_t> ending{};
    std::vector<std::size_t> beginning{};
  };

  /// By section.
  [[nodiscard]] std::vector<Meeting> meetings() const {
    std::vector<Meeting> meetings(loads_.size() + 1);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Segment& part = groups_[g].item.parts[0];
      meetings[part.end].ending.push_back(g);
      meetings[part.begin].beginning.push_back(g);
    }
    return meetings;
  }

  [[nodiscard]] Bytes height(std::size_t g) const { return height_of(groups_[g].item); }

  /// Alignment and height.
  [[nodiscard]] std::pair<Bytes, Bytes> kind_of(std::size_t g) const {
    return {groups_[g].item.alignment, height(g)};
  }

  /// One of those that are most like a group: of its alignment, with the closest height. `sorted` is by kind; the
  /// result is its end if there is none.
  [[nodiscard]] std::vector<std::size_t>::const_iterator closest(const std::vector<std::size_t>& sorted,
                                                                 std::size_t group, Random& random) const {
    const auto kind = [this](std::size_t g) { return kind_of(g); };
    const auto [alignment, wanted] = kind_of(group);
    const auto is_close = [&, alignment = alignment](auto it) {
      return groups_[*it].item.alignment == alignment;
    };
    const auto above = std::ranges::lower_bound(sorted, std::pair(alignment, wanted), {}, kind);
    auto best = sorted.end();
    if (above != sorted.end() && is_close(above)) best = above;
    if (above != sorted.begin() && is_close(above - 1) &&
        (best == sorted.end() || wanted - height(*(above - 1)) < height(*best) - wanted))
      best = above - 1;
    if (best == sorted.end()) return best;
    const auto equal = std::ranges::equal_range(sorted, kind_of(*best), {}, kind);
    return equal.begin() + static_cast<std::ptrdiff_t>(random.below(equal.size()));
  }

  /// Whether two groups of one alignment are about equally high, and the lower can become as high as the other.
  [[nodiscard]] bool may_chain(std::size_t first, std::size_t second, double tolerance) const {
    const Bytes high = std::max(height(first), height(second));
    const Bytes low = std::min(height(first), height(second));
    if (static_cast<double>(high - low) > tolerance * static_cast<double>(high)) return false;
    const Segment& part = groups_[height(first) == low ? first : second].item.parts[0];
    return std::all_of(loads_.begin() + part.begin, loads_.begin() + part.end,
                       [&](Bytes load) { return load + high - low <= max_load_; });
  }

  void join(std::size_t first, std::size_t second) {
    Item& item = groups_[first].item;
    const Item& next = groups_[second].item;
    const Bytes high = std::max(height(first), height(second));
    for (const std::size_t g : {first, second}) {
      const Segment& part = groups_[g].item.parts[0];
      for (std::uint32_t s = part.begin; s < part.end; ++s) loads_[s] += high - height(g);
    }
    item.size = std::max(item.size, next.size);
    item.parts[0].high = high;
    item.parts[0].end = next.parts[0].end;
    append(groups_[first], groups_[second], 0);
    groups_[second].members.clear();
  }

  std::vector<Group> groups_;
  std::vector<Group> others_;  ///< These stay as they are.
  std::vector<Bytes> loads_;   ///< By section, of all groups.
  Bytes max_load_ = 0;
};

/// Adds a buffer to a group, so many bytes above its offset.
void add(Buffer& group, const Buffer& buffer, Bytes above) {
  const bool is_first = group.pieces.empty();
  if (is_first) group = buffer;
  if (is_first && above == 0) return;  // it may be the only one, with several pieces
  const Lifetime before = life_of(group);
  const Lifetime life = life_of(buffer);
  group.size = std::max(group.size, above + buffer.size);
  group.alignment = std::lcm(group.alignment, buffer.alignment);  // no more than its size: see model.cc
  group.pieces = {Piece{.size = group.size,
                        .life = {std::min(before.lower, life.lower), std::max(before.upper, life.upper)}}};
}

}  // namespace

std::vector<Bytes> Groups::offsets_of_members(std::span<const Bytes> offsets_of_groups) const {
  std::vector<Bytes> offsets;
  offsets.reserve(members.size());
  for (const Member& member : members) offsets.push_back(offsets_of_groups[member.group] + member.above);
  return offsets;
}

Groups stacks_of(const SectionModel& model) {
  Grouper grouper(model);
  grouper.stack();
  return grouper.result(model);
}

Groups chains_of(const SectionModel& model, std::uint64_t seed, double tolerance) {
  Grouper grouper(model);
  Random random(seed);
  do {
    grouper.stack();
  } while (grouper.chain(random, tolerance));
  return grouper.result(model);
}

std::vector<Place> GroupedList::places_of_members(std::span<const Place> places_of_groups) const {
  std::vector<Place> places;
  places.reserve(members.size());
  for (const Member& member : members)
    places.push_back({.offset = places_of_groups[member.group].offset + member.above});
  return places;
}

GroupedList chains_of(const Problem& problem, std::uint64_t seed) {
  const SectionModel model = model_of(problem.buffers);
  const Groups groups = chains_of(model, seed);
  GroupedList list{{.memories = problem.memories}, std::vector<Member>(problem.buffers.size())};
  std::vector<Buffer>& buffers = list.problem.buffers;
  buffers.resize(groups.model.items.size());
  std::vector<char> is_in(problem.buffers.size(), 0);
  for (std::size_t i = 0; i < model.items.size(); ++i) {
    const std::size_t b = model.items[i].buffer;
    const Member member{groups.members[i].group, groups.members[i].above * model.unit};
    list.members[b] = member;
    add(buffers[member.group], problem.buffers[b], member.above);
    is_in[b] = 1;
  }
  for (std::size_t b = 0; b < is_in.size(); ++b) {
    if (is_in[b] != 0) continue;  // never alive
    list.members[b] = {static_cast<std::uint32_t>(buffers.size()), 0};
    buffers.push_back(problem.buffers[b]);
  }
  return list;
}

}  // namespace stowage::pack
