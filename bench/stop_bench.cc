// How soon strategies return once they are asked to, or their time is up.
//     stop_bench [SECONDS [BUFFERS [STRATEGY ..]]] > table
//
// Prints for each number of buffers and strategy the longest time that passed between the request and the
// plan, of several requests at different moments, and the most that a time limit was overrun; milliseconds.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "generate.h"
#include "stowage/problem.h"

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

/// Buffers of up to a given length of life: of long ones many are alive at once and no strategy is done soon,
/// of short ones few are, so that even large lists are taken by all strategies.
stowage::Problem random_lives(std::size_t count, std::uint64_t longest) {
  std::mt19937_64 random(1);
  stowage::Problem problem{{}, {{.name = "arena"}}};
  const auto positions = static_cast<std::uint64_t>(count);
  for (std::size_t b = 0; b < count; ++b) {
    const auto lower = static_cast<stowage::Position>(random() % positions);
    const auto life = static_cast<stowage::Position>(1 + random() % std::min(positions / 8 + 1, longest));
    const auto size = static_cast<stowage::Bytes>(64 * (1 + random() % 256));
    problem.buffers.push_back(
        {.id = std::to_string(b), .size = size, .pieces = {{0, size, {lower, lower + life}}}});
  }
  return problem;
}

/// The lower half of each buffer is there before the upper one.
stowage::Problem with_pieces(stowage::Problem problem) {
  for (stowage::Buffer& buffer : problem.buffers) {
    stowage::Piece upper = buffer.pieces[0];
    stowage::Piece& lower = buffer.pieces[0];
    lower.size /= 2;
    upper.offset = lower.size;
    upper.size -= lower.size;
    upper.life = {upper.life.lower + 1, upper.life.upper + 2};
    buffer.pieces.push_back(upper);
  }
  return problem;
}

/// A fast memory beside the arena, which is slow.
stowage::Problem with_two_memories(stowage::Problem problem) {
  problem.memories = {{.name = "fast", .capacity = 200'000}, {.name = "arena", .cost = 10}};
  for (stowage::Buffer& buffer : problem.buffers) buffer.traffic = 3 * buffer.size;
  return problem;
}

stowage::Problem problem_of(std::string_view kind, std::size_t count) {
  if (kind == "mixed") return stowage::bench::generate(count, 1);
  if (kind == "saturated") return random_lives(count, 2000);
  if (kind == "sparse") return random_lives(count, 2);
  const stowage::Problem plain = random_lives(count, 50);
  return kind == "pieces" ? with_pieces(plain) : with_two_memories(plain);
}

struct Late {
  double stop = 0;
  double limit = 0;
};

/// Moments are closer to each other at the beginning, where everything is prepared.
Late measure(const stowage::Problem& problem, const std::string& strategy, double longest) {
  constexpr int moments = 16;
  Late late;
  for (int moment = 0; moment < moments; ++moment) {
    const auto wait = std::chrono::duration<double>(longest * std::pow(1.5, -moment));
    std::stop_source source;
    Clock::time_point asked;
    {
      const std::jthread asks([&] {
        std::this_thread::sleep_for(wait);
        asked = Clock::now();
        source.request_stop();
      });
      const stowage::SolveOptions options{.strategy = strategy,
                                          .time_limit = std::chrono::hours(1),
                                          .threads = 2,
                                          .stop = source.get_token()};
      static_cast<void>(stowage::solve(problem, options));
      if (source.stop_requested())
        late.stop = std::max(late.stop, Milliseconds(Clock::now() - asked).count());
    }
    const auto begin = Clock::now();
    static_cast<void>(stowage::solve(problem, {.strategy = strategy, .time_limit = wait, .threads = 2}));
    late.limit = std::max(late.limit, Milliseconds(Clock::now() - begin - wait).count());
  }
  return late;
}

}  // namespace

int main(int argc, char** argv) {
  const double longest = argc > 1 ? std::atof(argv[1]) : 2;
  std::vector<std::size_t> counts{1000, 10'000, 100'000, 1'000'000};
  if (argc > 2) counts = {static_cast<std::size_t>(std::atol(argv[2]))};
  std::vector<std::string> strategies(argv + std::min(argc, 3), argv + argc);
  if (strategies.empty()) strategies = {"auto", "from-peak", "exact", "rectangle"};
  fmt::print("| buffers | strategy | after a request, ms | after the limit, ms |\n|---|---|---|---|\n");
  for (const std::size_t count : counts) {
    for (const std::string_view kind : {"mixed", "saturated", "sparse", "pieces", "two-memories"}) {
      const stowage::Problem problem = problem_of(kind, count);
      for (const std::string& strategy : strategies) {
        if (stowage::obstacle_to(strategy, problem)) continue;
        const Late late = measure(problem, strategy, longest);
        fmt::print("| {} {} | {} | {:.0f} | {:.0f} |\n", count, kind, strategy, late.stop, late.limit);
        std::fflush(stdout);
      }
    }
  }
}
