// The packer as C callers meet it.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "long_tests.h"
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

TEST(CInterface, CountsWhatMemoriesCost) {
  const ProblemOfC it(stowage_pack_create());
  const auto fast = stowage_pack_add_memory(it.get(), 64);
  const auto slow = stowage_pack_add_memory(it.get(), 64);
  for (int i = 0; i < 2; ++i) stowage_pack_add_buffer(it.get(), 64, 1, i, i + 1);
  EXPECT_EQ(stowage_pack_set_memory_cost(it.get(), slow, 3), STOWAGE_PACK_FITS);
  EXPECT_EQ(stowage_pack_set_traffic(it.get(), 0, 5), STOWAGE_PACK_FITS);
  EXPECT_EQ(stowage_pack_reuse_cost(it.get(), 0, 1, 100), STOWAGE_PACK_FITS);
  ASSERT_EQ(stowage_pack_solve(it.get(), 100, 1), STOWAGE_PACK_FITS) << stowage_pack_error(it.get());
  EXPECT_EQ(stowage_pack_memory_of(it.get(), 0), slow);
  EXPECT_EQ(stowage_pack_memory_of(it.get(), 1), fast);
  EXPECT_EQ(stowage_pack_cost(it.get()), 0);
  EXPECT_EQ(stowage_pack_memory_cost(it.get()), 10);
  EXPECT_EQ(stowage_pack_cost_bound(it.get()), 10);
  EXPECT_EQ(stowage_pack_set_memory_cost(it.get(), 2, 3), STOWAGE_PACK_INVALID);
  EXPECT_EQ(stowage_pack_set_memory_cost(it.get(), slow, -1), STOWAGE_PACK_INVALID);
  EXPECT_EQ(stowage_pack_set_traffic(it.get(), 0, -1), STOWAGE_PACK_INVALID);
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

TEST(CInterface, KnowsItsVersion) { EXPECT_EQ(stowage_pack_abi(), STOWAGE_PACK_ABI); }

/// Memory that fails from its nth request on, for so many requests.
struct Failing {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t requests = 0;
  std::size_t bytes = 0;  ///< That are not released.

  [[nodiscard]] stowage_pack_allocator allocator() {
    return {.allocate = [](void* context, std::size_t size) -> void* {
              auto& it = *static_cast<Failing*>(context);
              const std::int64_t request = it.requests++;
              if (request >= it.first && request - it.first < it.count) return nullptr;
              it.bytes += size;
              return std::malloc(size);
            },
            .release =
                [](void* context, void* memory, std::size_t size) {
                  static_cast<Failing*>(context)->bytes -= size;
                  std::free(memory);
                },
            .context = this};
  }
};

/// What a compiler does with the interface, as far as the memory lasts. The offsets, or nothing.
std::vector<std::int64_t> use(Failing& memory, bool has_relations) {
  const stowage_pack_allocator allocator = memory.allocator();
  const ProblemOfC owner(stowage_pack_create_with(&allocator));
  stowage_pack_problem* const it = owner.get();
  if (it == nullptr || stowage_pack_add_memory(it, has_relations ? 80 : STOWAGE_PACK_UNLIMITED) < 0)
    return {};
  for (int b = 0; b < 6; ++b) {
    if (stowage_pack_add_buffer(it, 16 + 8 * (b % 3), 8, b, b + 2) < 0) return {};
  }
  if (has_relations) {
    const std::int64_t gains[] = {2, 3};
    const stowage_pack_status statuses[] = {stowage_pack_reserve(it, 0, 0, 8),
                                            stowage_pack_together_at(it, 0, 1, 16),
                                            stowage_pack_apart(it, 2, 5),
                                            stowage_pack_exclusive(it, 2, 3),
                                            stowage_pack_reuse_cost(it, 0, 4, 3),
                                            stowage_pack_copies(it, 3, gains, 2),
                                            stowage_pack_set_objective(it, STOWAGE_PACK_COST_THEN_PEAK)};
    for (const stowage_pack_status status : statuses) {
      EXPECT_TRUE(status == STOWAGE_PACK_FITS || status == STOWAGE_PACK_NO_MEMORY);
      if (status != STOWAGE_PACK_FITS) return {};
    }
  }
  stowage_pack_status status = stowage_pack_solve(it, 1, 0);
  if (status == STOWAGE_PACK_FITS) status = stowage_pack_resize(it, 2, 16);
  if (status == STOWAGE_PACK_FITS) status = stowage_pack_solve_again(it, 1, 0);
  if (status != STOWAGE_PACK_FITS) {
    EXPECT_EQ(status, STOWAGE_PACK_NO_MEMORY) << stowage_pack_error(it);
    return {};
  }
  std::vector<std::int64_t> offsets;
  for (int b = 0; b < 6; ++b) offsets.push_back(stowage_pack_offset(it, b));
  return offsets;
}

/// Each request of a problem fails in turn, alone or with all that follow: nothing leaks, and what is found is the same.
TEST(CInterface, SaysWhenThereIsNoMemory) {
  for (const bool has_relations : {false, true}) {
    Failing enough;
    const std::vector<std::int64_t> expected = use(enough, has_relations);
    ASSERT_EQ(expected.size(), 6U);
    EXPECT_EQ(enough.bytes, 0U);
    ASSERT_GT(enough.requests, 100);
    std::int64_t failed = 0;
    const std::int64_t step = testing::has_time() ? 1 : 7;
    for (const std::int64_t count : {std::int64_t{1}, enough.requests}) {
      for (std::int64_t first = 0; first < enough.requests; first += step) {
        Failing memory{.first = first, .count = count};
        const std::vector<std::int64_t> offsets = use(memory, has_relations);
        ASSERT_EQ(memory.bytes, 0U) << first;
        if (offsets.empty())
          ++failed;
        else
          ASSERT_EQ(offsets, expected) << first;
      }
    }
    EXPECT_GT(failed * step, enough.requests);
  }
}

/// A buffer moves only if it must, or if that lowers something.
TEST(CInterface, KeepsOffsets) {
  const ProblemOfC owner(stowage_pack_create());
  stowage_pack_problem* const it = owner.get();
  stowage_pack_add_memory(it, STOWAGE_PACK_UNLIMITED);
  for (int b = 0; b < 8; ++b) stowage_pack_add_buffer(it, 10 + b, 1, b, b + 3);
  ASSERT_EQ(stowage_pack_solve(it, 20, 0), STOWAGE_PACK_FITS);
  const auto offsets = [&] {
    std::vector<std::int64_t> all;
    for (int b = 0; b < 8; ++b) all.push_back(stowage_pack_offset(it, b));
    return all;
  };
  const auto before = offsets();
  ASSERT_EQ(stowage_pack_solve_again(it, 20, 1), STOWAGE_PACK_FITS);
  EXPECT_EQ(offsets(), before);
  ASSERT_EQ(stowage_pack_resize(it, 3, 30), STOWAGE_PACK_FITS);
  ASSERT_EQ(stowage_pack_remove(it, 7), STOWAGE_PACK_FITS);
  ASSERT_EQ(stowage_pack_set_life(it, 0, 0, 1), STOWAGE_PACK_FITS);
  const auto added = stowage_pack_add_buffer(it, 5, 1, 0, 9);
  ASSERT_EQ(stowage_pack_solve_again(it, 0, 0), STOWAGE_PACK_FITS) << stowage_pack_error(it);
  auto after = offsets();
  for (const int b : {0, 1, 2, 4, 5, 6}) {
    const bool moved = after[static_cast<std::size_t>(b)] != before[static_cast<std::size_t>(b)];
    const bool met_3 = b > 0 && b < 6;  // what the larger buffer may push away
    EXPECT_TRUE(!moved || met_3) << b;
  }
  const std::int64_t kept = stowage_pack_peak(it, 0);
  EXPECT_GE(stowage_pack_offset(it, added), 0);
  ASSERT_EQ(stowage_pack_solve_again(it, 50, 0), STOWAGE_PACK_FITS);
  EXPECT_LE(stowage_pack_peak(it, 0), kept);
}

TEST(CInterface, CopiesGain) {
  const ProblemOfC owner(stowage_pack_create());
  stowage_pack_problem* const it = owner.get();
  stowage_pack_add_memory(it, 64);
  const auto a = stowage_pack_add_buffer(it, 14, 16, 0, 2);
  const auto b = stowage_pack_add_buffer(it, 16, 16, 1, 3);
  const std::int64_t of_a[] = {4, 5};
  const std::int64_t of_b[] = {3};
  ASSERT_EQ(stowage_pack_copies(it, a, of_a, 2), STOWAGE_PACK_FITS);
  ASSERT_EQ(stowage_pack_copies(it, b, of_b, 1), STOWAGE_PACK_FITS);
  ASSERT_EQ(stowage_pack_solve(it, 20, 0), STOWAGE_PACK_FITS);
  EXPECT_EQ(stowage_pack_copies_of(it, a), 2);
  EXPECT_EQ(stowage_pack_copies_of(it, b), 2);
  EXPECT_EQ(stowage_pack_gain(it), 7);
  EXPECT_EQ(stowage_pack_cost_bound(it), -7);
  EXPECT_GE(stowage_pack_peak(it, 0), 62);
  EXPECT_EQ(stowage_pack_copies(it, 2, of_a, 2), STOWAGE_PACK_INVALID);
}

/// A flag that is set ends a search that would last for minutes.
TEST(CInterface, CanBeCancelled) {
  const ProblemOfC owner(stowage_pack_create());
  stowage_pack_problem* const it = owner.get();
  stowage_pack_add_memory(it, 300);
  for (int b = 0; b < 100; ++b) stowage_pack_add_buffer(it, 7 + b % 13, 1, b, b + 9);
  for (int b = 0; b < 90; ++b) stowage_pack_reuse_cost(it, b, b + 10, 1);
  volatile int flag = 0;
  stowage_pack_set_cancel_flag(it, &flag);
  ASSERT_EQ(stowage_pack_solve(it, 5, 0), STOWAGE_PACK_FITS);
  flag = 1;
  EXPECT_EQ(stowage_pack_solve_again(it, 1000000, 0), STOWAGE_PACK_FITS);
}

}  // namespace
}  // namespace stowage
