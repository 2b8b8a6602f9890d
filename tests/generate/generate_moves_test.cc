// Plans that move rows between memories, as C: what is generated gives what the interpreter gives, bit for bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "c_packages.h"
#include "image_networks.h"
#include "layer_networks.h"
#include "long_tests.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/planner.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::ImageMaker;
using testing::pick;
using testing::Random;

PlanOptions by_rows(Io io) {
  PlanOptions options;
  options.io = io;
  options.alignment = 4;
  options.stream.emplace();
  options.stream->axes = StreamAxes::natural;
  options.stream->blocks = StreamBlocks::none;
  options.solve.effort = 200;
  return options;
}

/// In a near memory of some tenths of the bytes that a plan of one memory needs, and a far one.
PlanOptions in_two_memories(const Network& network, PlanOptions options, std::int64_t tenths) {
  const Bytes peak = make_plan(network.input, options).plan.summary.peak;
  options.stream->layout = StreamLayout::granules;
  options.memories = {{.name = "SRAM", .capacity = std::max<Bytes>(4, peak * tenths / 10)},
                      {.name = "PSRAM", .cost = 10}};
  options.moves = Moves::allowed;
  return options;
}

std::int64_t copies_in(const Plan& plan, bool of_constants = false) {
  return std::ranges::count_if(plan.clocks[0].steps, [&](const Step& step) {
    const auto* const copy = std::get_if<Copy>(&step);
    return copy != nullptr && is_constant(plan.tensors[copy->tensor].tensor.kind) == of_constants;
  });
}

/// Counts packages, and what is refused.
class Attempts {
 public:
  void add(const Network& network, const Plan& plan) {
    const std::string name = "net" + std::to_string(packages_.count());
    try {
      const Package package = generate_package(network, plan, {.name = name, .cases = 2});
      packages_.add(name, package);
      for (const GeneratedFile& file : package.files)
        if (file.path == name + ".c") programs_.push_back(file.content);
    } catch (const Error& error) {
      ++refused_[error.what()];
    }
  }

  [[nodiscard]] std::size_t count() const { return packages_.count(); }
  [[nodiscard]] std::size_t refused() const { return refused_.size(); }

  /// Programs that have this text.
  [[nodiscard]] std::int64_t count_of(std::string_view text) const {
    return std::ranges::count_if(programs_, [&](const std::string& it) { return it.find(text) != it.npos; });
  }

  void expect_right() const {
    for (const std::string& fault : packages_.run()) ADD_FAILURE() << fault;
    for (const auto& [what, times] : refused_) std::cout << times << " times: " << what << "\n";
  }

 private:
  testing::TemporaryDirectory folder_{};
  testing::Packages packages_{folder_.path()};
  std::map<std::string, int> refused_{};
  std::vector<std::string> programs_{};
};

TEST(GenerateMoves, RowsOfLayers) {
  const std::size_t wanted = testing::has_time() ? 200 : 5;
  Attempts attempts;
  for (std::uint64_t seed = 0; attempts.count() < wanted && seed < 30 * wanted; ++seed) {
    const Network network = testing::random_layer_network(seed, seed % 4 == 0 ? DType::float32 : DType::int8);
    PlanOptions options = by_rows(seed % 3 == 0 ? Io::arena : Io::rows);
    options.stream->granule = 1 + static_cast<std::int64_t>(seed / 3 % 2);
    const Plan plan =
        make_plan(network.input, in_two_memories(network, options, 3 + static_cast<std::int64_t>(seed % 5)))
            .plan;
    if (is_streamed(plan) && copies_in(plan) > 0) attempts.add(network, plan);
  }
  EXPECT_EQ(attempts.count(), wanted);
  attempts.expect_right();
}

TEST(GenerateMoves, RowsOfImages) {
  const std::size_t wanted = testing::has_time() ? 200 : 5;
  Random random(11);
  Attempts attempts;
  for (std::size_t i = 0; attempts.count() < wanted && i < 30 * wanted; ++i) {
    const Network network = testing::random_images(random);
    PlanOptions options = by_rows(pick(random, 0, 2) == 0 ? Io::arena : Io::rows);
    options.stream->granule = pick(random, 1, 2);
    options.stream->recompute = pick(random, 0, 1) == 0 ? 1.5 : 1;
    PlanOptions two = in_two_memories(network, options, pick(random, 3, 8));
    if (pick(random, 0, 3) == 0) two.memories.push_back({.name = "DRAM", .cost = 30});
    const Plan plan = make_plan(network.input, two).plan;
    if (is_streamed(plan) && copies_in(plan) > 0) attempts.add(network, plan);
  }
  EXPECT_EQ(attempts.count(), wanted);
  attempts.expect_right();
}

TEST(GenerateMoves, StagedWeights) {
  Random random(5);
  Attempts attempts;
  std::int64_t rows = 0;
  std::int64_t weights = 0;
  for (int i = 0; i < 6; ++i) {
    const Network network = testing::narrowing_images(random);
    PlanOptions options = by_rows(i % 3 == 0 ? Io::arena : Io::rows);
    options.solve.effort = 1000;
    options.memories = {{.name = "SRAM", .capacity = pick(random, 800, 4000)},
                        {.name = "PSRAM", .cost = 10},
                        {.name = "FLASH", .cost = 7, .role = MemoryRole::weights}};
    options.moves = Moves::allowed;
    const Plan plan = make_plan(network.input, options).plan;
    rows += copies_in(plan);
    weights += copies_in(plan, true);
    attempts.add(network, plan);
  }
  EXPECT_GT(attempts.count_of("stowage_stage(memory"), 0);
  EXPECT_GT(rows, 0);
  EXPECT_GT(weights, 0);
  EXPECT_EQ(attempts.refused(), 0U);
  attempts.expect_right();
}

/// Windows, rows that wait, and a state that is added at the end.
Network with_state(Random& random) {
  const Shape image{1, 2, 24, 8};
  ImageMaker images(random);
  const TensorId input = images.add_tensor(TensorKind::input, image);
  const TensorId first = images.apply("Relu", {input}, image);
  TensorId x = first;
  for (int i = 0; i < 6; ++i)
    x = images.apply("Conv", {x, images.weight({2, 2, 3, 1})}, image,
                     {{"pads", std::vector<std::int64_t>{1, 0, 1, 0}}});
  x = images.apply("Add", {x, first}, image);
  const TensorId old_state = images.add_tensor(TensorKind::input, image);
  const TensorId sum = images.apply("Add", {x, old_state}, image);
  const TensorId new_state = images.apply("Relu", {sum}, image);
  static_cast<void>(images.apply("Tanh", {x}, image));
  Network network = images.take(0);
  auto& graph = std::get<Graph>(network.input.content);
  graph.ties.push_back({.output = new_state, .input = old_state});
  validate(graph);
  return network;
}

TEST(GenerateMoves, BesideState) {
  Random random(6);
  Attempts attempts;
  const Network network = with_state(random);
  for (const std::int64_t tenths : {3, 5, 7}) {
    PlanOptions options = in_two_memories(network, by_rows(Io::rows), tenths);
    options.solve.effort = 1000;
    const Plan plan = make_plan(network.input, options).plan;
    if (is_streamed(plan) && copies_in(plan) > 0) attempts.add(network, plan);
  }
  EXPECT_GT(attempts.count(), 0U);
  EXPECT_EQ(attempts.count_of("stowage_move_rows(memory"), static_cast<std::int64_t>(attempts.count()));
  attempts.expect_right();
}

/// A chain of convolutions and a sum of its begin and its end: rows wait long.
Network with_a_skip(Random& random, const std::string& name) {
  const Shape image{1, 2, 24, 8};
  ImageMaker images(random);
  const TensorId first = images.apply("Relu", {images.add_tensor(TensorKind::input, image)}, image);
  TensorId x = first;
  for (int i = 0; i < 6; ++i)
    x = images.apply("Conv", {x, images.weight({2, 2, 3, 1})}, image,
                     {{"pads", std::vector<std::int64_t>{1, 0, 1, 0}}});
  x = images.apply("Add", {x, first}, image);
  static_cast<void>(images.apply("Add", {x, first}, image));
  Network network = images.take(0);
  network.input.info.name = name;
  return network;
}

TEST(GenerateMoves, RowsOfModelsInTurn) {
  Random random(8);
  const std::vector<Network> networks{with_a_skip(random, "a"), with_a_skip(random, "b")};
  PlanOptions options = by_rows(Io::rows);
  options.stream->layout = StreamLayout::granules;
  options.solve.effort = 1000;
  options.memories = {{.name = "SRAM", .capacity = 420}, {.name = "PSRAM", .cost = 10}};
  options.moves = Moves::allowed;
  const Plan plan = make_plan(std::vector{networks[0].input, networks[1].input}, options).plan;
  EXPECT_GT(copies_in(plan), 0);
  const Package package = generate_package(networks, plan, {.name = "two", .cases = 2});
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  for (const Network& network : networks) packages.add("two_" + network.input.info.name, package);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage
