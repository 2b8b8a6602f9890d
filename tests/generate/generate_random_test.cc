// Random networks as C: compiled by three compilers, they give what the interpreter gives, bit for bit, and touch
// nothing but their memory.

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <map>
#include <string>

#include "c_packages.h"
#include "layer_networks.h"
#include "long_tests.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/planner.h"
#include "stream_run_networks.h"
#include "stream_run_plans.h"
#include "temporary.h"

namespace stowage {
namespace {

PlanOptions quick_options() {
  PlanOptions options;
  options.solve.time_limit = std::chrono::milliseconds(30);
  options.alignment = 4;
  return options;
}

/// The ways of planning take turns.
Plan plan_in_turn(const Network& network, std::uint64_t seed) {
  PlanOptions options = quick_options();
  switch (seed % 6) {
    case 0:
      return make_plan(network.input, options).plan;
    case 1:
      options.io = Io::external;
      return make_plan(network.input, options).plan;
    case 2:
      options.stream =
          StreamOptions{.granule = 1 + static_cast<std::int64_t>(seed / 6 % 3), .axes = StreamAxes::natural};
      return make_plan(network.input, options).plan;
    case 3:
      options.stream = StreamOptions{.layout = StreamLayout::ring, .axes = StreamAxes::natural};
      return make_plan(network.input, options).plan;
    case 4:
      options.stream = StreamOptions{.axes = StreamAxes::natural};
      options.io = Io::rows;
      return make_plan(network.input, options).plan;
    default:
      return testing::streamed_plan(network, testing::random_options(seed / 6));
  }
}

/// Generates until so many packages are there; why others were not, by reason.
std::map<std::string, int> add_packages(testing::Packages& packages, std::uint64_t wanted) {
  std::map<std::string, int> refused;
  for (std::uint64_t seed = 0; packages.count() < wanted && seed < 3 * wanted; ++seed) {
    const DType dtype = seed / 6 % 3 == 0 ? DType::float32 : DType::int8;
    const Network network = testing::random_layer_network(seed, dtype);
    const std::string name = "net" + std::to_string(seed);
    try {
      packages.add(name, generate_package(network, plan_in_turn(network, seed),
                                          {.name = name, .cases = 2, .seed = seed}));
    } catch (const Error& error) {
      const std::string what = error.what();
      ++refused[what.substr(what.rfind("): ") == std::string::npos ? 0 : what.rfind("): "))];
    }
  }
  return refused;
}

TEST(GenerateRandom, NetworksGiveWhatTheInterpreterGives) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  const std::uint64_t wanted = testing::has_time() ? 3000 : testing::is_in_a_hurry() ? 30 : 300;
  const auto refused = add_packages(packages, wanted);
  int refusals = 0;
  for (const auto& [reason, count] : refused) {
    std::cout << count << " refused: " << reason << "\n";
    refusals += count;
  }
  EXPECT_EQ(packages.count(), wanted);
  EXPECT_LT(refusals, static_cast<int>(wanted) / 5);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage
