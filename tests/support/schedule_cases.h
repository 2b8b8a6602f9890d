#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "oracle/naive_schedule.h"
#include "schedule/budget.h"
#include "schedule/storage.h"

/// Random graphs for orders of operators, and what an order of one needs.
namespace stowage::schedule {

[[nodiscard]] inline Budget unlimited() { return Budget(base::Deadline()); }

/// The order must be one of all operators, none in front of what it waits for.
[[nodiscard]] inline Bytes naive_peak(const Storage& storage, const Order& order) {
  std::vector<bool> executed(storage.operators(), false);
  Bytes peak = storage.always;
  for (const std::size_t op : order) {
    EXPECT_FALSE(executed[op]);
    for (const std::size_t earlier : storage.waits_for[op]) EXPECT_TRUE(executed[earlier]);
    peak = std::max(peak, oracle::naive_load(storage, executed, op));
    executed[op] = true;
  }
  EXPECT_EQ(order.size(), storage.operators());
  return peak;
}

/// Calls check(storage, choices) for so many graphs of each kind, until it fails.
template <typename Check>
void for_random_storages(oracle::Choices choices, std::size_t count, const Check& check) {
  constexpr std::array<oracle::StorageOptions, 3> kinds{
      {{.overwrites = false}, {.overwrites = true}, {.overwrites = true, .parts = true}}};
  for (std::size_t i = 0; i < count; ++i) {
    for (const oracle::StorageOptions& options : kinds) {
      const Storage storage = random_storage(choices, options);
      SCOPED_TRACE("graph " + std::to_string(i) + ", overwrites " + std::to_string(options.overwrites) +
                   ", parts " + std::to_string(options.parts));
      check(storage, choices);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace stowage::schedule
