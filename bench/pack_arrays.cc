// Packs the buffers of bench/pack_arrays.py five times and prints the median of the seconds, and the peak.
//
//     pack_arrays COUNT

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "stowage/problem.h"

namespace {

using Clock = std::chrono::steady_clock;

stowage::Problem problem_of(stowage::Bytes count) {
  stowage::Problem problem;
  problem.memories = {{.name = "arena"}};
  problem.buffers.resize(static_cast<std::size_t>(count));
  for (stowage::Bytes i = 0; i < count; ++i) {
    stowage::Buffer& buffer = problem.buffers[static_cast<std::size_t>(i)];
    const std::int64_t lower = i * 7919 % 100'000;
    buffer.id = std::to_string(i);
    buffer.size = 1 + i * 15'485'863 % 65'536;
    buffer.pieces.push_back({0, buffer.size, {lower, lower + 1 + i * 104'729 % 20}});
  }
  return problem;
}

}  // namespace

int main(int argc, char** argv) {
  const stowage::Bytes count = argc > 1 ? std::stoll(argv[1]) : 1'000'000;
  std::array<double, 5> seconds{};
  stowage::Bytes peak = 0;
  for (double& time : seconds) {
    const auto begin = Clock::now();
    const stowage::Problem problem = problem_of(count);
    const stowage::Solution solution =
        stowage::solve(problem, {.strategy = "free-list", .time_limit = std::chrono::minutes(1)});
    time = std::chrono::duration<double>(Clock::now() - begin).count();
    peak = stowage::peak_of(problem, solution, 0);
  }
  std::sort(seconds.begin(), seconds.end());
  fmt::print("C++     {:.3f} s ({:.3f} to {:.3f}), peak {}\n", seconds[2], seconds[0], seconds[4], peak);
  return 0;
}
