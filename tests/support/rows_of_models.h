/// Several networks, of which some run by rows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "image_networks.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage::testing {

inline PlanOptions by_rows(Io io = Io::arena) {
  PlanOptions options;
  options.io = io;
  options.stream.emplace();
  options.alignment = 1;
  options.solve.effort = 200;
  return options;
}

/// Convolutions of 3 rows on an image of 1 x 2 x `rows` x 8 floats.
inline Network convolutions(const std::string& name, std::int64_t rows, std::int64_t count) {
  Random random(3);
  ImageMaker images(random);
  TensorId x = images.add_tensor(TensorKind::input, {1, 2, rows, 8});
  for (std::int64_t i = 0; i < count; ++i)
    x = images.apply("Conv", {x, images.weight({2, 2, 3, 1})}, {1, 2, images.shape(x)[2] - 2, 8});
  Network network = images.take(0);
  network.input.info.name = name;
  return network;
}

inline PlanResult planned(const std::vector<Network>& networks, const PlanOptions& options) {
  std::vector<Input> inputs;
  for (const Network& network : networks) inputs.push_back(network.input);
  PlanResult result = make_plan(inputs, options);
  for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
  return result;
}

inline bool runs_by_rows(const Plan& plan, std::size_t model) {
  return std::ranges::any_of(plan.clocks, [&](const Clock& clock) {
    return std::ranges::any_of(clock.steps, [&](const Step& step) {
      const auto* const run = std::get_if<Run>(&step);
      return run != nullptr && run->model == model && run->rows;
    });
  });
}

/// The name of the first output, or input, of a network.
inline std::string name_of_output(const Network& network) {
  const Graph& graph = network.graph();
  return network.input.info.name + "." + graph.tensors[graph.subgraphs[0].outputs[0]].name;
}
inline std::string name_of_input(const Network& network) {
  const Graph& graph = network.graph();
  return network.input.info.name + "." + graph.tensors[graph.subgraphs[0].inputs[0]].name;
}

inline void expect_runs(const std::vector<Network>& networks, const Plan& plan) {
  for (const std::uint64_t seed : {1U, 2U}) {
    const RunResult run = run_plan(networks, plan, {.check = RunCheck::tensors, .seed = seed});
    EXPECT_FALSE(run.fault) << run.fault->what;
  }
}

/// Adds to networks after they are made.
class Adding {
 public:
  explicit Adding(Network& network) : network_(network), graph_(std::get<Graph>(network.input.content)) {}

  TensorId add_tensor(const std::string& name, TensorKind kind, DType dtype, const Shape& shape) {
    graph_.tensors.push_back(
        {.name = name, .kind = kind, .dtype = dtype, .shape = shape, .bytes = bytes_of(dtype, shape)});
    network_.quantizations.emplace_back();
    return graph_.tensors.size() - 1;
  }

  TensorId add_like(TensorId x, TensorKind kind) {
    return add_tensor("t" + std::to_string(graph_.tensors.size()), kind, graph_.tensors[x].dtype,
                      *graph_.tensors[x].shape);
  }

  void add_operator(std::size_t subgraph, Operator op) {
    op.name = op.type + std::to_string(graph_.tensors.size());
    graph_.subgraphs[subgraph].operators.push_back(std::move(op));
    network_.details[subgraph].push_back({.version = 13});
  }

  std::size_t add_subgraph(const std::string& name) {
    graph_.subgraphs.push_back({.name = name});
    network_.details.emplace_back();
    return graph_.subgraphs.size() - 1;
  }

  Graph& graph() { return graph_; }

 private:
  Network& network_;
  Graph& graph_;
};

/// Adds an If whose branches read `x`. Returns what it gives, which is an output.
inline TensorId add_if(TensorId x, Network& network) {
  Adding add(network);
  const TensorId cond = add.add_tensor("cond", TensorKind::input, DType::boolean, {1});
  add.graph().subgraphs[0].inputs.push_back(cond);
  Operator op{.type = "If", .inputs = {cond}};
  for (const char* const type : {"Relu", "Sigmoid"}) {
    const std::size_t body = add.add_subgraph(type);
    const TensorId half = add.add_like(x, TensorKind::temporary);
    const TensorId made = add.add_like(x, TensorKind::temporary);
    add.add_operator(body, {.type = type, .inputs = {x}, .outputs = {half}});
    add.add_operator(body, {.type = "Add", .inputs = {half, x}, .outputs = {made}});
    add.graph().subgraphs[body].outputs = {made};
    op.bodies.push_back(body);
  }
  const TensorId chosen = add.add_like(x, TensorKind::output);
  op.outputs = {chosen};
  add.add_operator(0, std::move(op));
  add.graph().subgraphs[0].outputs.push_back(chosen);
  return chosen;
}

/// Adds a Loop of two rounds on `x`. Returns what it gives, which is an output.
inline TensorId add_loop(TensorId x, Network& network) {
  Adding add(network);
  const TensorId rounds = add.add_tensor("rounds", TensorKind::input, DType::int64, {1});
  add.graph().subgraphs[0].inputs.push_back(rounds);
  const std::size_t body = add.add_subgraph("round");
  const TensorId index = add.add_tensor("index", TensorKind::temporary, DType::int64, {1});
  const TensorId goes_on = add.add_tensor("goes on", TensorKind::temporary, DType::boolean, {1});
  const TensorId old_value = add.add_like(x, TensorKind::temporary);
  const TensorId half = add.add_like(x, TensorKind::temporary);
  const TensorId new_value = add.add_like(x, TensorKind::temporary);
  add.add_operator(body, {.type = "Tanh", .inputs = {old_value}, .outputs = {half}});
  add.add_operator(body, {.type = "Add", .inputs = {half, x}, .outputs = {new_value}});
  add.graph().subgraphs[body].inputs = {index, goes_on, old_value};
  add.graph().subgraphs[body].outputs = {goes_on, new_value};
  const TensorId result = add.add_like(x, TensorKind::output);
  add.add_operator(0, {.type = "Loop",
                       .inputs = {rounds, std::nullopt, x},
                       .outputs = {result},
                       .bodies = {body},
                       .body_use = BodyUse::repeated});
  add.graph().subgraphs[0].outputs.push_back(result);
  return result;
}

}  // namespace stowage::testing
