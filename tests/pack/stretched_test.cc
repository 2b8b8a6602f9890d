// Lives and pieces on a clock with copies between its steps.

#include "pack/memories/stretched.h"

#include <gtest/gtest.h>

#include <vector>

namespace stowage {
namespace {

/// Steps 0 to 5, with two copies between 2 and 3.
memories::Stretched with_copies_before_3() {
  memories::Stretched clock(6);
  (void)clock.add_spill(3);
  (void)clock.add_fetch(3);
  clock.finish();
  return clock;
}

TEST(Stretched, EndsLivesBeforeCopiesAndBeginsThemBehind) {
  const memories::Stretched clock = with_copies_before_3();
  EXPECT_EQ(memories::life_on(clock, {0, 3}), (Lifetime{0, 3}));
  EXPECT_EQ(memories::life_on(clock, {3, 6}), (Lifetime{5, 8}));
  EXPECT_EQ(memories::life_on(clock, {2, 4}), (Lifetime{2, 6}));
  EXPECT_EQ(memories::life_on(clock, {3, 3}), (Lifetime{5, 5}));
}

TEST(Stretched, HoldsAcrossCopiesWhatALaterPieceGoesOnWith) {
  std::vector<Piece> pieces{
      {0, 8, {0, 3}}, {4, 8, {3, 6}}, {12, 4, {1, 3}}, {16, 4, {3, 5}}, {20, 4, {1, 2}}};
  const std::vector<Piece> apart = {{0, 8, {0, 3}},  {4, 8, {5, 8}},  {12, 4, {1, 3}},
                                    {16, 4, {5, 7}}, {20, 4, {1, 2}}, {4, 4, {3, 5}}};
  memories::stretch(with_copies_before_3(), pieces);
  EXPECT_EQ(pieces, apart);
  std::vector<Piece> elsewhere{{0, 8, {0, 2}}, {0, 8, {2, 6}}};  // no copy is between them
  memories::stretch(with_copies_before_3(), elsewhere);
  EXPECT_EQ(elsewhere, (std::vector<Piece>{{0, 8, {0, 2}}, {0, 8, {2, 8}}}));
}

}  // namespace
}  // namespace stowage
