// The portfolio: the lowest wins whatever the threads, no strategy is given up that could still win, and with
// little time `auto` is no worse than a pass that would have had enough of it alone.

#include "pack/portfolio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "long_tests.h"
#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "pack/bounds.h"
#include "pack/placing.h"
#include "stowage/import.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
constexpr auto generous = std::chrono::hours(1);

/// Enough of them for passes to run side by side; no pass reaches the bound.
Problem many_buffers(std::uint64_t seed) {
  return oracle::random_problem(seed, {.buffers = 1200,
                                       .positions = 400,
                                       .longest_life = 60,
                                       .largest_size = 100,
                                       .largest_alignment = 8,
                                       .percent_with_pieces = seed % 2 == 0 ? 0 : 10,
                                       .percent_pinned = seed % 2 == 0 ? 0 : 1});
}

Bytes peak_of(const Problem& problem, const pack::Placing& placing) {
  return pack::total_peak(pack::score_of(problem, placing.places, placing.slots));
}

/// Those that place in one pass, and soon.
std::vector<std::string> passes() {
  return {"greedy-by-size",     "greedy-by-breadth", "greedy-by-area", "greedy-by-duration",
          "first-fit-by-start", "best-fit-by-start", "free-list"};
}

/// All that end by themselves, and serve and suit the problem.
std::vector<const pack::Strategy*> passes_and_from_peak(const Problem& problem) {
  std::vector<const pack::Strategy*> chosen;
  for (const pack::Strategy& strategy : pack::packers()) {
    const pack::Turn& turn = strategy.turn;
    if ((turn.is_alone && strategy.info.name != "from-peak") || !strategy.info.is_in_auto) continue;
    if (turn.suits != nullptr && !turn.suits(problem)) continue;
    if (!strategy.obstacle(problem)) chosen.push_back(&strategy);
  }
  return chosen;
}

TEST(Portfolio, TheLowestWinsWhateverTheThreads) {
  for (std::uint64_t seed = 0; seed < (testing::is_in_a_hurry() ? 1 : 2); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = many_buffers(seed);
    const auto chosen = passes_and_from_peak(problem);
    Bytes least = largest_value;
    for (const pack::Strategy* const strategy : chosen)
      least = std::min(least, peak_of(problem, strategy->run(problem, {.rounds = 0})));
    const Solution first = pack::best_of(problem, chosen, {.options = {.threads = 1}, .rounds = 0});
    EXPECT_EQ(stowage::peak_of(problem, first, 0), least);
    EXPECT_FALSE(first.interrupted);
    for (const std::size_t threads : {2U, 8U}) {
      for (int again = 0; again < (testing::is_in_a_hurry() ? 1 : 2); ++again) {
        const Solution other = pack::best_of(problem, chosen, {.options = {.threads = threads}, .rounds = 0});
        EXPECT_EQ(other.places, first.places);
        EXPECT_EQ(other.strategy, first.strategy);
        EXPECT_EQ(other.lower_bound, first.lower_bound);
        EXPECT_FALSE(other.interrupted);
      }
    }
  }
}

TEST(Portfolio, OnlyWhatCannotWinIsGivenUp) {
  const Problem problem = many_buffers(2);
  std::size_t given_up = 0;
  for (const pack::Strategy* const strategy : passes_and_from_peak(problem)) {
    SCOPED_TRACE(strategy->info.name);
    const SolveOptions options{.threads = 1};
    const pack::Placing alone = strategy->run(problem, {.options = options, .rounds = 0});
    std::atomic<Bytes> ceiling = peak_of(problem, alone) + 1;
    const pack::Placing below =
        strategy->run(problem, {.options = options, .ceiling = &ceiling, .rounds = 0});
    EXPECT_EQ(below.places, alone.places);
    ceiling = pack::lower_bound_of(problem.buffers);
    const pack::Placing beaten =
        strategy->run(problem, {.options = options, .ceiling = &ceiling, .rounds = 0});
    EXPECT_TRUE(beaten.places.empty());
    EXPECT_FALSE(beaten.cut_short) << "nobody told it to stop";
    ++given_up;
  }
  EXPECT_GE(given_up, passes().size());
}

/// Sections of short buffers, and long ones that cross some of them; the optimum is hard to find.
Problem crossing_sections(std::uint64_t seed) {
  return oracle::random_problem(seed,
                                {.buffers = 120, .positions = 60, .longest_life = 20, .largest_size = 100});
}

/// The option of one strategy leaves the searches of all others as they are.
TEST(Portfolio, RoundsAreForRectangleAlone) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const Problem problem = crossing_sections(seed);
    for (const pack::Strategy& strategy : pack::packers()) {
      if (strategy.info.name == "rectangle" || strategy.obstacle(problem)) continue;
      SCOPED_TRACE(strategy.info.name);
      const std::string name(strategy.info.name);
      const Solution uncut = solve(problem, {.strategy = name, .effort = 100});
      for (const std::int64_t rounds : {0, 2}) {
        const Solution other = solve(problem, {.strategy = name, .effort = 100, .rounds = rounds});
        EXPECT_EQ(other.places, uncut.places);
        EXPECT_EQ(other.interrupted, uncut.interrupted);
      }
    }
  }
}

TEST(Portfolio, AThrowReachesTheCaller) {
  const Problem problem = many_buffers(0);
  const Progress fail = [](std::string_view, double fraction) {
    if (fraction > 0) throw std::runtime_error("no more");
  };
  for (const std::size_t threads : {1U, 2U, 4U})
    EXPECT_THROW(static_cast<void>(solve(problem, {.threads = threads, .progress = fail})),
                 std::runtime_error);
}

TEST(Portfolio, WhoWasAskedForIsReturnedThoughTheStopgapIsLower) {
  const Problem problem = many_buffers(4);
  const Bytes stopgap = stowage::peak_of(problem, solve(problem, {.strategy = "free-list"}), 0);
  std::size_t higher = 0;
  for (const std::string name : {"slots", "two-stack", "greedy-by-area"}) {
    for (const std::size_t threads : {1U, 2U}) {
      const Solution solution =
          solve(problem, {.strategy = name, .time_limit = generous, .threads = threads});
      EXPECT_EQ(solution.strategy, name);
      EXPECT_FALSE(solution.interrupted);
      higher += stowage::peak_of(problem, solution, 0) > stopgap ? 1 : 0;
    }
  }
  EXPECT_GE(higher, 4U);
}

// The order of strategies, each of which does nothing but say what it finds.

/// What a strategy finds when its turn comes.
struct Beginning {
  std::string name;
  std::int64_t spent = 0;  ///< On its clock.
  std::int64_t left = 0;   ///< Until its deadline.
  bool reports = false;
  std::thread::id thread;
};

/// Strategies that find no placing.
class Idlers {
 public:
  void add(std::string_view name, const pack::Turn& turn) {
    const auto run = [this, name](const Problem&, const pack::Control& control) {
      const auto nanoseconds = [](auto time) {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
      };
      const std::lock_guard lock(mutex_);
      beginnings_.push_back({std::string(name), control.deadline.now().time_since_epoch().count(),
                             nanoseconds(control.deadline.left()), control.options.progress != nullptr,
                             std::this_thread::get_id()});
      return pack::Placing{};
    };
    const auto obstacle = [](const Problem&) -> std::optional<std::string> { return std::nullopt; };
    strategies_.push_back({{.name = name}, run, obstacle, turn});
  }

  /// Among so many buffers, with so much effort.
  std::vector<Beginning> run(std::size_t buffers, std::int64_t effort, std::size_t threads) {
    Problem problem{.memories = {{.name = "arena"}}};
    for (std::size_t b = 0; b < buffers; ++b) {
      const auto begin = static_cast<Position>(b);
      problem.buffers.push_back({.id = std::to_string(b), .size = 1, .pieces = {{0, 1, {begin, begin + 1}}}});
    }
    std::vector<const pack::Strategy*> chosen;
    for (const pack::Strategy& strategy : strategies_) chosen.push_back(&strategy);
    const SolveOptions options{
        .effort = effort, .threads = threads, .progress = [](std::string_view, double) {}};
    beginnings_.clear();
    const pack::Control control{.options = options, .deadline = pack::deadline_of(options)};
    EXPECT_EQ(pack::best_of(problem, chosen, control).strategy, "free-list") << "the fallback";
    return beginnings_;
  }

  /// The names in the order in which their turns come.
  std::vector<std::string> order(std::size_t buffers, std::int64_t effort) {
    std::vector<std::string> names;
    for (const Beginning& it : run(buffers, effort, 1)) names.push_back(it.name);
    return names;
  }

 private:
  std::vector<pack::Strategy> strategies_;
  std::mutex mutex_;
  std::vector<Beginning> beginnings_;
};

TEST(Portfolio, WithLittleTimeForEachBufferAStrategyComesLater) {
  Idlers idlers;
  idlers.add("fallback", {.of_many = 0, .is_stopgap = true});
  idlers.add("late", {.of_many = 4});
  idlers.add("search", {.of_many = 1, .least = 10'000, .of_many_later = 3, .is_alone = true});
  idlers.add("early", {.of_many = 2});
  const std::vector<std::string> with_time{"fallback", "search", "early", "late"};
  const std::vector<std::string> in_a_hurry{"fallback", "early", "search", "late"};
  EXPECT_EQ(idlers.order(1000, 10), with_time);
  EXPECT_EQ(idlers.order(1000, 9), in_a_hurry);
  EXPECT_EQ(idlers.order(1001, 10), in_a_hurry);
  EXPECT_EQ(idlers.order(2000, 20), with_time);
  const std::vector<std::string> as_given{"late", "search", "early"};
  EXPECT_EQ(idlers.order(999, 5), as_given) << "few buffers need no fallback";
}

TEST(Portfolio, TheClockOfAPassBeginsWhereThoseBeforeItEnd) {
  Idlers idlers;
  idlers.add("0", {.of_many = 0, .work = 20, .is_stopgap = true});
  idlers.add("1", {.of_many = 1, .work = 100});
  idlers.add("2", {.of_many = 1, .work = 300});
  idlers.add("3", {.of_many = 2, .share = 0.5});
  idlers.add("4", {.of_many = 3, .share = 0.25, .is_alone = true, .work = 80});
  idlers.add("5", {.of_many = 4});
  for (const std::size_t threads : {1U, 2U, 8U}) {
    SCOPED_TRACE(threads);
    std::vector<Beginning> found = idlers.run(1000, 10, threads);
    std::ranges::sort(found, {}, &Beginning::name);
    ASSERT_EQ(found.size(), 6U);
    const std::vector<std::int64_t> spent{20'000, 120'000, 420'000, 420'000, 500'000, 500'000};
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].spent, spent[i]) << i;
      EXPECT_EQ(found[i].reports, found[i].thread == std::this_thread::get_id()) << i;
    }
    EXPECT_EQ(found[2].left, 9'580'000);
    EXPECT_EQ(found[3].left, 9'580'000 / 2);
    EXPECT_EQ(found[4].left, 9'580'000 / 4 - 80'000);
    EXPECT_EQ(found[5].left, 9'500'000);
  }
}

/// A rival that always finds the same peak.
struct Rival {
  Bytes peak = 0;
  int ends_in = 0;  ///< The turn in which it ends by itself; 0: it never does.
};

/// Who takes turns, where the bound is 1. A turn of the third strategy that has half of the time is "other half".
std::vector<std::string> turns_of(const Rival& first, const Rival& second) {
  std::vector<std::string> turns;
  const SolveOptions options{.effort = 100, .threads = 1};
  const pack::Control control{.options = options, .deadline = pack::deadline_of(options)};
  const auto strategy = [&](std::string_view name, const Rival& it, bool is_rival) {
    const auto run = [&, name, it, is_rival](const Problem&, const pack::Control& own) {
      const bool has_half = !is_rival && own.deadline.left() * 2.1 > control.deadline.left();
      turns.emplace_back(has_half ? "other half" : name);
      const bool ends = std::ranges::count(turns, name) == it.ends_in;
      const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(own.deadline.left());
      if (!ends) own.spend(left.count());
      return pack::Placing{.places = {{.offset = it.peak - 1}}, .cut_short = !ends};
    };
    const auto obstacle = [](const Problem&) -> std::optional<std::string> { return std::nullopt; };
    return pack::Strategy{{.name = name}, run, obstacle, {.share = 0.5, .is_rival = is_rival}};
  };
  const std::vector<pack::Strategy> strategies{strategy("first", first, true),
                                               strategy("second", second, true),
                                               strategy("other", {.peak = 100}, false)};
  std::vector<const pack::Strategy*> chosen;
  for (const pack::Strategy& it : strategies) chosen.push_back(&it);
  const Problem problem{.buffers = {{.id = "a", .size = 1, .pieces = {{0, 1, {0, 1}}}}},
                        .memories = {{.name = "arena"}}};
  static_cast<void>(pack::best_of(problem, chosen, control));
  return turns;
}

using Turns = std::vector<std::string>;

TEST(Portfolio, TheLastTurnIsForTheRivalThatGoesOn) {
  EXPECT_EQ(turns_of({10}, {9}), (Turns{"first", "second", "first", "other", "second"}));
  for (const Bytes peak : {10, 11})
    EXPECT_EQ(turns_of({10}, {peak}), (Turns{"first", "second", "other", "first"})) << peak;
}

TEST(Portfolio, WhenARivalEndsTheOtherHasTheRest) {
  EXPECT_EQ(turns_of({10, 1}, {11}), (Turns{"first", "second", "other", "second"}));
  EXPECT_EQ(turns_of({10, 2}, {11}), (Turns{"first", "second", "other", "first", "second"}));
  EXPECT_EQ(turns_of({10}, {11, 1}), (Turns{"first", "second", "other", "first"}));
  EXPECT_EQ(turns_of({10}, {9, 1}), (Turns{"first", "second", "first", "other", "first"}));
  EXPECT_EQ(turns_of({10}, {9, 2}), (Turns{"first", "second", "first", "other", "second", "first"}));
  EXPECT_EQ(turns_of({10, 1}, {9, 1}), (Turns{"first", "second", "other half"}));
}

/// The strategies that report when all solve the problem, in their order.
std::vector<std::string> reported(const Problem& problem, std::int64_t effort) {
  std::vector<std::string> in_order;
  const Progress add = [&](std::string_view what, double) {
    const std::string_view name = what.substr(0, what.find(','));  // what follows is the best so far
    if (std::ranges::find(in_order, name) == in_order.end()) in_order.emplace_back(name);
  };
  static_cast<void>(solve(problem, {.effort = effort, .threads = 1, .progress = add}));
  return in_order;
}

/// Its place in the list, or the length of the list.
std::ptrdiff_t place_of(const std::vector<std::string>& in_order, std::string_view name) {
  return std::ranges::find(in_order, name) - in_order.begin();
}

TEST(Portfolio, FromPeakComesBeforeTheLongerPassesUnlessTheEffortIsShort) {
  const Problem problem = many_buffers(0);
  const auto with_time = reported(problem, 60);
  EXPECT_LT(place_of(with_time, "best-fit-by-start"), place_of(with_time, "from-peak"));
  EXPECT_LT(place_of(with_time, "from-peak"), place_of(with_time, "greedy-by-duration"));
  const auto in_a_hurry = reported(problem, 8);  // 6.7 microseconds for a buffer
  EXPECT_LT(place_of(in_a_hurry, "greedy-by-duration"), place_of(in_a_hurry, "from-peak"));
  EXPECT_LT(place_of(in_a_hurry, "greedy-by-duration"), std::ssize(in_a_hurry));
  EXPECT_LT(place_of(reported(problem, 9), "from-peak"), 5);
}

/// Lives of up to that many positions, some of them much shorter.
Problem random_lives(std::size_t count, std::int64_t longest, std::uint64_t seed = 1) {
  oracle::Random random(seed);
  Problem problem{.memories = {{.name = "arena"}}};
  for (std::size_t b = 0; b < count; ++b) {
    const Position lower = random.between(0, static_cast<Position>(count));
    const Position life = random.between(1, random.chance(50) ? longest : 20);
    const Bytes size = 64 * random.between(1, 256);
    problem.buffers.push_back(
        {.id = std::to_string(b), .size = size, .pieces = {{0, size, {lower, lower + life}}}});
  }
  return problem;
}

/// A square of 4000 positions and bytes, cut at random into that many buffers, all of which fit 4000 bytes.
Problem cut_square(std::size_t count, std::uint64_t seed) {
  struct Cut {
    Lifetime life{0, 4000};
    Bytes size = 4000;
  };
  oracle::Random random(seed);
  std::vector<Cut> cuts(1);
  while (cuts.size() < count) {
    Cut& one = cuts[static_cast<std::size_t>(random.between(0, std::ssize(cuts) - 1))];
    Cut other = one;
    if (one.size > one.life.upper - one.life.lower) {
      one.size = random.between(1, one.size - 1);
      other.size -= one.size;
    } else if (one.life.upper - one.life.lower > 1) {
      one.life.upper = other.life.lower = random.between(one.life.lower + 1, one.life.upper - 1);
    } else {
      continue;
    }
    cuts.push_back(other);
  }
  Problem problem{.memories = {{.name = "arena"}}};
  for (const Cut& cut : cuts)
    problem.buffers.push_back({.id = std::to_string(problem.buffers.size()),
                               .size = cut.size,
                               .pieces = {{0, cut.size, cut.life}}});
  return problem;
}

TEST(Portfolio, TheLongerPassesAreLeftOutNearTheBound) {
  int near = 0;
  int far = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = seed % 2 == 0 ? random_lives(1200, 150, seed) : cut_square(1200, seed);
    std::vector<const pack::Strategy*> before;
    for (const pack::Strategy& strategy : pack::packers()) {
      for (const std::string_view name :
           {"free-list", "first-fit-by-start", "best-fit-by-start", "from-peak"})
        if (strategy.info.name == name) before.push_back(&strategy);
    }
    const Solution first = pack::best_of(problem, before, {.options = {.threads = 1}});
    const Bytes gap = stowage::peak_of(problem, first, 0) - first.lower_bound;
    const auto names = reported(problem, 200);
    const bool has_passes = place_of(names, "greedy-by-duration") < std::ssize(names);
    EXPECT_LT(place_of(names, "from-peak"), std::ssize(names));
    EXPECT_EQ(has_passes, 20 * gap > first.lower_bound);
    ++(has_passes ? far : near);
  }
  EXPECT_GT(near, 0);
  EXPECT_GT(far, 0);
}

// With little time.

Problem listed(const std::string& name) {
  const auto file = std::filesystem::path(STOWAGE_DATA_DIR) / "packing" / "idealloc" / (name + ".csv");
  return std::get<Problem>(read_input(file).content);
}

/// So many buffers, in copies one after the other in time.
Problem repeated(const Problem& once, std::size_t count) {
  Position length = 0;
  for (const Buffer& buffer : once.buffers) {
    for (const Piece& piece : buffer.pieces) length = std::max(length, piece.life.upper);
  }
  Problem problem{.memories = {{.name = "arena"}}};
  for (Position copy = 0; problem.buffers.size() < count; ++copy) {
    for (Buffer buffer : once.buffers) {
      if (problem.buffers.size() == count) break;
      buffer.id += "-" + std::to_string(copy);
      for (Piece& piece : buffer.pieces)
        piece.life = {piece.life.lower + copy * length, piece.life.upper + copy * length};
      problem.buffers.push_back(std::move(buffer));
    }
  }
  return problem;
}

struct Alone {
  std::string name;
  Seconds seconds{};
  Bytes peak = 0;
};

Alone run_alone(const Problem& problem, const std::string& name) {
  const auto begin = SteadyClock::now();
  const Solution solution = solve(problem, {.strategy = name, .time_limit = generous});
  return {name, SteadyClock::now() - begin, stowage::peak_of(problem, solution, 0)};
}

/// What `auto` is worse than though it is done alone in a third of the time, measured before and after: the
/// four passes that take longest share two threads, so that in half of it each of them is just done.
std::vector<std::string> better_alone(const Problem& problem, Seconds limit) {
  std::vector<Alone> before;
  for (const std::string& name : passes()) {
    if (!obstacle_to(name, problem)) before.push_back(run_alone(problem, name));
  }
  const Solution best = solve(problem, {.time_limit = limit});
  const Bytes peak = stowage::peak_of(problem, best, 0);
  std::vector<std::string> better;
  for (const Alone& it : before) {
    const auto is_quick = [&](const Alone& alone) { return 3 * alone.seconds <= limit; };
    if (it.peak < peak && is_quick(it) && is_quick(run_alone(problem, it.name))) better.push_back(it.name);
  }
  return better;
}

/// What else the machine has to do may spoil one try, but hardly three.
void expect_no_better_alone(const Problem& problem, const std::vector<double>& limits) {
  constexpr int tries = 3;
  for (const double limit : limits) {
    std::vector<std::string> better;
    for (int i = 0; i < tries; ++i) {
      better = better_alone(problem, Seconds(limit));
      if (better.empty()) break;
    }
    EXPECT_TRUE(better.empty()) << better.size() << " passes are better in a third of " << limit
                                << " s, first " << better.front();
  }
}

/// What `auto` is worse than though it ends by itself with a quarter of the effort.
void expect_no_better_alone_with(const Problem& problem, std::int64_t effort) {
  const Bytes peak = stowage::peak_of(problem, solve(problem, {.effort = effort}), 0);
  for (const StrategyInfo& info : strategies()) {
    if (obstacle_to(info.name, problem)) continue;
    const Solution alone = solve(problem, {.strategy = std::string(info.name), .effort = effort / 4});
    if (!alone.interrupted) {
      EXPECT_LE(peak, stowage::peak_of(problem, alone, 0)) << info.name << " with an effort of " << effort;
    }
  }
}

TEST(Portfolio, WithLittleEffortNoStrategyIsBetterAlone) {
  std::vector<Problem> problems{random_lives(60, 30), random_lives(300, 60), many_buffers(1)};
  const auto folder = std::filesystem::path(STOWAGE_DATA_DIR) / "packing" / "minimalloc";
  for (const char* const name : {"A", "D", "J"}) {
    const auto file = folder / (std::string(name) + ".csv");
    if (std::filesystem::exists(file)) problems.push_back(std::get<Problem>(read_input(file).content));
  }
  for (std::size_t p = 0; p < problems.size(); ++p) {
    SCOPED_TRACE(p);
    for (const std::int64_t effort : {20, 100}) expect_no_better_alone_with(problems[p], effort);
  }
  expect_no_better_alone_with(random_lives(8'000, 600), 100);
}

constexpr const char* needs_quiet = "needs a machine without other work; STOWAGE_LONG=1 runs it";

TEST(Portfolio, WithLittleTimeNoPassIsBetterAlone) {
  if (!testing::has_time()) GTEST_SKIP() << needs_quiet;
  expect_no_better_alone(random_lives(8'000, 600), {0.1, 0.3});
  expect_no_better_alone(random_lives(20'000, 100), {0.1, 0.3});
  expect_no_better_alone(random_lives(30'000, 4'000), {0.3, 1, 2, 3});
  expect_no_better_alone(random_lives(100'000, 60), {0.3, 1, 2});
  expect_no_better_alone(random_lives(1'000'000, 40), {1, 3, 10});
}

TEST(Portfolio, WithLittleTimeNoPassIsBetterAloneOnRealLists) {
  if (!testing::has_time()) GTEST_SKIP() << needs_quiet;
  if (!std::filesystem::is_directory(std::filesystem::path(STOWAGE_DATA_DIR) / "packing" / "idealloc"))
    GTEST_SKIP() << "there is no folder packing/idealloc in " << STOWAGE_DATA_DIR;
  const Problem largest = listed("S_1");
  expect_no_better_alone(largest, {0.1, 0.5, 1});
  expect_no_better_alone(listed("pangu_2.6B"), {0.1, 0.3});
  expect_no_better_alone(listed("G_1"), {0.01, 0.1});
  expect_no_better_alone(repeated(largest, 62'185), {0.3, 1, 2});
  expect_no_better_alone(repeated(listed("pangu_2.6B"), 62'185), {0.3, 1, 2});
}

}  // namespace
}  // namespace stowage
