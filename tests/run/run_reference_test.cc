// What numbers of a streamed run may differ by from those of an unstreamed one: by the size of what was summed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "run/reference.h"
#include "run_sketch.h"
#include "stowage/run.h"
#include "stream_run_plans.h"

namespace stowage {
namespace {

std::vector<std::byte> bytes_of_floats(const std::vector<float>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(float));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// x [1,2,64,16] -> GlobalAveragePool -> p -> Sub its channels -> y: both channels of `x` have the same numbers in
/// other orders, so nothing but rounding errors remains in y.
struct Cancelling {
  Cancelling() {
    const auto add = [&](const std::string& name, TensorKind kind, const Shape& shape) {
      graph.tensors.push_back({.name = name,
                               .kind = kind,
                               .dtype = DType::float32,
                               .shape = shape,
                               .bytes = bytes_of(DType::float32, shape)});
      return graph.tensors.size() - 1;
    };
    const TensorId x = add("x", TensorKind::input, {1, 2, 64, 16});
    const TensorId w = add("w", TensorKind::weight, {2, 2, 1, 1});
    const TensorId p = add("p", TensorKind::temporary, {1, 2, 1, 1});
    y = add("y", TensorKind::output, {1, 2, 1, 1});
    graph.subgraphs = {
        {.name = "main",
         .inputs = {x},
         .outputs = {y},
         .operators = {{.name = "mean", .type = "GlobalAveragePool", .inputs = {x}, .outputs = {p}},
                       {.name = "difference", .type = "Conv", .inputs = {p, w}, .outputs = {y}}}}};
    network.input.constants.set(w, bytes_of_floats({1, -1, -1000, 1000}));
    network.details = {{{.version = 17}, {.version = 17}}};
    network.quantizations.resize(graph.tensors.size());
    network.input.content = graph;
    add_rows(network);
    std::mt19937 random(3);
    std::vector<float> numbers(1024);
    for (float& number : numbers) number = static_cast<float>(random() % 10'000) / 3;
    std::vector<float> all = numbers;
    std::ranges::shuffle(numbers, random);
    all.insert(all.end(), numbers.begin(), numbers.end());
    value = {DType::float32, {1, 2, 64, 16}, bytes_of_floats(all)};
  }

  Graph graph{};
  Network network{};
  TensorId y = 0;
  Array value{};
};

TEST(RunReference, SumsThatCancelMayDifferByTheSizeOfTheirTerms) {
  const Cancelling it;
  const Plan plan = testing::streamed_plan(it.network, {.seed = 1});
  const RunResult result =
      run_plan(it.network, plan, {.check = RunCheck::tensors, .inputs = {{"x", it.value}}});
  EXPECT_FALSE(result.fault) << result.fault->what;
  float remains = 0;
  std::memcpy(&remains, result.outputs.at(0).array.data.data(), sizeof remains);
  EXPECT_LT(std::abs(remains), 0.01F);  // of terms around 1700
  EXPECT_NE(result.outputs.at(0).array, testing::output_alone(it.network, it.value))
      << "the sums are the same";
  ASSERT_TRUE(result.largest_difference);
  EXPECT_GT(*result.largest_difference, 0);
  EXPECT_LT(*result.largest_difference, 1);
}

TEST(RunReference, WhatIsLargerThanTheTermsExplainIsADifference) {
  const Cancelling it;
  const run::Program program = run::make_program(it.network, {.kernels = KernelSet::plain});
  RunResult result;
  run::Reference reference(program, {}, nullptr, run::Reference::Rule::by_rows, result);
  for (const TensorId input : it.network.graph().subgraphs[0].inputs) reference.give(input, it.value.data);
  const auto differs = [&](float first) {
    std::vector<std::byte> bytes = bytes_of_floats({first, 0});
    const run::PlacedPart part{{.at = bytes.data(), .offset = 0, .size = 4}};
    return reference.first_difference(it.y, part).has_value();
  };
  EXPECT_FALSE(differs(0.02F));  // 1e-5 of the terms
  EXPECT_TRUE(differs(200));     // a tenth of them: a row is wrong
}

TEST(RunReference, NaNAndANumberAreInfinitelyFarApart) {
  const Cancelling it;
  const run::Program program = run::make_program(it.network, {.kernels = KernelSet::plain});
  RunResult result;
  run::Reference reference(program, {}, nullptr, run::Reference::Rule::by_rows, result);
  for (const TensorId input : it.network.graph().subgraphs[0].inputs) reference.give(input, it.value.data);
  std::vector<std::byte> bytes = bytes_of_floats({std::numeric_limits<float>::quiet_NaN()});
  const run::PlacedPart part{{.at = bytes.data(), .offset = 0, .size = 4}};
  EXPECT_EQ(reference.first_difference(it.y, part), 0);
  EXPECT_EQ(result.largest_difference, std::numeric_limits<double>::infinity());
}

/// x -> Relu -> ... -> Relu -> y, each of 1024 floats.
Network chain_of(std::size_t length) {
  Graph graph;
  for (std::size_t t = 0; t <= length; ++t) {
    const TensorKind kind = t == 0        ? TensorKind::input
                            : t == length ? TensorKind::output
                                          : TensorKind::temporary;
    graph.tensors.push_back({.name = std::to_string(t),
                             .kind = kind,
                             .dtype = DType::float32,
                             .shape = Shape{1, 1024},
                             .bytes = 4096});
  }
  Subgraph main{.name = "main", .inputs = {0}, .outputs = {length}};
  for (TensorId t = 0; t < length; ++t)
    main.operators.push_back({.name = "op", .type = "Relu", .inputs = {t}, .outputs = {t + 1}});
  graph.subgraphs = {main};
  Network network;
  network.details.emplace_back(length, OperatorDetails{.version = 14});
  network.quantizations.resize(graph.tensors.size());
  network.input.content = graph;
  return network;
}

TEST(RunReference, FreesWhatNobodyReadsAgainUnlessAllTensorsAreCompared) {
  const Network network = chain_of(8);
  const run::Program program = run::make_program(network, {.kernels = KernelSet::plain});
  const auto most_bytes = [&](RunCheck check) {
    RunResult result;
    run::Reference reference(program, {.check = check}, nullptr, run::Reference::Rule::exact, result);
    reference.give(0, std::vector<std::byte>(4096));
    reference.finish();
    return reference.most_bytes();
  };
  EXPECT_EQ(most_bytes(RunCheck::outputs), 2 * 4096);
  EXPECT_EQ(most_bytes(RunCheck::tensors), 9 * 4096);
}

}  // namespace
}  // namespace stowage
