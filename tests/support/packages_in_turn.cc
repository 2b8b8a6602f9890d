#include "packages_in_turn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <utility>

#include "c_packages.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/planner.h"
#include "stream_run_networks.h"
#include "stream_run_plans.h"
#include "temporary.h"

namespace stowage::testing {
namespace {

Plan plan_in_turn(const Network& network, std::uint64_t seed, StreamAxes axes) {
  const bool has_bodies = std::ranges::any_of(network.graph().subgraphs[0].operators,
                                              [](const Operator& op) { return !op.bodies.empty(); });
  if (seed % 5 == 4 && !has_bodies) return streamed_plan(network, random_options(seed / 5));
  PlanOptions options;
  options.solve.effort = 30;  // not time: plans are the same on a busy machine
  options.alignment = 8;
  if (has_bodies && seed % 2 == 0) {
    options.alias = seed % 3 == 0 ? Alias::none : Alias::all;
  } else if (seed % 4 != 0) {
    options.stream = StreamOptions{.granule = seed % 4 == 1 ? 2 : 1,
                                   .layout = seed % 8 < 4 ? StreamLayout::automatic : StreamLayout::ring,
                                   .axes = axes,
                                   .blocks = StreamBlocks::none};
  }
  if (seed % 4 > 1 && options.stream) options.io = Io::rows;
  PlanResult result = make_plan(network.input, options);
  for (const Fault& fault : result.faults) ADD_FAILURE() << seed << ": " << fault.what;
  return std::move(result.plan);
}

}  // namespace

std::ptrdiff_t expect_bits_of_the_interpreter(std::uint64_t wanted,
                                              const std::function<Network(std::uint64_t)>& make,
                                              StreamAxes axes, const std::string& function) {
  const TemporaryDirectory folder;
  Packages packages(folder.path());
  std::map<std::string, int> refused;
  std::ptrdiff_t callers = 0;
  for (std::uint64_t seed = 0; packages.count() < wanted && seed < 3 * wanted; ++seed) {
    const std::string name = "net" + std::to_string(seed);
    try {
      Network network = make(seed);
      run_carriers_whole(network);
      add_scratch_of_kernels(network, CKernels::portable, false, {});
      const Plan plan = plan_in_turn(network, seed, axes);
      const Package package = generate_package(network, plan, {.name = name, .cases = 2, .seed = seed});
      callers += std::ranges::any_of(package.files, [&](const GeneratedFile& file) {
        return file.path == name + ".c" && file.content.find(function) != std::string::npos;
      });
      packages.add(name, package);
    } catch (const Error& error) {
      ++refused[std::regex_replace(
          error.what(), std::regex("operator '[^']*'|, [0-9]+ of subgraph 0| t[0-9]+|has [0-9]+"), "")];
    }
  }
  std::size_t refusals = 0;
  for (const auto& [reason, count] : refused) {
    std::cout << count << " refused: " << reason << "\n";
    refusals += static_cast<std::size_t>(count);
  }
  EXPECT_EQ(packages.count(), wanted);
  EXPECT_LT(5 * refusals, wanted);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
  return callers;
}

}  // namespace stowage::testing
