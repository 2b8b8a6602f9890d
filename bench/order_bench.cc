// order_bench [--time-limit SECONDS=10] MODEL...: for each network, without and with sharing, the load of its
// own order, that of the best found, the bound, the gap between the two, sets looked at and seconds.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <variant>

#include "plan/context.h"
#include "plan/ordering.h"
#include "stowage/planner.h"

namespace {

using namespace stowage;

void print_row(const std::string& name, const char* sharing, const plan::Ordering& ordering) {
  const OrderSearch& search = ordering.search;
  const double gap =
      100.0 * (static_cast<double>(search.load) / static_cast<double>(search.lower_bound) - 1.0);
  const std::string proof =
      search.load == search.lower_bound ? "proven" : std::to_string(gap).substr(0, 4) + " %";
  std::printf("%-26s %-5s %5zu %10lld %10lld %10lld %-7s %8lld %8.3f\n", name.c_str(), sharing,
              ordering.choices.front()->clock.steps.size(), static_cast<long long>(search.own_load),
              static_cast<long long>(search.load), static_cast<long long>(search.lower_bound), proof.c_str(),
              static_cast<long long>(search.states), search.seconds);
  std::fflush(stdout);
}

void search(const std::string& file, double seconds) {
  const Input input = read_input(file);
  for (const Alias alias : {Alias::none, Alias::all}) {
    PlanOptions options;
    options.alias = alias;
    const plan::NetworkFacts network(input, 0, options);
    const plan::Ordering ordering =
        plan::ordering_of(network, base::Deadline(base::Deadline::Seconds(seconds)));
    print_row(std::filesystem::path(file).stem(), alias == Alias::none ? "none" : "all", ordering);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("%-26s %-5s %5s %10s %10s %10s %-7s %8s %8s\n", "model", "alias", "steps", "own", "best",
              "bound", "gap", "states", "seconds");
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
