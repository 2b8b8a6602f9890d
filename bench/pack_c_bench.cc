// How long the C interface takes: for one problem after the other, the least of many runs.
//     14 buffers           the median of a corpus of kernels, lives alone
//     250 buffers          with 8000 pairs that cost something when they share bytes
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>

#include "stowage_pack.h"

namespace {

struct Run {
  double made = 1e9;    ///< Microseconds, least: to say the problem
  double solved = 1e9;  ///< and to solve it.
  std::int64_t cost = 0;
  std::int64_t bound = 0;
};

Run run(int buffers, int pairs, std::int64_t capacity, std::int64_t effort, int times) {
  using Clock = std::chrono::steady_clock;
  Run least;
  for (int i = 0; i < times; ++i) {
    std::mt19937 random(1);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    const auto begin = Clock::now();
    stowage_pack_problem* const it = stowage_pack_create();
    stowage_pack_add_memory(it, capacity);
    for (int b = 0; b < buffers; ++b) {
      const std::int64_t lower = below(buffers);
      stowage_pack_add_buffer(it, 32 * (1 + below(16)), 32, lower, lower + 1 + below(10));
    }
    for (int p = 0; p < pairs; ++p) {
      const std::int64_t a = below(buffers);
      stowage_pack_reuse_cost(it, a, (a + 1 + below(buffers - 1)) % buffers, 1);
    }
    const auto made = Clock::now();
    const stowage_pack_status status = stowage_pack_solve(it, effort, 0);
    const auto solved = Clock::now();
    if (status != STOWAGE_PACK_FITS)
      std::printf("status %d: %s\n", static_cast<int>(status), stowage_pack_error(it));
    least.cost = stowage_pack_cost(it);
    least.bound = stowage_pack_cost_bound(it);
    stowage_pack_destroy(it);
    const auto micro = [](auto time) { return std::chrono::duration<double, std::micro>(time).count(); };
    least.made = std::min(least.made, micro(made - begin));
    least.solved = std::min(least.solved, micro(solved - made));
  }
  return least;
}

void print(const char* what, const Run& it) {
  std::printf("| %s | %.0f | %.0f | %lld | %lld |\n", what, it.made, it.solved,
              static_cast<long long>(it.cost), static_cast<long long>(it.bound));
}

}  // namespace

int main() {
  std::printf("| problem | said, microseconds | solved | cost | bound |\n|---|---|---|---|---|\n");
  print("14 buffers, lives alone, effort 0", run(14, 0, STOWAGE_PACK_UNLIMITED, 0, 200));
  print("14 buffers, lives alone, effort 1", run(14, 0, STOWAGE_PACK_UNLIMITED, 1, 200));
  print("14 buffers, 20 costs, effort 1", run(14, 20, 4096, 1, 200));
  print("250 buffers, 8000 costs, effort 1", run(250, 8000, 6144, 1, 20));
  print("250 buffers, 8000 costs, effort 5", run(250, 8000, 6144, 5, 10));
  print("250 buffers, 8000 costs, effort 10", run(250, 8000, 6144, 10, 10));
  print("250 buffers, 8000 costs, 4800 bytes, effort 1", run(250, 8000, 4800, 1, 20));
}
