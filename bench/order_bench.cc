// order_bench MODEL...: for each network, plain and with aliases, the load of its own order, that of the best order
// found, the bound, whether the best is proven, sets looked at and seconds. Options: --time-limit SECONDS=10.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "stowage/planner.h"

namespace {

using namespace stowage;

void print_row(const std::string& name, const char* aliases, const PlanResult& result) {
  const OrderSearch& search = result.plan.order_searches.at(0);
  const double gap =
      100.0 * (static_cast<double>(search.load) / static_cast<double>(search.lower_bound) - 1.0);
  const std::string proof = search.load == search.lower_bound ? "proven" : std::to_string(gap).substr(0, 4) + " %";
  std::printf("%-28s %-6s %6zu %12lld %12lld %12lld %-7s %12lld %9lld %8.3f\n", name.c_str(), aliases,
              result.plan.clocks[0].steps.size(), static_cast<long long>(search.own_load),
              static_cast<long long>(search.load), static_cast<long long>(search.lower_bound), proof.c_str(),
              static_cast<long long>(result.plan.summary.peak), static_cast<long long>(search.states),
              search.seconds);
  std::fflush(stdout);
  for (const Fault& fault : result.faults) std::printf("  FAULT %s\n", fault.what.c_str());
}

void search(const std::string& file, double seconds) {
  const Input input = read_input(file);
  PlanOptions options;
  options.solve.time_limit = std::chrono::duration<double>(seconds);
  for (const Alias alias : {Alias::none, Alias::automatic}) {
    options.alias = alias;
    const char* const name = alias == Alias::none ? "none" : "auto";
    print_row(std::filesystem::path(file).stem(), name, make_plan(input, options));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("%-28s %-6s %6s %12s %12s %12s %-7s %12s %9s %8s\n", "model", "alias", "steps", "own order", "best",
              "bound", "gap", "peak", "states", "seconds");
  double seconds = 10;
  int failures = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--time-limit" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
      continue;
    }
    try {
      search(argv[i], seconds);
    } catch (const std::exception& error) {
      std::printf("%s: %s\n", argv[i], error.what());
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}
