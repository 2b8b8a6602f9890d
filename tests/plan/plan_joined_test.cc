// Networks that become one (--join): rows flow from one to the next, each gives what it gives alone, and so does C.

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "c_packages.h"
#include "image_networks.h"
#include "long_tests.h"
#include "rows_of_models.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/join.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::by_rows;
using testing::convolutions;
using testing::name_of_input;
using testing::name_of_output;
using testing::pick;
using testing::Random;
using testing::runs_by_rows;

const Tensor& only_input(const Network& network) {
  return network.graph().tensors[network.graph().subgraphs[0].inputs[0]];
}

TEST(PlanJoined, WhatIsPassedIsAWindow) {
  const std::vector<Network> two{convolutions("a", 32, 4), convolutions("b", 24, 3)};
  const std::vector<FeedNames> join{{name_of_output(two[0]), name_of_input(two[1])}};
  PlanOptions options = by_rows(Io::rows);
  options.solve.effort = 1000;
  const Plan joined = testing::planned(join_networks(two, join), options).plan;
  options.feeds = join;
  options.released = {join[0].output};
  const Plan fed = testing::planned(two, options).plan;
  EXPECT_TRUE(runs_by_rows(joined, 0));
  EXPECT_LT(2 * joined.summary.peak, fed.summary.peak);
  testing::expect_runs(join_networks(two, join), joined);
}

/// Random elements of an input of real numbers.
Array elements_for(const Tensor& tensor, Random& random) {
  Array array{tensor.dtype, *tensor.shape, std::vector<std::byte>(static_cast<std::size_t>(tensor.bytes))};
  for (std::size_t i = 0; i < array.data.size(); i += sizeof(float)) {
    const float number = static_cast<float>(pick(random, -64, 64)) / 32;
    std::memcpy(array.data.data() + i, &number, sizeof(float));
  }
  return array;
}

std::map<std::string, Array> outputs_of(const Network& network, const Plan& plan, const Array& x) {
  const RunOptions options{
      .kernels = KernelSet::plain, .check = RunCheck::tensors, .inputs = {{only_input(network).name, x}}};
  const RunResult run = run_plan(network, plan, options);
  EXPECT_FALSE(run.fault) << run.fault->what;
  std::map<std::string, Array> outputs;
  for (const NamedArray& it : run.outputs) outputs[it.name] = it.array;
  return outputs;
}

/// Each network by whole operators after the one that it reads: the outputs of all, as they are called when joined.
std::map<std::string, Array> outputs_in_turn(const std::vector<Network>& chain, Array x) {
  std::map<std::string, Array> all;
  for (const Network& network : chain) {
    const auto outputs = outputs_of(network, make_plan(network.input).plan, x);
    const Graph& graph = network.graph();
    for (const auto& [name, array] : outputs) all[network.input.info.name + "." + name] = array;
    x = outputs.at(graph.tensors[graph.subgraphs[0].outputs[0]].name);
  }
  return all;
}

struct Chain {
  std::vector<Network> networks{};
  std::vector<FeedNames> joins{};
};

/// Two or three networks of images, of which each reads the one before.
Chain random_chain(Random& random) {
  constexpr std::size_t rank_of_images = 4;
  Chain chain;
  const std::int64_t count = pick(random, 2, 3);
  while (std::ssize(chain.networks) < count) {
    Shape shape;
    if (!chain.networks.empty()) {
      const Graph& before = chain.networks.back().graph();
      shape = *before.tensors[before.subgraphs[0].outputs[0]].shape;
      if (shape.size() != rank_of_images) break;
    }
    chain.networks.push_back(testing::random_images(random, shape));
    chain.networks.back().input.info.name =
        std::string(1, static_cast<char>('a' + chain.networks.size() - 1));
  }
  for (std::size_t m = 1; m < chain.networks.size(); ++m)
    chain.joins.push_back({name_of_output(chain.networks[m - 1]), name_of_input(chain.networks[m])});
  return chain;
}

PlanOptions random_options(Random& random) {
  PlanOptions options = by_rows(static_cast<Io>(pick(random, 0, 2)));
  if (pick(random, 0, 3) == 0) options.stream->recompute = 2;
  if (pick(random, 0, 3) == 0) options.alias = static_cast<Alias>(pick(random, 0, 2));
  if (pick(random, 0, 3) == 0) options.stream->granule = pick(random, 1, 3);
  if (pick(random, 0, 3) == 0) {
    options.memories = {{.name = "SRAM", .capacity = 256}, {.name = "PSRAM", .cost = 10}};
    if (pick(random, 0, 1) == 0) options.moves = Moves::allowed;
  }
  return options;
}

TEST(PlanJoined, OfManyNetworksAreRightAndRun) {
  Random random(29);
  std::uint64_t chains = 0;
  std::uint64_t rows = 0;
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 2000 : 40);
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Chain chain = random_chain(random);
    const PlanOptions options = random_options(random);
    if (chain.networks.size() < 2) continue;
    ++chains;
    const std::vector<Network> joined = join_networks(chain.networks, chain.joins);
    ASSERT_EQ(joined.size(), 1);
    const PlanResult result = testing::planned(joined, options);
    ASSERT_TRUE(result.faults.empty()) << i;
    const Array x = elements_for(only_input(joined[0]), random);
    const auto expected = outputs_in_turn(chain.networks, x);
    for (const auto& [name, array] : outputs_of(joined[0], make_plan(joined[0].input).plan, x))
      EXPECT_EQ(array, expected.at(name)) << i << ", " << name;
    if (!is_streamed(result.plan)) continue;
    ++rows;
    outputs_of(joined[0], result.plan, x);  // compares all tensors
    ASSERT_FALSE(::testing::Test::HasFailure()) << i;
  }
  EXPECT_GT(chains, cases / 2);
  EXPECT_GT(rows, cases / 3);
}

TEST(PlanJoined, CGivesTheSame) {
  if (testing::is_in_a_hurry()) GTEST_SKIP() << "sanitizers see nothing of generated C";
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  Random random(31);
  const std::size_t most = testing::has_time() ? 60 : 6;
  while (packages.count() < most) {
    const Chain chain = random_chain(random);
    if (chain.networks.size() < 2) continue;
    const Network joined = join_networks(chain.networks, chain.joins).at(0);
    PlanOptions options = by_rows(static_cast<Io>(pick(random, 0, 2)));
    options.alignment = 16;
    const Plan plan = make_plan(joined.input, options).plan;
    if (!is_streamed(plan)) continue;
    const std::string name = "joined" + std::to_string(packages.count());
    try {
      packages.add(name, generate_package(joined, plan, {.name = name, .cases = 2}));
    } catch (const Error& error) {  // rows along some axes have no C
      EXPECT_NE(std::string(error.what()).find("no C is generated"), std::string::npos) << error.what();
    }
  }
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

// Real models behind a network that makes their image of a larger frame.

/// Pools a frame of int8 by 2 x 2, and gives it as the reader wants it: dequantized, or channel by channel.
Network frame_for(const Network& reader) {
  const TensorId input = reader.graph().subgraphs[0].inputs[0];
  const Tensor& wanted = reader.graph().tensors[input];
  const Shape& shape = *wanted.shape;
  const bool is_planar = shape[1] < shape[2];
  const std::size_t rows_at = is_planar ? 2 : 1;
  const auto rows = static_cast<std::int32_t>(shape[rows_at]);
  const auto columns = static_cast<std::int32_t>(shape[rows_at + 1]);
  const auto channels = static_cast<std::int32_t>(shape[is_planar ? 1 : 3]);
  const std::optional<Quantization>& given = reader.quantizations[input];
  const Quantization scale = given ? *given : Quantization{{1.0F / 128}, {0}};
  const auto image = [&](const std::string& name, std::vector<std::int32_t> extents) {
    return testing::TfliteTensor{.name = name,
                                 .shape = std::move(extents),
                                 .dtype = DType::int8,
                                 .scale = scale.scales,
                                 .zero_point = scale.zero_points};
  };
  testing::TfliteSubgraph graph;
  graph.tensors = {image("frame", {1, 2 * rows, 2 * columns, channels}),
                   image("small", {1, rows, columns, channels})};
  // Padding VALID, strides, filter, no activation.
  graph.operators = {
      {.type = "AVERAGE_POOL_2D", .inputs = {0}, .outputs = {1}, .numbers = {1, 2, 2, 2, 2, 0}}};
  graph.inputs = {0};
  graph.outputs = {1};
  if (wanted.dtype == DType::float32) {
    graph.tensors.push_back({.name = "image", .shape = {1, rows, columns, channels}});
    graph.operators.push_back({.type = "DEQUANTIZE", .inputs = {1}, .outputs = {2}});
    graph.outputs = {2};
  } else if (is_planar) {
    const std::int32_t order[] = {0, 3, 1, 2};
    graph.tensors.push_back({.name = "order",
                             .shape = {4},
                             .dtype = DType::int32,
                             .data = std::string(reinterpret_cast<const char*>(order), sizeof(order))});
    graph.tensors.push_back(image("image", {1, channels, rows, columns}));
    graph.operators.push_back({.type = "TRANSPOSE", .inputs = {1, 2}, .outputs = {3}});
    graph.outputs = {3};
  }
  Network network = parse_network(testing::tflite_model({.subgraphs = {graph}}), "frame.tflite");
  network.input.info.name = "frame";
  return network;
}

/// By rows with --io rows, the reader's image is a window, and together they need no more than `most`.
void expect_window(const std::string& name, Bytes most, std::chrono::milliseconds limit) {
  const std::filesystem::path file =
      std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite" / (name + ".tflite");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  std::vector<Network> two(2);
  two[1] = read_network(file);
  two[1].input.info.name = "reader";
  two[0] = frame_for(two[1]);
  const std::vector<FeedNames> join{{name_of_output(two[0]), name_of_input(two[1])}};
  PlanOptions options;
  options.io = Io::rows;
  options.stream.emplace();
  options.solve.time_limit = testing::time_of(limit);
  const std::vector<Network> joined = join_networks(two, join);
  const Plan plan = testing::planned(joined, options).plan;
  EXPECT_LE(plan.summary.peak, most) << name;
  const RunResult run = run_plan(joined, plan, {.check = RunCheck::tensors, .seed = 5});
  EXPECT_FALSE(run.fault) << run.fault->what;
  if (!testing::has_time()) return;
  const Plan alone = testing::planned({two[1]}, options).plan;
  options.feeds = join;
  options.released = {join[0].output};
  const Plan fed = testing::planned(two, options).plan;
  EXPECT_LT(2 * plan.summary.peak, fed.summary.peak + alone.summary.peak);
  std::cout << name << ": fed " << fed.summary.peak << ", joined " << plan.summary.peak << ", alone by rows "
            << alone.summary.peak << "\n";
}

TEST(PlanJoined, RealModelsReadTheirImageRowByRow) {
  expect_window("vww_96_int8", 11500, std::chrono::seconds(3));
  if (testing::is_in_a_hurry()) return;
  expect_window("mcunet_vww", 14000, std::chrono::seconds(3));
  if (testing::has_time()) expect_window("mobilenet_v2_int8_224", 88832, std::chrono::seconds(100));
}

}  // namespace
}  // namespace stowage
