#include "pack/dive_kinds.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace stowage {
namespace {

using pack::DiveKind;
using pack::DiveKinds;

/// Of a thousand dives, by kind.
std::array<int, 4> dives_of(const DiveKinds& kinds) {
  std::array<int, 4> dives{};
  for (std::uint64_t number = 0; number < 1000; ++number)
    ++dives[static_cast<std::size_t>(kinds.kind_of(number))];
  return dives;
}

int dives_of(const DiveKinds& kinds, DiveKind kind) {
  return dives_of(kinds)[static_cast<std::size_t>(kind)];
}

TEST(DiveKinds, AtFirstThoseThatArePossibleHaveEqualShares) {
  for (const bool has_stacks : {false, true}) {
    for (const bool has_chains : {false, true}) {
      const DiveKinds kinds(has_stacks, has_chains);
      const int share = 1000 / static_cast<int>(kinds.count());
      EXPECT_EQ(kinds.count(), 1U + (has_stacks ? 1U : 0U) + (has_chains ? 2U : 0U));
      EXPECT_NEAR(dives_of(kinds, DiveKind::items), share, 3);
      EXPECT_NEAR(dives_of(kinds, DiveKind::stacks), has_stacks ? share : 0, has_stacks ? 3 : 0);
      for (const DiveKind kind : {DiveKind::chains, DiveKind::chains_of_like_sizes})
        EXPECT_NEAR(dives_of(kinds, kind), has_chains ? share : 0, has_chains ? 3 : 0);
    }
  }
}

TEST(DiveKinds, ASuccessAddsToAShareAndCountsLessWithLaterOnes) {
  DiveKinds kinds(true, true);
  kinds.add_success(DiveKind::stacks);  // 1 + 5 of 9
  EXPECT_NEAR(dives_of(kinds, DiveKind::stacks), 1000 * 6 / 9, 3);
  EXPECT_NEAR(dives_of(kinds, DiveKind::items), 1000 * 1 / 9, 3);
  kinds.add_success(DiveKind::items);  // a success in a ninth counts 9 / 4; that of stacks 0.8
  const double items = 1 + 5 * 9.0 / 4;
  const double stacks = 1 + 5 * 0.8;
  EXPECT_NEAR(dives_of(kinds, DiveKind::items), 1000 * items / (items + stacks + 2), 3);
  EXPECT_NEAR(dives_of(kinds, DiveKind::stacks), 1000 * stacks / (items + stacks + 2), 3);
}

TEST(DiveKinds, NoKindIsGivenUp) {
  DiveKinds kinds(true, true);
  for (int success = 0; success < 1000; ++success) kinds.add_success(DiveKind::chains);
  for (const int dives : dives_of(kinds)) EXPECT_GE(dives, 50);
  EXPECT_GE(dives_of(kinds, DiveKind::chains), 600);
}

/// Where any dive succeeds, the one that comes first does: no kind may always be that.
TEST(DiveKinds, WhereAllSucceedAllComeFirstNowAndThen) {
  DiveKinds kinds(true, true);
  std::array<int, 4> firsts{};
  for (int success = 0; success < 100; ++success) {
    const DiveKind first = kinds.kind_of(0);
    ++firsts[static_cast<std::size_t>(first)];
    kinds.add_success(first);
  }
  for (const int count : firsts) EXPECT_GE(count, 15);
}

}  // namespace
}  // namespace stowage
