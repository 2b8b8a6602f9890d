// run_bench MODEL [RUNS]: prints, for each of so many runs, the seconds that a network's operators take
// inside its plan, with the fast kernels; and to stderr, for the last run, by type of operator. Reading,
// planning and preparing kernels do not count.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "stowage/run.h"

namespace {

double seconds_of(const stowage::RunResult& result) {
  return std::accumulate(result.steps.begin(), result.steps.end(), 0.0,
                         [](double sum, const stowage::StepReport& step) { return sum + step.seconds; });
}

/// Where the time went: seconds by operator type, as the words of a step end: "operator 'x' (Conv, ..)".
void print_shares(const stowage::RunResult& result) {
  std::map<std::string, double> shares;
  for (const stowage::StepReport& step : result.steps) {
    const std::size_t begin = step.what.rfind('(') + 1;
    const std::size_t end = std::min(step.what.find_first_of(",)", begin), step.what.size());
    shares[step.what.substr(begin, end - begin)] += step.seconds;
  }
  for (const auto& [type, seconds] : shares) std::fprintf(stderr, "%-20s %.4f\n", type.c_str(), seconds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "run_bench MODEL [RUNS]\n");
    return 2;
  }
  constexpr int usual_runs = 9;
  const int runs = std::max(1, argc > 2 ? std::atoi(argv[2]) : usual_runs);
  try {
    const stowage::Network network = stowage::read_network(argv[1]);
    const stowage::PlanResult planned = stowage::make_plan(network.input);
    const stowage::RunOptions options{.kernels = stowage::KernelSet::fast,
                                      .random_weights = std::uint64_t{1}};
    const stowage::Runner runner(network, options);
    std::vector<double> seconds;
    for (int i = 0; i < runs; ++i) {
      const stowage::RunResult result = runner.run(planned.plan, options);
      if (result.fault) throw std::runtime_error(result.fault->what);
      seconds.push_back(seconds_of(result));
      if (i + 1 == runs) print_shares(result);
    }
    for (const double value : seconds) std::printf("%.6f\n", value);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
