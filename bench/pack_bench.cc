// How the time of one pass of each strategy grows with the number of buffers.

#include <benchmark/benchmark.h>

#include <string>

#include "generate.h"
#include "stowage/problem.h"

namespace {

void solve_generated(benchmark::State& state, const std::string& strategy) {
  const stowage::Problem problem = stowage::bench::generate(static_cast<std::size_t>(state.range(0)), 1);
  stowage::Solution solution;
  for (auto _ : state) solution = stowage::solve(problem, {.strategy = strategy});
  const auto peak = static_cast<double>(stowage::peak_of(problem, solution, 0));
  state.SetComplexityN(state.range(0));
  state.counters["gap_percent"] = 100.0 * (peak / static_cast<double>(solution.lower_bound) - 1.0);
}

}  // namespace

int main(int argc, char** argv) {
  for (const stowage::StrategyInfo& strategy : stowage::strategies()) {
    if (strategy.name == "auto" || strategy.name == "levels") continue;  // of several memories
    const std::string name(strategy.name);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [name](benchmark::State& state) { solve_generated(state, name); })
        ->RangeMultiplier(10)
        ->Range(1'000, 1'000'000)
        ->Complexity(benchmark::oNLogN)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
