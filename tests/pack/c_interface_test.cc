// The packer as C callers meet it.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "stowage_pack.h"

namespace stowage {
namespace {

struct Destroy {
  void operator()(stowage_pack_problem* it) const { stowage_pack_destroy(it); }
};
using ProblemOfC = std::unique_ptr<stowage_pack_problem, Destroy>;

TEST(CInterface, PlacesBuffers) {
  const ProblemOfC it(stowage_pack_create());
  const auto arena = stowage_pack_add_memory(it.get(), STOWAGE_PACK_UNLIMITED);
  const auto a = stowage_pack_add_buffer(it.get(), 64, 16, 0, 2);
  const auto b = stowage_pack_add_buffer(it.get(), 32, 16, 1, 3);
  const auto c = stowage_pack_add_buffer(it.get(), 64, 16, 2, 4);
  ASSERT_EQ(stowage_pack_pin(it.get(), b, 0), STOWAGE_PACK_FITS);
  ASSERT_EQ(stowage_pack_solve(it.get(), 10, 0), STOWAGE_PACK_FITS) << stowage_pack_error(it.get());
  EXPECT_EQ(stowage_pack_offset(it.get(), a), 32);
  EXPECT_EQ(stowage_pack_offset(it.get(), b), 0);
  EXPECT_EQ(stowage_pack_offset(it.get(), c), 32);
  EXPECT_EQ(stowage_pack_peak(it.get(), arena), 96);
  EXPECT_EQ(stowage_pack_lower_bound(it.get()), 96);
  EXPECT_STREQ(stowage_pack_error(it.get()), "");
}

TEST(CInterface, ObeysRelations) {
  const ProblemOfC it(stowage_pack_create());
  const auto fast = stowage_pack_add_memory(it.get(), 64);
  const auto slow = stowage_pack_add_memory(it.get(), 64);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(stowage_pack_add_buffer(it.get(), 32, 1, i, i + 1), i);
  EXPECT_EQ(stowage_pack_reserve(it.get(), slow, 0, 16), STOWAGE_PACK_FITS);
  EXPECT_EQ(stowage_pack_allow(it.get(), 4, slow), STOWAGE_PACK_FITS);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(stowage_pack_allow(it.get(), i, fast), STOWAGE_PACK_FITS);
  EXPECT_EQ(stowage_pack_together(it.get(), 0, 1), STOWAGE_PACK_FITS);
  EXPECT_EQ(stowage_pack_apart(it.get(), 1, 2), STOWAGE_PACK_FITS);
  EXPECT_EQ(stowage_pack_reuse_cost(it.get(), 2, 3, 4), STOWAGE_PACK_FITS);
  EXPECT_EQ(stowage_pack_reuse_cost(it.get(), 0, 3, 7), STOWAGE_PACK_FITS);
  EXPECT_EQ(stowage_pack_add_life(it.get(), 4, 7, 9), STOWAGE_PACK_FITS);
  ASSERT_EQ(stowage_pack_solve(it.get(), 100, 1), STOWAGE_PACK_FITS) << stowage_pack_error(it.get());
  EXPECT_EQ(stowage_pack_offset(it.get(), 0), stowage_pack_offset(it.get(), 1));
  EXPECT_EQ(stowage_pack_offset(it.get(), 2), stowage_pack_offset(it.get(), 3));
  EXPECT_GE(stowage_pack_offset(it.get(), 4), 16);
  EXPECT_EQ(stowage_pack_memory_of(it.get(), 4), slow);
  EXPECT_EQ(stowage_pack_cost(it.get()), 4);
  EXPECT_EQ(stowage_pack_cost_bound(it.get()), 4);
}

TEST(CInterface, SaysWhatIsWrong) {
  const ProblemOfC it(stowage_pack_create());
  EXPECT_EQ(stowage_pack_solve(it.get(), 10, 0), STOWAGE_PACK_INVALID);
  EXPECT_NE(std::string(stowage_pack_error(it.get())).find("memory"), std::string::npos);
  stowage_pack_add_memory(it.get(), 16);
  const auto a = stowage_pack_add_buffer(it.get(), 32, 1, 0, 1);
  EXPECT_EQ(stowage_pack_apart(it.get(), a, 1), STOWAGE_PACK_INVALID);
  EXPECT_NE(std::string(stowage_pack_error(it.get())).find("buffer 1 does not exist"), std::string::npos);
  EXPECT_EQ(stowage_pack_pin(it.get(), -1, 0), STOWAGE_PACK_INVALID);
  EXPECT_EQ(stowage_pack_allow(it.get(), a, 1), STOWAGE_PACK_INVALID);
  EXPECT_EQ(stowage_pack_solve(it.get(), 10, 0), STOWAGE_PACK_DOES_NOT_FIT);
  EXPECT_EQ(stowage_pack_reserve(it.get(), 0, 0, 1), STOWAGE_PACK_FITS);
  EXPECT_EQ(stowage_pack_solve(it.get(), 10, 0), STOWAGE_PACK_DOES_NOT_FIT);
  EXPECT_EQ(stowage_pack_cannot_fit(it.get()), 1);
  stowage_pack_add_buffer(it.get(), -1, 1, 0, 1);
  EXPECT_EQ(stowage_pack_solve(it.get(), 10, 0), STOWAGE_PACK_INVALID);
  EXPECT_EQ(stowage_pack_offset(it.get(), a), 0);
  EXPECT_EQ(stowage_pack_peak(it.get(), 0), 0);
  EXPECT_EQ(stowage_pack_solve(it.get(), -1, 0), STOWAGE_PACK_INVALID);
  stowage_pack_destroy(nullptr);
}

}  // namespace
}  // namespace stowage
