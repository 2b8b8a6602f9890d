// Random networks as C: compiled by three compilers, they give what the interpreter gives, bit for bit, and touch
// nothing but their memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <variant>

#include "block_plans.h"
#include "c_packages.h"
#include "layer_networks.h"
#include "long_tests.h"
#include "model/blocks.h"
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
  switch (seed % 7) {
    case 0:
      return make_plan(network.input, options).plan;
    case 1:
      options.io = Io::external;
      return make_plan(network.input, options).plan;
    case 2:
      options.stream = StreamOptions{.granule = 1 + static_cast<std::int64_t>(seed / 7 % 3),
                                     .axes = StreamAxes::natural,
                                     .blocks = StreamBlocks::none};
      return make_plan(network.input, options).plan;
    case 3:
      options.stream = StreamOptions{.layout = StreamLayout::ring,
                                     .axes = seed / 7 % 2 == 0 ? StreamAxes::natural : StreamAxes::searched,
                                     .blocks = StreamBlocks::none};
      options.solve.time_limit = std::chrono::milliseconds(100);  // for axes, and on busy machines
      if (seed / 14 % 2 == 0) options.io = Io::rows;
      return make_plan(network.input, options).plan;
    case 4:
      options.stream = StreamOptions{.axes = seed / 7 % 2 == 0 ? StreamAxes::natural : StreamAxes::searched,
                                     .blocks = StreamBlocks::none};
      options.io = Io::rows;
      return make_plan(network.input, options).plan;
    case 5:
      options.stream =
          StreamOptions{.granule = 1 + static_cast<std::int64_t>(seed / 7 % 2),
                        .recompute = 2,
                        .layout = seed / 7 % 3 == 0 ? StreamLayout::ring : StreamLayout::automatic,
                        .axes = StreamAxes::natural,
                        .blocks = StreamBlocks::none};
      options.io = seed / 14 % 2 == 0 ? Io::rows : Io::arena;
      options.solve.time_limit = std::chrono::milliseconds(100);
      return make_plan(network.input, options).plan;
    default:
      return testing::streamed_plan(network, testing::random_options(seed / 7));
  }
}

/// Whether the program of a package has that word.
bool mentions(const Package& package, const std::string& word) {
  return std::ranges::any_of(package.files, [&](const GeneratedFile& file) {
    return !file.path.starts_with("stowage_") && file.content.find(word) != std::string::npos;
  });
}

/// Packages with what not every plan has.
struct Kinds {
  std::size_t recompute = 0;
  std::size_t columns = 0;
  std::size_t planes = 0;
  std::size_t stopping_loops = 0;
};

/// Generates until so many packages are there; why others were not, by reason.
std::map<std::string, int> add_packages(testing::Packages& packages, std::uint64_t wanted, Kinds& kinds) {
  std::map<std::string, int> refused;
  for (std::uint64_t seed = 0; packages.count() < wanted && seed < 3 * wanted; ++seed) {
    const DType dtype = seed / 7 % 3 == 0 ? DType::float32 : DType::int8;
    const Network network = testing::random_layer_network(seed, dtype);
    const std::string name = "net" + std::to_string(seed);
    try {
      const Plan plan = plan_in_turn(network, seed);
      const Package package = generate_package(network, plan, {.name = name, .cases = 2, .seed = seed});
      packages.add(name, package);
      kinds.recompute += mentions(package, "_again(memory") ? 1 : 0;
      kinds.columns += mentions(package, "_columns_f32(") || mentions(package, ", turned */") ? 1 : 0;
      kinds.planes += mentions(package, "_plane") ? 1 : 0;
      kinds.stopping_loops += mentions(package, "state->stop") ? 1 : 0;
    } catch (const Error& error) {
      const std::string what = error.what();
      ++refused[what.substr(what.find("): ") == std::string::npos ? 0 : what.find("): "))];
    }
  }
  return refused;
}

TEST(GenerateRandom, NetworksGiveWhatTheInterpreterGives) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  const std::uint64_t wanted = testing::has_time() ? 3000 : testing::is_in_a_hurry() ? 30 : 300;
  Kinds kinds;
  const auto refused = add_packages(packages, wanted, kinds);
  std::cout << "of " << packages.count() << ": " << kinds.recompute << " compute rows again, "
            << kinds.columns << " have columns, " << kinds.planes << " planes, " << kinds.stopping_loops
            << " loops that stop\n";
  if (!testing::is_in_a_hurry()) {
    EXPECT_GT(kinds.columns, 0U);
    EXPECT_GT(kinds.stopping_loops, 0U);
  }
  int refusals = 0;
  for (const auto& [reason, count] : refused) {
    std::cout << count << " refused: " << reason << "\n";
    refusals += count;
  }
  EXPECT_EQ(packages.count(), wanted);
  EXPECT_LT(refusals, static_cast<int>(wanted) / 5);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// Blocks of channels, as many in all operators that have them: most that can be split are.
model::Splits random_splits(const Graph& graph, std::uint64_t seed) {
  constexpr std::size_t channels = 3;
  const auto count = static_cast<std::int64_t>(2 + seed % 3);
  const auto& outputs = graph.subgraphs[0].outputs;
  model::Splits splits;
  for (std::size_t o = 0; o < graph.subgraphs[0].operators.size(); ++o) {
    const Operator& op = graph.subgraphs[0].operators[o];
    const TensorId output = op.outputs.at(0).value();
    const Shape& shape = *graph.tensors[output].shape;
    const RowAxis* const along = row_axis(op, channels);
    const bool is_outlet = std::ranges::find(outputs, output) != outputs.end();
    if (along == nullptr || !along->splits || is_outlet || shape[channels] % count != 0) continue;
    if ((seed / 3 + o) % 5 == 0) continue;
    model::Blocks& blocks = splits[o] = {.axis = channels};
    for (std::int64_t b = 0; b <= count; ++b) blocks.bounds.push_back(shape[channels] / count * b);
  }
  return splits;
}

TEST(GenerateRandom, BlocksOfChannels) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  const std::uint64_t wanted = testing::has_time() ? 600 : testing::is_in_a_hurry() ? 10 : 30;
  std::map<std::string, int> refused;
  std::size_t gathered = 0;
  for (std::uint64_t seed = 0; packages.count() < wanted && seed < 30 * wanted; ++seed) {
    const Network network = testing::random_layer_network(seed, seed % 4 == 0 ? DType::float32 : DType::int8);
    const model::Splits splits = random_splits(network.graph(), seed);
    if (splits.empty()) continue;
    const std::string name = "net" + std::to_string(seed);
    try {
      const model::SplitNetwork split = model::split(network.graph(), splits);
      const Plan plan = testing::plan_of_blocks(split, testing::random_options(seed));
      const Package package = generate_package(network, plan, {.name = name, .cases = 2, .seed = seed});
      packages.add(name, package);
      EXPECT_TRUE(mentions(package, "[part]")) << name;
      gathered += mentions(package, "_window_of_blocks(") ? 1 : 0;
    } catch (const Error& error) {
      ++refused[error.what()];
    }
  }
  std::cout << "of " << packages.count() << ": " << gathered << " read all blocks together, "
            << refused.size() << " ways refused\n";
  EXPECT_EQ(packages.count(), wanted);
  EXPECT_GT(gathered, 0U);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// A plan in a near memory that is too small for all, and a far one.
Plan plan_in_two(const Network& network, std::int64_t tenths) {
  PlanOptions options = quick_options();
  const Bytes peak = make_plan(network.input, options).plan.summary.peak;
  options.memories = {{.name = "near", .capacity = peak * tenths / 10, .alignment = 4, .cost = 1},
                      {.name = "far", .alignment = 4, .cost = 20}};
  options.moves = Moves::allowed;
  return make_plan(network.input, options).plan;
}

TEST(GenerateRandom, TensorsMoveBetweenMemories) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  std::size_t moving = 0;
  for (std::uint64_t seed = 0; seed < 150 && moving < 4; ++seed) {
    for (const std::int64_t tenths : {3, 7}) {
      const Network network = testing::random_layer_network(seed, DType::int8);
      const Plan plan = plan_in_two(network, tenths);
      const bool moves = std::ranges::any_of(
          plan.clocks[0].steps, [](const Step& step) { return std::holds_alternative<Copy>(step); });
      if (!moves) continue;
      const std::string name = "net" + std::to_string(seed) + "_" + std::to_string(tenths);
      const Package package = generate_package(network, plan, {.name = name, .cases = 2});
      EXPECT_TRUE(mentions(package, "to another memory. */"));
      packages.add(name, package);
      ++moving;
    }
  }
  EXPECT_GT(moving, 0U);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage
