// Groups of items and of buffers: their live bytes are those of the members, and a placing of them is one of
// the members.

#include "pack/groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "long_tests.h"
#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "pack/model.h"
#include "problems.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using pack::Groups;
using pack::Item;
using pack::SectionModel;
using testing::aligned;
using testing::offsets_of;
using testing::pinned;
using testing::problem_of;
using testing::whole;

/// Few lives and sizes; the seed decides whether there are alignments, pieces and pins.
Problem alike_buffers(std::uint64_t seed) {
  oracle::Random random(seed);
  const bool has_pins = random.chance(30);
  Problem problem =
      oracle::random_problem(seed, {.buffers = static_cast<std::size_t>(random.between(0, 20)),
                                    .positions = random.between(2, 8),
                                    .longest_life = random.between(1, 8),
                                    .largest_size = random.between(1, 4),
                                    .largest_alignment = random.chance(50) ? 1 : random.between(2, 8),
                                    .percent_with_pieces = random.chance(50) ? 0 : 30,
                                    .percent_pinned = has_pins ? 15 : 0,
                                    .percent_never_alive = 5,
                                    .percent_like_the_last = random.chance(50) ? 0 : 60});
  const Bytes factor = random.chance(30) ? 24 : 1;  // then sizes are multiples of all alignments
  for (Buffer& buffer : problem.buffers) {
    buffer.size *= factor;
    if (buffer.pinned) *buffer.pinned *= factor;
    for (Piece& piece : buffer.pieces)
      std::tie(piece.offset, piece.size) = std::pair(piece.offset * factor, piece.size * factor);
  }
  return problem;
}

/// What the naive functions can look at. A section is a position, a part is a piece.
Problem as_problem(const SectionModel& model) {
  std::vector<Buffer> buffers;
  for (const Item& item : model.items) {
    Buffer buffer{.id = "item" + std::to_string(buffers.size()), .alignment = item.alignment};
    buffer.pinned = item.pin;
    for (const pack::Segment& part : item.parts) {
      buffer.size = std::max(buffer.size, part.high);
      buffer.pieces.push_back({part.low, part.high - part.low, {part.begin, part.end}});
    }
    buffers.push_back(buffer);
  }
  return problem_of(buffers);
}

/// A valid placing: in any order, each somewhere, or further up if it collides there.
std::vector<Bytes> offsets_by_chance(const Problem& problem, oracle::Random& random) {
  std::vector<Bytes> offsets;
  std::vector<oracle::Taken> taken;
  std::vector<std::size_t> order;
  for (const Buffer& buffer : problem.buffers) {
    order.insert(order.begin() + random.between(0, std::ssize(order)), offsets.size());
    offsets.push_back(buffer.pinned.value_or(0));
    if (buffer.pinned) oracle::reserve(taken, buffer, *buffer.pinned);
  }
  for (const std::size_t b : order) {
    const Buffer& buffer = problem.buffers[b];
    if (buffer.pinned) continue;
    const oracle::FreeOffsets free = oracle::free_by_crossing_out(taken, buffer);
    Bytes at = random.between(0, std::ssize(free) / buffer.alignment) * buffer.alignment;
    while (at < std::ssize(free) && free[static_cast<std::size_t>(at)] == 0) at += buffer.alignment;
    offsets[b] = at;
    oracle::reserve(taken, buffer, at);
  }
  return offsets;
}

void expect_valid_offsets(const Problem& problem, const std::vector<Bytes>& offsets) {
  EXPECT_EQ(oracle::fault_of(problem, offsets).value_or("none"), "none");
}

bool can_be_grouped(const Item& item) {
  return item.parts.size() == 1 && !item.pin && item.parts[0].low == 0 && item.parts[0].high >= item.size &&
         item.parts[0].high % item.alignment == 0;
}

void expect_equal_items(const Item& a, const Item& b) {
  EXPECT_EQ(std::tie(a.buffer, a.size, a.alignment, a.pin), std::tie(b.buffer, b.size, b.alignment, b.pin));
  EXPECT_EQ(a.parts, b.parts);
}

std::vector<std::vector<std::size_t>> members_by_group(const std::vector<pack::Member>& members,
                                                       std::size_t groups) {
  std::vector<std::vector<std::size_t>> result(groups);
  for (std::size_t i = 0; i < members.size(); ++i) result.at(members[i].group).push_back(i);
  return result;
}

/// The members fill the rectangle of their group: no holes, no overlaps, no section without one.
void expect_full(const SectionModel& model, const Groups& groups, const Item& group,
                 const std::vector<std::size_t>& members) {
  EXPECT_TRUE(can_be_grouped(group));
  Bytes size = 0;
  std::vector<std::vector<char>> is_filled(model.sections,
                                           std::vector<char>(static_cast<std::size_t>(group.parts[0].high)));
  for (const std::size_t m : members) {
    const Item& item = model.items[m];
    const Bytes above = groups.members[m].above;
    EXPECT_TRUE(can_be_grouped(item));
    EXPECT_EQ(item.alignment, group.alignment);
    size = std::max(size, above + item.size);
    const pack::Segment& part = item.parts[0];
    ASSERT_GE(above, 0);
    ASSERT_LE(above + part.high, group.parts[0].high);
    for (std::uint32_t s = part.begin; s < part.end; ++s) {
      for (Bytes at = above; at < above + part.high; ++at) {
        EXPECT_EQ(is_filled[s].at(static_cast<std::size_t>(at))++, 0);
      }
    }
  }
  EXPECT_EQ(group.size, size);
  for (std::uint32_t s = 0; s < model.sections; ++s) {
    const bool is_alive = group.parts[0].begin <= s && s < group.parts[0].end;
    EXPECT_EQ(std::ranges::count(is_filled[s], 1), is_alive ? group.parts[0].high : 0);
  }
}

/// Of many models the stacks and the chains.
template <typename Check>
void check_groups(Check check) {
  std::size_t grouped = 0;
  for (std::uint64_t seed = 0; seed < testing::cases_of(3000) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const SectionModel model = pack::model_of(alike_buffers(seed).buffers);
    for (const bool has_chains : {false, true}) {
      const Groups groups = has_chains ? pack::chains_of(model, seed) : pack::stacks_of(model);
      check(model, groups, has_chains);
      grouped += model.items.size() - groups.model.items.size();
    }
  }
  EXPECT_GT(grouped, testing::cases_of(3000)) << "there is little to group";
}

TEST(Groups, EveryItemIsInOneAndTheyHaveNoHoles) {
  check_groups([](const SectionModel& model, const Groups& groups, bool) {
    ASSERT_EQ(groups.members.size(), model.items.size());
    const auto members = members_by_group(groups.members, groups.model.items.size());
    for (std::size_t g = 0; g < members.size(); ++g) {
      ASSERT_FALSE(members[g].empty());
      if (members[g].size() > 1) expect_full(model, groups, groups.model.items[g], members[g]);
      if (members[g].size() > 1) continue;
      EXPECT_EQ(groups.members[members[g][0]].above, 0);
      expect_equal_items(groups.model.items[g], model.items[members[g][0]]);
    }
  });
}

TEST(Groups, LiveBytesOfAllSectionsStay) {
  check_groups([](const SectionModel& model, const Groups& groups, bool) {
    EXPECT_EQ(groups.model.loads(), model.loads());
    EXPECT_EQ(std::tie(groups.model.unit, groups.model.grid), std::tie(model.unit, model.grid));
  });
}

TEST(Groups, AnyPlacingIsOneOfTheItems) {
  oracle::Random random(1);
  check_groups([&](const SectionModel& model, const Groups& groups, bool) {
    const Problem problem = as_problem(groups.model);
    const std::vector<Bytes> offsets = offsets_by_chance(problem, random);
    expect_valid_offsets(problem, offsets);
    expect_valid_offsets(as_problem(model), groups.offsets_of_members(offsets));
  });
}

/// Sizes of a chain differ: the smaller has a hole above it, but max load stays.
TEST(Groups, ChainsOfLikeSizesKeepMaxLoad) {
  oracle::Random random(2);
  std::size_t fewer = 0;
  for (std::uint64_t seed = 0; seed < testing::cases_of(3000) && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const SectionModel model = pack::model_of(alike_buffers(seed).buffers);
    const double tolerance = seed % 2 == 0 ? 0.25 : 1;
    const Groups groups = pack::chains_of(model, seed, tolerance);
    const std::vector<Bytes> loads = model.loads();
    const std::vector<Bytes> of_groups = groups.model.loads();
    for (std::size_t s = 0; s < loads.size(); ++s) {
      EXPECT_LE(loads[s], of_groups[s]);
      EXPECT_LE(of_groups[s], std::ranges::max(loads));
    }
    for (std::size_t i = 0; i < model.items.size(); ++i) {
      const Item& group = groups.model.items[groups.members[i].group];
      const Bytes high = group.parts[0].high;
      if (!can_be_grouped(model.items[i])) continue;
      EXPECT_LE(groups.members[i].above + model.items[i].parts[0].high, high);
      EXPECT_LE(groups.members[i].above + model.items[i].size, group.size);
    }
    const Problem as_items = as_problem(groups.model);
    const std::vector<Bytes> offsets = offsets_by_chance(as_items, random);
    expect_valid_offsets(as_problem(model), groups.offsets_of_members(offsets));
    fewer += groups.model.items.size() < pack::chains_of(model, seed).model.items.size() ? 1 : 0;
  }
  EXPECT_GT(fewer, testing::cases_of(3000) / 10);
}

TEST(Groups, ChainsOfLikeSizesWaitForRoom) {
  const auto groups_of = [](bool is_full, double tolerance) {
    Problem problem = problem_of({whole("a", 10, 0, 2), whole("b", 8, 2, 4), whole("c", 3, 0, 4)});
    if (is_full) {  // b must not take ten bytes
      problem.buffers.push_back(whole("d", 2, 3, 5));
      problem.buffers.push_back(whole("e", 1, 4, 6));
    }
    return pack::chains_of(pack::model_of(problem.buffers), 1, tolerance).model.items.size();
  };
  EXPECT_EQ(groups_of(false, 0.1), 3U);
  EXPECT_EQ(groups_of(false, 0.2), 1U);
  EXPECT_EQ(groups_of(true, 0.2), 5U);
}

TEST(Groups, NothingIsLeftToStackOrToChain) {
  check_groups([](const SectionModel&, const Groups& groups, bool has_chains) {
    std::set<std::tuple<std::uint32_t, std::uint32_t, Bytes>> lives;
    std::set<std::tuple<std::uint32_t, Bytes, Bytes>> begins;
    for (const Item& item : groups.model.items) {
      if (!can_be_grouped(item)) continue;
      const pack::Segment& part = item.parts[0];
      EXPECT_TRUE(lives.emplace(part.begin, part.end, item.alignment).second);
      begins.emplace(part.begin, part.high, item.alignment);
    }
    for (const Item& item : groups.model.items) {
      if (!has_chains || !can_be_grouped(item)) continue;
      EXPECT_FALSE(begins.contains({item.parts[0].end, item.parts[0].high, item.alignment}));
    }
  });
}

TEST(Groups, AnyPlacingOfAListIsOneOfItsBuffers) {
  std::size_t grouped = 0;
  for (std::uint64_t seed = 0; seed < testing::cases_of(3000) && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = alike_buffers(seed);
    const pack::GroupedList list = pack::chains_of(problem, seed);
    EXPECT_NO_THROW(validate(list.problem));
    EXPECT_EQ(list.problem.memories, problem.memories);
    grouped += problem.buffers.size() - list.problem.buffers.size();
    oracle::Random random(seed);
    for (int placing = 0; placing < 3; ++placing) {
      std::vector<Bytes> offsets = offsets_by_chance(list.problem, random);
      if (placing == 0) offsets = oracle::place(list.problem, "greedy-by-size");
      expect_valid_offsets(list.problem, offsets);
      std::vector<Place> places;
      for (const Bytes offset : offsets) places.push_back({.offset = offset});
      const std::vector<Bytes> found = offsets_of(list.places_of_members(places));
      expect_valid_offsets(problem, found);
      EXPECT_EQ(oracle::peak_of_offsets(problem, found), oracle::peak_of_offsets(list.problem, offsets));
    }
  }
  EXPECT_GT(grouped, testing::cases_of(3000)) << "there is little to group";
}

/// Buffers that begin at multiples of something take their sizes rounded up.
TEST(Groups, MaxLoadOfAListStays) {
  const auto most_of = [](const std::vector<Buffer>& buffers) {
    const SectionModel model = pack::model_of(buffers);
    Bytes most = 0;
    for (const Bytes load : model.loads()) most = std::max(most, load * model.unit);
    return most;
  };
  for (std::uint64_t seed = 0; seed < testing::cases_of(3000) && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = alike_buffers(seed);
    EXPECT_EQ(most_of(pack::chains_of(problem, seed).problem.buffers), most_of(problem.buffers));
    for (Buffer& buffer : problem.buffers) buffer.alignment = 1;
    EXPECT_EQ(oracle::max_load(pack::chains_of(problem, seed).problem.buffers),
              oracle::max_load(problem.buffers));
  }
}

TEST(Groups, PinsPiecesAndWhatIsNeverAliveStayAlone) {
  for (std::uint64_t seed = 0; seed < testing::cases_of(3000) && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = alike_buffers(seed);
    const pack::GroupedList list = pack::chains_of(problem, seed);
    ASSERT_EQ(list.members.size(), problem.buffers.size());
    for (const auto& members : members_by_group(list.members, list.problem.buffers.size())) {
      ASSERT_FALSE(members.empty());
      for (const std::size_t b : members) {
        const Buffer& buffer = problem.buffers[b];
        const auto alive = std::ranges::count_if(buffer.pieces, &Piece::is_ever_alive);
        const bool is_alone = members.size() == 1;
        EXPECT_TRUE(is_alone || (!buffer.pinned && alive == 1)) << buffer.id;
        EXPECT_TRUE(!is_alone || list.problem.buffers[list.members[b].group] == buffer) << buffer.id;
      }
    }
  }
}

/// One group, and in it how far each buffer is above its offset; in the list, too.
void expect_one_group(const std::vector<Buffer>& buffers, const Buffer& group,
                      const std::vector<Bytes>& above) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const pack::GroupedList list = pack::chains_of(problem_of(buffers), seed);
    ASSERT_EQ(list.problem.buffers.size(), 1U);
    EXPECT_EQ(list.problem.buffers[0].size, group.size);
    EXPECT_EQ(list.problem.buffers[0].alignment, group.alignment);
    EXPECT_EQ(list.problem.buffers[0].pieces, group.pieces);
    const SectionModel model = pack::model_of(buffers);
    const Groups groups = pack::chains_of(model, seed);
    ASSERT_EQ(groups.model.items.size(), 1U);
    EXPECT_EQ(groups.model.items[0].size * model.unit, group.size);
    EXPECT_EQ(groups.offsets_of_members(std::vector<Bytes>{0}).size(), above.size());
    for (std::size_t b = 0; b < above.size(); ++b) {
      EXPECT_EQ(list.members[b].above, above[b]) << b;
      EXPECT_EQ(groups.members[b].above * model.unit, above[b]) << b;
    }
  }
}

TEST(Groups, OneChain) {  // though nothing is alive for a while
  const std::vector<Buffer> buffers{whole("a", 4, 0, 2), whole("b", 4, 3, 5)};
  expect_one_group(buffers, whole("", 4, 0, 5), {0, 0});
  EXPECT_EQ(pack::stacks_of(pack::model_of(buffers)).model.items.size(), 2U);
}

TEST(Groups, OneStack) {
  expect_one_group({whole("a", 4, 0, 2), whole("b", 6, 0, 2)}, whole("", 10, 0, 2), {0, 4});
}

TEST(Groups, AChainInAStack) {
  const std::vector<Buffer> buffers{whole("a", 6, 0, 2), whole("b", 6, 2, 4), whole("c", 4, 0, 4)};
  expect_one_group(buffers, whole("", 10, 0, 4), {0, 0, 6});
  expect_one_group({buffers[2], buffers[1], buffers[0]}, whole("", 10, 0, 4), {6, 0, 0});
}

TEST(Groups, AStackInAChain) {
  const std::vector<Buffer> buffers{whole("a", 1, 0, 2), whole("b", 2, 0, 2), whole("c", 3, 2, 4)};
  expect_one_group(buffers, whole("", 3, 0, 4), {0, 1, 0});
}

TEST(Groups, AlignedMembersTakeTheirSizesRoundedUp) {
  const auto of_four = [](Buffer buffer) { return aligned(std::move(buffer), 4); };
  expect_one_group({of_four(whole("a", 3, 0, 2)), of_four(whole("b", 5, 0, 2))}, of_four(whole("", 9, 0, 2)),
                   {0, 4});
  expect_one_group({of_four(whole("a", 3, 0, 2)), of_four(whole("b", 4, 2, 4))}, of_four(whole("", 4, 0, 4)),
                   {0, 0});
}

TEST(Groups, NothingToGroup) {
  const Buffer in_pieces{.id = "p", .size = 4, .pieces = {{0, 2, {0, 2}}, {2, 2, {1, 2}}}};
  const std::vector<std::vector<Buffer>> lists{
      {},
      {whole("a", 4, 0, 2)},
      {whole("a", 4, 0, 2), whole("b", 6, 2, 4)},
      {whole("a", 4, 0, 3), whole("b", 4, 1, 4), whole("c", 3, 0, 1), whole("d", 5, 3, 4)},
      {pinned(whole("a", 4, 0, 2), 0), whole("b", 4, 0, 2), in_pieces, whole("never", 4, 2, 2)},
      {aligned(whole("a", 4, 0, 2), 4), whole("b", 4, 0, 2), whole("c", 3, 2, 4)},  // of two alignments
      {aligned(whole("a", 4, 0, 2), 4), whole("b", 4, 2, 4), whole("c", 3, 1, 3)},
      {aligned(whole("a", 3, 0, 2), 4), aligned(whole("b", 3, 0, 2), 4), whole("c", 1, 0, 1),
       whole("d", 2, 1, 2)}};
  for (std::size_t l = 0; l < lists.size(); ++l) {
    SCOPED_TRACE(l);
    const SectionModel model = pack::model_of(lists[l]);
    for (const Groups& groups : {pack::stacks_of(model), pack::chains_of(model, 0)}) {
      ASSERT_EQ(groups.model.items.size(), model.items.size());
      for (std::size_t i = 0; i < model.items.size(); ++i)
        expect_equal_items(groups.model.items[groups.members[i].group], model.items[i]);
    }
    const pack::GroupedList list = pack::chains_of(problem_of(lists[l]), 0);
    ASSERT_EQ(list.problem.buffers.size(), lists[l].size());
    for (std::size_t b = 0; b < lists[l].size(); ++b)
      EXPECT_EQ(list.problem.buffers[list.members[b].group], lists[l][b]);
  }
}

/// Whether the first and the last are in one group, for many seeds.
std::set<bool> is_first_with_last(const std::vector<Buffer>& buffers) {
  std::set<bool> answers;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const pack::GroupedList list = pack::chains_of(problem_of(buffers), seed);
    answers.insert(list.members.front().group == list.members.back().group);
  }
  return answers;
}

TEST(Groups, TheSeedChoosesChains) {
  const std::set<bool> both{false, true};
  const std::vector<Buffer> left{whole("a", 1, 0, 2), whole("b", 1, 1, 2), whole("c", 9, 0, 1)};
  const std::vector<Buffer> right{whole("d", 7, 3, 4), whole("e", 1, 2, 4), whole("f", 1, 2, 3)};
  EXPECT_EQ(is_first_with_last({left[0], left[1], left[2], right[2]}), both) << "which one ends";
  EXPECT_EQ(is_first_with_last({left[0], right[0], right[1], right[2]}), both) << "which one begins";
  EXPECT_EQ(is_first_with_last({left[0], left[1], left[2], right[0], right[1], right[2]}), both);
  // b and c make a chain of one life with the last one. As a stack they are too high for the first one.
  EXPECT_EQ(is_first_with_last(
                {whole("a", 1, 0, 2), whole("b", 5, 2, 4), whole("c", 5, 4, 6), whole("d", 1, 2, 6)}),
            both)
      << "which chain comes first";
}

TEST(Groups, SameSeedSameGroups) {
  for (std::uint64_t seed = 0; seed < testing::cases_of(500); ++seed) {
    const Problem problem = alike_buffers(seed);
    const pack::GroupedList list = pack::chains_of(problem, seed);
    const pack::GroupedList again = pack::chains_of(problem, seed);
    EXPECT_EQ(again.problem, list.problem);
    const std::vector<Place> places(list.problem.buffers.size());
    EXPECT_EQ(again.places_of_members(places), list.places_of_members(places));
  }
}

}  // namespace
}  // namespace stowage
