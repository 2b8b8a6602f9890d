// Streamed plans of what has no rows: numbers, tensors with nothing in them, int4 whose rows begin in the
// middle of a byte; and of sums over a single granule.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "long_tests.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

/// Steps name rows of outputs, or with sums those of the first input, and no others.
void expect_rows_that_exist(const Graph& graph, const Plan& plan) {
  for (const Step& step : plan.clocks[0].steps) {
    const auto* const run = std::get_if<Run>(&step);
    if (run == nullptr || !run->rows) continue;
    const Operator& op = graph.subgraphs[0].operators[run->path[1]];
    const Tensor& tensor = graph.tensors[run->sums ? *op.inputs[0] : *op.outputs[0]];
    EXPECT_LE(run->rows->end, (*tensor.shape)[run->rows->axis]) << op.type;
  }
}

/// A network of one operator after the other, each of all outputs before it that it names.
struct Link {
  std::string type{};
  std::vector<std::pair<DType, Shape>> outputs{};
  std::vector<std::size_t> inputs{};  ///< Tensors in the order of the network.
  std::vector<std::pair<std::string, Attributes::Value>> settings{};
};

Network chain(const std::vector<std::pair<DType, Shape>>& inputs, const std::vector<Link>& links) {
  Network network;
  Graph graph;
  Subgraph main;
  const auto add = [&](const std::pair<DType, Shape>& what, TensorKind kind) {
    graph.tensors.push_back({.name = "t" + std::to_string(graph.tensors.size()),
                             .kind = kind,
                             .dtype = what.first,
                             .shape = what.second,
                             .bytes = bytes_of(what.first, what.second)});
    return graph.tensors.size() - 1;
  };
  for (const auto& input : inputs) main.inputs.push_back(add(input, TensorKind::input));
  network.details.emplace_back();
  for (const Link& link : links) {
    Operator op{.name = link.type, .type = link.type};
    for (const std::size_t input : link.inputs) op.inputs.emplace_back(input);
    for (const auto& output : link.outputs) op.outputs.emplace_back(add(output, TensorKind::temporary));
    OperatorDetails details{.version = 21};
    for (const auto& [name, value] : link.settings) details.attributes.set(name, value);
    network.details[0].push_back(std::move(details));
    main.operators.push_back(std::move(op));
  }
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const bool is_read = std::any_of(main.operators.begin(), main.operators.end(), [&](const Operator& op) {
      return std::find(op.inputs.begin(), op.inputs.end(), t) != op.inputs.end();
    });
    if (is_read || graph.tensors[t].kind == TensorKind::input) continue;
    graph.tensors[t].kind = TensorKind::output;
    main.outputs.push_back(t);
  }
  graph.subgraphs = {main};
  network.quantizations.resize(graph.tensors.size());
  network.input.content = graph;
  add_rows(network);
  validate(network.graph());
  return network;
}

PlanOptions streaming(Io io, std::int64_t granule) {
  PlanOptions options;
  options.io = io;
  options.stream = StreamOptions{.granule = granule};
  options.solve.time_limit = std::chrono::milliseconds(50);
  return options;
}

enum class Runs : std::uint8_t { yes, no };

void expect_plan(const Network& network, Runs runs, const std::string& what) {
  for (const Io io : {Io::rows, Io::arena}) {
    for (const std::int64_t granule : {1, 2}) {
      const PlanResult result = make_plan(network.input, streaming(io, granule));
      ASSERT_TRUE(result.faults.empty()) << what << ": " << result.faults[0].what;
      expect_rows_that_exist(network.graph(), result.plan);
      if (runs == Runs::no) continue;
      const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
      EXPECT_FALSE(run.fault) << what << ": " << run.fault->what;
      EXPECT_EQ(run.outputs.size(), network.graph().subgraphs[0].outputs.size()) << what;
    }
  }
}

void expect_plan_and_run(const Network& network, const std::string& what) {
  expect_plan(network, Runs::yes, what);
}

TEST(PlanStream, SumsOverOneGranuleAreRunAsAWhole) {
  const Shape image{1, 2, 3, 4};
  const Network network =
      chain({{DType::float32, image}}, {{"Relu", {{DType::float32, image}}, {0}},
                                        {"GlobalAveragePool", {{DType::float32, {1, 2, 1, 1}}}, {1}}});
  for (const std::int64_t granule : {1, 2, 3, 4}) {
    const PlanResult result = make_plan(network.input, streaming(Io::rows, granule));
    EXPECT_TRUE(result.faults.empty());
    expect_rows_that_exist(network.graph(), result.plan);
    const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
    EXPECT_FALSE(run.fault);
    std::ostringstream report;
    write_run_json(run, result.plan, report);
    const auto memory = nlohmann::json::parse(report.str()).at("memories").at(0);
    EXPECT_LE(memory.at("touched"), memory.at("planned"));
  }
}

TEST(PlanStream, WhatHasNoRowsIsHandedOverAsAWhole) {
  using enum DType;
  const Shape image{1, 2, 6, 4};
  expect_plan_and_run(chain({{float32, image}, {float32, {}}},
                            {{"Relu", {{float32, image}}, {0}}, {"Add", {{float32, image}}, {2, 1}}}),
                      "a number comes in");
  expect_plan_and_run(
      chain({{float32, image}}, {{"Relu", {{float32, image}}, {0}},
                                 {"ReduceMean", {{float32, {}}}, {1}, {{"keepdims", std::int64_t{0}}}}}),
      "a number goes out");
  expect_plan_and_run(chain({{float32, {}}}, {{"Relu", {{float32, {}}}, {0}}}), "nothing but numbers");
  for (const std::int64_t width : {1, 3, 4}) {
    expect_plan_and_run(chain({{int4, {5, width}}}, {{"Identity", {{int4, {5, width}}}, {0}},
                                                     {"Identity", {{int4, {5, width}}}, {1}}}),
                        "int4 in rows of " + std::to_string(width));
    // No kernel computes with int4.
    expect_plan(
        chain({{int4, {2, 5, width}}}, {{"Identity", {{int4, {2, 5, width}}}, {0}},
                                        {"Cast", {{int8, {2, 5, width}}}, {1}, {{"to", std::int64_t{3}}}}}),
        Runs::no, "int4 to int8 in rows of " + std::to_string(width));
  }
}

TEST(PlanStream, WhatHasNothingInItIsNeverHandedOver) {
  using enum DType;
  for (const Shape& empty : {Shape{0}, Shape{0, 4}, Shape{3, 0}, Shape{2, 0, 3}}) {
    expect_plan_and_run(chain({{float32, {4, 3}}, {float32, empty}},
                              {{"Relu", {{float32, {4, 3}}}, {0}}, {"Relu", {{float32, empty}}, {1}}}),
                        "an empty branch");
  }
  expect_plan_and_run(chain({{float32, {4, 3}}, {float32, {0, 3}}},
                            {{"Relu", {{float32, {0, 3}}}, {1}},
                             {"Concat", {{float32, {4, 3}}}, {0, 2}, {{"axis", std::int64_t{0}}}},
                             {"Relu", {{float32, {4, 3}}}, {3}}}),
                      "nothing is joined");
}

/// The output takes the place of the input row after row, however many rows there are.
TEST(PlanStream, OutputsOfManyRowsFollowTheRows) {
  const bool is_in_a_hurry = testing::is_in_a_hurry();
  for (const std::int64_t rows : {1000, 2049, 6001}) {
    if (is_in_a_hurry && rows != 2049) continue;
    const std::pair<DType, Shape> tensor{DType::float32, {rows, 8}};
    const Network network = chain({tensor}, {{"Softmax", {tensor}, {0}}});
    const Bytes bytes = network.graph().tensors[0].bytes;
    PlanOptions options = streaming(Io::arena, 1);
    options.alignment = 16;
    options.memories[0].capacity = bytes + bytes / 100;  // the search ends there
    options.solve.time_limit = std::chrono::seconds(60);
    const PlanResult result = make_plan(network.input, options);
    ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
    EXPECT_LE(result.plan.summary.peak, *options.memories[0].capacity) << rows;
  }
}

}  // namespace
}  // namespace stowage
