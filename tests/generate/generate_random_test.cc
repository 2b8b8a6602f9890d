// Random networks as C: compiled by three compilers, they give what the interpreter gives, bit for bit, and touch
// nothing but their memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
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

constexpr std::uint64_t ways = 9;

bool is_convolution(const Operator& op) { return op.type == "CONV_2D" || op.type == "DEPTHWISE_CONV_2D"; }

/// Channels of what goes from convolutions to convolutions.
testing::Axes axes_of_planes(const Network& network) {
  constexpr std::size_t channels = 3;
  const Subgraph& main = network.graph().subgraphs[0];
  testing::Axes axes(network.graph().tensors.size());
  for (const Operator& op : main.operators) {
    const TensorId output = op.outputs.at(0).value();
    const bool is_between =
        is_convolution(op) && std::ranges::all_of(main.operators, [&](const Operator& it) {
          return is_convolution(it) || !std::ranges::count(it.inputs, std::optional(output));
        });
    const bool is_outlet = std::ranges::count(main.outputs, output) > 0;
    if (is_between && !is_outlet && network.graph().tensors[output].shape->at(channels) > 1)
      axes[output] = channels;
  }
  return axes;
}

/// Columns of all images.
testing::Axes axes_of_columns(const Network& network) {
  const Graph& graph = network.graph();
  testing::Axes axes(graph.tensors.size());
  for (TensorId t = 0; t < axes.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (!is_constant(tensor.kind) && tensor.shape->size() == 4 && (*tensor.shape)[2] > 1) axes[t] = 2;
  }
  return axes;
}

/// Whether a row of an operator is in two steps.
bool computes_again(const Plan& plan) {
  std::set<std::pair<std::size_t, std::int64_t>> done;
  for (const Step& step : plan.clocks[0].steps) {
    const auto* const run = std::get_if<Run>(&step);
    if (run == nullptr || !run->rows || run->sums) continue;
    for (std::int64_t row = run->rows->begin; row < run->rows->end; ++row)
      if (!done.emplace(run->path[1], row).second) return true;
  }
  return false;
}

/// The ways of planning take turns.
Plan plan_in_turn(const Network& network, std::uint64_t seed) {
  PlanOptions options = quick_options();
  const std::uint64_t turn = seed / ways;
  switch (seed % ways) {
    case 0:
      return make_plan(network.input, options).plan;
    case 1:
      options.io = Io::external;
      return make_plan(network.input, options).plan;
    case 2:
      options.stream = StreamOptions{.granule = 1 + static_cast<std::int64_t>(turn % 3),
                                     .axes = StreamAxes::natural,
                                     .blocks = StreamBlocks::none};
      return make_plan(network.input, options).plan;
    case 3:
      options.stream = StreamOptions{.layout = StreamLayout::ring,
                                     .axes = turn % 2 == 0 ? StreamAxes::natural : StreamAxes::searched,
                                     .blocks = StreamBlocks::none};
      options.solve.time_limit = std::chrono::milliseconds(100);  // for axes, and on busy machines
      if (turn / 2 % 2 == 0) options.io = Io::rows;
      return make_plan(network.input, options).plan;
    case 4:
      options.stream = StreamOptions{.axes = turn % 2 == 0 ? StreamAxes::natural : StreamAxes::searched,
                                     .blocks = StreamBlocks::none};
      options.io = Io::rows;
      return make_plan(network.input, options).plan;
    case 5:
      options.stream = StreamOptions{.granule = 1 + static_cast<std::int64_t>(turn % 2),
                                     .recompute = 2,
                                     .layout = turn % 3 == 0 ? StreamLayout::ring : StreamLayout::automatic,
                                     .axes = StreamAxes::natural,
                                     .blocks = StreamBlocks::none};
      options.io = turn / 2 % 2 == 0 ? Io::rows : Io::arena;
      options.solve.time_limit = std::chrono::milliseconds(100);
      return make_plan(network.input, options).plan;
    case 6:
      return testing::streamed_plan(network,
                                    {.granule = turn % 4 == 0 ? 2 : 1,
                                     .form = turn % 2 == 0 ? testing::Form::rows : testing::Form::any,
                                     .io_by_rows = turn % 3 == 0,
                                     .again = true,
                                     .seed = seed});
    case 7:
      return testing::streamed_plan(network,
                                    turn % 3 == 0 ? axes_of_columns(network) : axes_of_planes(network),
                                    {.granule = turn % 4 == 1 ? 2 : 1, .seed = seed});
    default:
      return testing::streamed_plan(network, testing::random_options(turn));
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
  std::size_t dilations = 0;
  std::size_t odd_channels = 0;
};

bool has_dilation(const Network& network) {
  return std::ranges::any_of(network.details[0], [](const OperatorDetails& it) {
    return it.attributes.integer("dilation_h_factor", 1) > 1;
  });
}

bool has_odd_channels(const Network& network) {
  return std::ranges::any_of(network.graph().tensors, [](const Tensor& it) {
    return it.kind == TensorKind::temporary && it.shape && it.shape->size() == 4 && it.shape->back() > 1 &&
           it.shape->back() % 2 == 1;
  });
}

/// Generates until so many packages are there; why others were not, by reason.
std::map<std::string, int> add_packages(testing::Packages& packages, std::uint64_t wanted, Kinds& kinds,
                                        DType (*dtype_of)(std::uint64_t seed)) {
  std::map<std::string, int> refused;
  for (std::uint64_t seed = 0; packages.count() < wanted && seed < 3 * wanted; ++seed) {
    const Network network = testing::random_layer_network(seed, dtype_of(seed));
    const std::string name = "net" + std::to_string(seed);
    try {
      const Plan plan = plan_in_turn(network, seed);
      const Package package = generate_package(network, plan, {.name = name, .cases = 2, .seed = seed});
      packages.add(name, package);
      kinds.recompute += computes_again(plan) ? 1 : 0;
      kinds.columns += mentions(package, "_columns_f32(") || mentions(package, ", turned */") ? 1 : 0;
      kinds.planes += mentions(package, "_plane") ? 1 : 0;
      kinds.stopping_loops += mentions(package, "state->stop") ? 1 : 0;
      kinds.dilations += has_dilation(network) ? 1 : 0;
      kinds.odd_channels += has_odd_channels(network) ? 1 : 0;
    } catch (const Error& error) {
      const std::string what = error.what();
      ++refused[what.substr(what.find("): ") == std::string::npos ? 0 : what.find("): "))];
    }
  }
  return refused;
}

/// Few are refused, and what is generated gives what the interpreter gives.
void expect_right(const testing::Packages& packages, const std::map<std::string, int>& refused,
                  std::uint64_t wanted) {
  int refusals = 0;
  for (const auto& [reason, count] : refused) {
    std::cout << count << " refused: " << reason << "\n";
    refusals += count;
  }
  EXPECT_EQ(packages.count(), wanted);
  EXPECT_LT(refusals, static_cast<int>(wanted) / 5);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

TEST(GenerateRandom, NetworksGiveWhatTheInterpreterGives) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  const std::uint64_t wanted = testing::has_time() ? 3000 : testing::is_in_a_hurry() ? 30 : 150;
  Kinds kinds;
  const auto refused = add_packages(packages, wanted, kinds, [](std::uint64_t seed) {
    const bool is_real = seed / ways % 3 == 0 && seed % ways != 7;
    return is_real ? DType::float32 : DType::int8;
  });
  std::cout << "of " << packages.count() << ": " << kinds.recompute << " compute rows again, "
            << kinds.columns << " have columns, " << kinds.planes << " planes, " << kinds.stopping_loops
            << " loops that stop, " << kinds.dilations << " dilations, " << kinds.odd_channels
            << " odd channels\n";
  if (!testing::is_in_a_hurry()) {
    EXPECT_GE(kinds.recompute, 10U);
    EXPECT_GE(kinds.columns, 2U);
    EXPECT_GE(kinds.planes, 2U);
    EXPECT_GE(kinds.stopping_loops, 10U);
    EXPECT_GE(kinds.dilations, 7U);
    EXPECT_GE(kinds.odd_channels, 50U);
  }
  expect_right(packages, refused, wanted);
}

TEST(GenerateRandom, NetworksOfUint8AndInt16GiveWhatTheInterpreterGives) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  const std::uint64_t wanted = testing::has_time() ? 1000 : testing::is_in_a_hurry() ? 12 : 40;
  Kinds kinds;
  const auto refused = add_packages(packages, wanted, kinds, [](std::uint64_t seed) {
    return seed / ways % 2 == 0 ? DType::uint8 : DType::int16;
  });
  expect_right(packages, refused, wanted);
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
  std::size_t joined = 0;
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
      joined += mentions(package, "[part]") ? 1 : 0;
      gathered += mentions(package, "_window_of_blocks(") ? 1 : 0;
    } catch (const Error& error) {
      ++refused[error.what()];
    }
  }
  std::cout << "of " << packages.count() << ": " << gathered << " read all blocks together, "
            << refused.size() << " ways refused\n";
  EXPECT_EQ(packages.count(), wanted);
  EXPECT_GT(gathered, 0U);
  EXPECT_EQ(joined, packages.count());
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
