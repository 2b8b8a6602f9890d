// Idea. Buffers of one life may as well lie on each other, and buffers of one size whose lives follow each other
// may as well share an address. As one item they need one decision, not several.
//
//     address ^  +---------3--------+       1 and 2 have one size, and 2 begins where 1 ends: a chain.
//             |  +--1--+-----2------+       Together they have the life of 3: a stack.
//             +--+-----+------------+--> time
//
// No section gets more live bytes. Where groups fit, their items fit, but not the other way round. So a search
// of groups finds placings, and proves nothing.
//
// Items of one life are always stacked. Where items of one size end and others begin, chance chains one of each,
// or none. What has one life then is stacked, and so on until there is nothing to chain. Which chains come
// first matters: of 689 dives with groups of D that chance drew, 242 placed all at max load; of 647 with one
// draw, none. Of minimalloc's lists (154 to 409 buffers) a twelfth to a half is left, of copies with jittered
// sizes three fifths.
//
// Cost: n log n per round; half of what can be chained is chained in each. Source: ours.

#include "pack/groups.h"

#include <algorithm>
#include <map>
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
  explicit Grouper(const SectionModel& model) {
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

  /// Chains two groups of one size at about half of the sections where one ends and the other begins; false if
  /// there are none.
  bool chain(Random& random) {
    std::vector<std::size_t> first_of(groups_.size());  // by group, that of its chain
    std::iota(first_of.begin(), first_of.end(), std::size_t{0});
    bool can_chain = false;
    for (const auto& [key, meeting] : meetings()) {  // in the order of time
      if (meeting.ending.empty() || meeting.beginning.empty()) continue;
      can_chain = true;
      if (random.below(2) == 0) continue;
      const std::size_t first = first_of[meeting.ending[random.below(meeting.ending.size())]];
      const std::size_t second = meeting.beginning[random.below(meeting.beginning.size())];
      Item& item = groups_[first].item;
      item.size = std::max(item.size, groups_[second].item.size);
      item.parts[0].end = groups_[second].item.parts[0].end;
      append(groups_[first], groups_[second], 0);
      groups_[second].members.clear();
      first_of[second] = first;
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
  /// Groups of one size that end and begin at one section.
  struct Meeting {
    std::vector<std::size_t> ending{};
    std::vector<std::size_t> beginning{};
  };

  /// By section, height and alignment.
  [[nodiscard]] std::map<std::tuple<std::uint32_t, Bytes, Bytes>, Meeting> meetings() const {
    std::map<std::tuple<std::uint32_t, Bytes, Bytes>, Meeting> meetings;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Item& item = groups_[g].item;
      meetings[{item.parts[0].end, height_of(item), item.alignment}].ending.push_back(g);
      meetings[{item.parts[0].begin, height_of(item), item.alignment}].beginning.push_back(g);
    }
    return meetings;
  }

  std::vector<Group> groups_;
  std::vector<Group> others_;  ///< These stay as they are.
};

/// Adds a buffer to a group, so many bytes above its offset.
void add(Buffer& group, const Buffer& buffer, Bytes above) {
  const bool is_first = group.pieces.empty();
  if (is_first) group = buffer;
  if (is_first && above == 0) return;  // it may be the only one, with several pieces
  const Lifetime before = life_of(group);
  const Lifetime life = life_of(buffer);
  group.size = std::max(group.size, above + buffer.size);
  group.alignment =
      std::lcm(group.alignment, buffer.alignment);  // equal, or all sizes are multiples (model.cc)
  group.pieces = {Piece{.size = group.size,
                        .life = {std::min(before.lower, life.lower), std::max(before.upper, life.upper)}}};
}

}  // namespace

std::vector<Bytes> Groups::offsets_of_members(std::span<const Bytes> offsets_of_groups) const {
  std::vector<Bytes> offsets;
  for (const Member& member : members) offsets.push_back(offsets_of_groups[member.group] + member.above);
  return offsets;
}

Groups stacks_of(const SectionModel& model) {
  Grouper grouper(model);
  grouper.stack();
  return grouper.result(model);
}

Groups chains_of(const SectionModel& model, std::uint64_t seed) {
  Grouper grouper(model);
  Random random(seed);
  do {
    grouper.stack();
  } while (grouper.chain(random));
  return grouper.result(model);
}

std::vector<Place> GroupedList::places_of_members(std::span<const Place> places_of_groups) const {
  std::vector<Place> places;
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
