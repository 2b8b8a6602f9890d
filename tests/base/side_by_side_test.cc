// Tasks on several threads: each runs once, what ends them ends all, and exceptions reach the caller.

#include "base/side_by_side.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace stowage::base {
namespace {

/// Gives up, once for all tests, so that a mistake makes them fail instead of waiting forever.
template <typename Happened>
bool wait_until(Happened happened) {
  static std::atomic<bool> has_given_up = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!happened()) {
    if (std::chrono::steady_clock::now() > end) has_given_up = true;
    if (has_given_up) return false;
    std::this_thread::yield();
  }
  return true;
}

std::atomic<bool> is_gone;

/// Says so when the thread that calls it has left its last task for good.
void say_when_gone() {
  struct Farewell {
    bool is_due = false;

    Farewell() = default;
    Farewell(const Farewell&) = delete;
    Farewell& operator=(const Farewell&) = delete;
    ~Farewell() { is_gone = is_due; }
  };
  thread_local Farewell farewell;
  farewell.is_due = true;
}

/// What reaches the caller; nothing if nothing does.
std::string thrown_by(std::size_t tasks, std::size_t threads,
                      const std::function<bool(std::size_t task, std::size_t thread)>& work) {
  try {
    run_side_by_side(0, tasks, threads, work);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(SideBySide, EveryTaskRunsOnce) {
  for (const std::size_t threads : {0U, 1U, 2U, 8U}) {
    for (const std::size_t begin : {0U, 5U}) {
      for (const std::size_t count : {1U, 2U, 7U, 500U}) {
        SCOPED_TRACE(std::to_string(begin) + "+" + std::to_string(count) + " on " + std::to_string(threads));
        std::vector<std::atomic<int>> runs(begin + count + 1);
        run_side_by_side(begin, begin + count, threads, [&](std::size_t task, std::size_t) {
          ++runs.at(task);
          return true;
        });
        for (std::size_t task = 0; task < runs.size(); ++task)
          EXPECT_EQ(runs[task], begin <= task && task < begin + count ? 1 : 0) << task;
      }
    }
  }
}

TEST(SideBySide, WithoutTasksNothingRuns) {
  std::atomic<int> runs = 0;
  const auto count = [&](std::size_t, std::size_t) {
    ++runs;
    return true;
  };
  for (const std::size_t threads : {0U, 1U, 8U}) {
    run_side_by_side(0, 0, threads, count);
    run_side_by_side(7, 7, threads, count);
    run_side_by_side(7, 3, threads, count);
  }
  EXPECT_EQ(runs, 0);
}

TEST(SideBySide, OneThreadTakesTheTasksInTheirOrder) {
  std::vector<std::size_t> order;
  run_side_by_side(3, 9, 1, [&](std::size_t task, std::size_t thread) {
    EXPECT_EQ(thread, 0U);
    order.push_back(task);
    return true;
  });
  EXPECT_EQ(order, (std::vector<std::size_t>{3, 4, 5, 6, 7, 8}));
}

TEST(SideBySide, ThereAreAsManyThreadsAsAskedForButNoMoreThanTasks) {
  for (const auto& [tasks, threads] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 1}, {8, 1}, {2, 2}, {9, 2}, {8, 8}, {3, 8}, {1, 8}, {4, 60}}) {
    SCOPED_TRACE(std::to_string(tasks) + " on " + std::to_string(threads));
    const std::size_t expected = std::min(tasks, threads);
    std::mutex mutex;
    std::set<std::size_t> numbers;
    std::set<std::thread::id> ids;
    const auto caller = std::this_thread::get_id();
    run_side_by_side(10, 10 + tasks, threads, [&](std::size_t, std::size_t thread) {
      EXPECT_LT(thread, expected);
      EXPECT_EQ(thread == 0, std::this_thread::get_id() == caller);
      const auto have_all_begun = [&] {
        const std::lock_guard lock(mutex);
        numbers.insert(thread);
        ids.insert(std::this_thread::get_id());
        return numbers.size() >= expected;
      };
      EXPECT_TRUE(wait_until(have_all_begun));
      return true;
    });
    EXPECT_EQ(numbers.size(), expected);
    EXPECT_EQ(ids.size(), expected);
  }
}

TEST(SideBySide, FalseEndsIt) {
  for (const std::size_t last : {2U, 5U, 9U}) {
    std::vector<std::size_t> begun;
    run_side_by_side(2, 10, 1, [&](std::size_t task, std::size_t) {
      begun.push_back(task);
      return task != last;
    });
    std::vector<std::size_t> expected(last - 1);
    std::iota(expected.begin(), expected.end(), std::size_t{2});
    EXPECT_EQ(begun, expected);
  }
}

/// The others wait in their first task until the thread that ends it is gone.
TEST(SideBySide, NothingBeginsOnAnyThreadOnceOneEndsIt) {
  for (const bool throws : {false, true}) {
    SCOPED_TRACE(throws);
    is_gone = false;
    constexpr std::size_t threads = 3;
    std::atomic<std::size_t> begun = 0;
    const auto work = [&](std::size_t, std::size_t thread) {
      ++begun;
      EXPECT_TRUE(wait_until([&] { return begun >= threads; }));
      if (thread == 1) {
        say_when_gone();
        if (throws) throw std::runtime_error("no more");
        return false;
      }
      EXPECT_TRUE(wait_until([&] { return is_gone.load(); }));
      return true;
    };
    EXPECT_EQ(thrown_by(100, threads, work), throws ? "no more" : "");
    EXPECT_EQ(begun, threads);
  }
}

TEST(SideBySide, AnExceptionReachesTheCallerAfterAllThreadsHaveEnded) {
  for (const std::size_t thrower : {0U, 1U}) {
    SCOPED_TRACE(thrower);
    std::atomic<std::size_t> begun = 0;
    std::atomic<std::size_t> ended = 0;
    const auto work = [&](std::size_t, std::size_t thread) {
      ++begun;
      EXPECT_TRUE(wait_until([&] { return begun >= 3; }));
      if (thread == thrower) throw std::runtime_error("enough");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++ended;
      return true;
    };
    EXPECT_EQ(thrown_by(3, 3, work), "enough");
    EXPECT_EQ(ended, 2U);
  }
}

TEST(SideBySide, OnOneThreadNothingFollowsAnException) {
  std::vector<std::size_t> begun;
  const auto work = [&](std::size_t task, std::size_t) {
    begun.push_back(task);
    if (task >= 3) throw std::runtime_error("at " + std::to_string(task));
    return true;
  };
  EXPECT_EQ(thrown_by(10, 1, work), "at 3");
  EXPECT_EQ(begun, (std::vector<std::size_t>{0, 1, 2, 3}));
}

/// The caller's thread throws once the other one, which throws first, is gone.
TEST(SideBySide, OfSeveralExceptionsTheFirstIsThrown) {
  is_gone = false;
  std::atomic<int> begun = 0;
  const auto work = [&](std::size_t, std::size_t thread) -> bool {
    ++begun;
    EXPECT_TRUE(wait_until([&] { return begun >= 2; }));
    if (thread == 1) {
      say_when_gone();
      throw std::runtime_error("first");
    }
    EXPECT_TRUE(wait_until([&] { return is_gone.load(); }));
    throw std::runtime_error("second");
  };
  EXPECT_EQ(thrown_by(2, 2, work), "first");
}

TEST(SideBySide, WhatIsNoStandardExceptionReachesTheCallerToo) {
  for (const std::size_t threads : {1U, 4U})
    EXPECT_THROW(run_side_by_side(0, 4, threads, [](std::size_t, std::size_t) -> bool { throw 7; }), int);
}

}  // namespace
}  // namespace stowage::base
