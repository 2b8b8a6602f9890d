// Weights that steps by rows read again and again: what they cost, where they are staged, and what the checker refuses.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "image_networks.h"
#include "long_tests.h"
#include "model/blocks.h"
#include "plan/first_rows.h"
#include "plan/row_costs.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "stream/steps.h"

namespace stowage {
namespace {

using testing::pick;
using testing::Random;

PlanOptions in_three_memories(Bytes fast, Moves moves, Io io = Io::rows) {
  PlanOptions options;
  options.io = io;
  options.stream.emplace();
  options.alignment = 4;
  options.memories = {{.name = "SRAM", .capacity = fast},
                      {.name = "PSRAM", .cost = 10},
                      {.name = "FLASH", .cost = 7, .role = MemoryRole::weights}};
  options.moves = moves;
  options.solve.effort = 1000;
  return options;
}

Plan planned(const Network& network, const PlanOptions& options) {
  PlanResult result = make_plan(network.input, options);
  for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
  return std::move(result.plan);
}

bool is_weight(const Plan& plan, std::size_t tensor) {
  return plan.tensors[tensor].tensor.kind == TensorKind::weight;
}

std::size_t staged_in(const Plan& plan) {
  std::size_t count = 0;
  for (const Step& step : plan.clocks[0].steps) {
    const auto* const copy = std::get_if<Copy>(&step);
    count += copy != nullptr && is_weight(plan, copy->tensor) ? 1 : 0;
  }
  return count;
}

/// Bytes that a view has of its tensor.
Bytes bytes_in(const PlannedTensor& tensor, const View& view) {
  if (!view.rows) return tensor.tensor.bytes;
  return tensor.tensor.bytes / (*tensor.tensor.shape)[view.rows->axis] * (view.rows->end - view.rows->begin);
}

/// What a block reads of an input; none: all.
std::optional<RowRange> rows_read(const Operator& op, std::size_t input, const Run& run,
                                  const Tensor& tensor) {
  const RowAxis* const along = run.block ? row_axis(op, run.block->axis) : nullptr;
  const RowRead* const read = along == nullptr ? nullptr : row_read(*along, input);
  if (read == nullptr) return std::nullopt;
  return model::block_read(*read, (*tensor.shape)[read->axis], *run.block);
}

/// What steps and copies read in the memory for weights, step by step.
Bytes read_in_flash(const Network& network, const Plan& plan) {
  Bytes bytes = 0;
  for (std::size_t at = 0; at < plan.clocks[0].steps.size(); ++at) {
    const auto position = static_cast<Position>(at);
    if (const auto* const copy = std::get_if<Copy>(&plan.clocks[0].steps[at])) {
      if (is_weight(plan, copy->tensor)) bytes += bytes_of(plan, *copy);
    } else if (const auto* const run = std::get_if<Run>(&plan.clocks[0].steps[at])) {
      const Operator& op = network.graph().subgraphs[0].operators[run->path[1]];
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (!op.inputs[i] || !is_weight(plan, *op.inputs[i])) continue;
        const PlannedTensor& tensor = plan.tensors[*op.inputs[i]];
        const View read{.rows = rows_read(op, i, *run, tensor.tensor)};
        bytes += bytes_in(tensor, read);
        for (const View& view : tensor.views) {
          const bool is_staged = plan.places[view.buffer].memory == 0;
          const bool has_it = !read.rows || !view.rows || read.rows == view.rows;
          if (is_staged && has_it && view.life.lower <= position && position < view.life.upper)
            bytes -= std::min(bytes_in(tensor, read), bytes_in(tensor, view));
        }
      }
    }
  }
  return bytes;
}

std::string json_of(const Plan& plan) {
  std::ostringstream out;
  write_json(plan, out);
  return out.str();
}

TEST(PlanWeights, CostWhatStepsRead) {
  Random random(5);
  std::size_t staged = 0;
  std::int64_t still = 0;
  std::int64_t moving = 0;
  const int cases = testing::has_time() ? 12 : 5;
  for (int i = 0; i < cases; ++i) {
    const Network network = testing::narrowing_images(random);
    const Bytes fast = pick(random, 800, 4000);
    for (const Moves moves : {Moves::none, Moves::allowed}) {
      const Plan plan = planned(network, in_three_memories(fast, moves, i % 3 == 0 ? Io::arena : Io::rows));
      (moves == Moves::none ? still : moving) += plan.summary.cost;
      EXPECT_EQ(plan.memories[2].traffic, read_in_flash(network, plan));
      std::int64_t cost = 0;
      for (const PlannedMemory& memory : plan.memories) cost += memory.traffic * memory.memory.cost;
      EXPECT_EQ(plan.summary.cost, cost);
      EXPECT_LE(plan.summary.cost_bound, cost);
      EXPECT_EQ(parse_plan(json_of(plan)), plan);
      EXPECT_EQ(moves == Moves::none ? staged_in(plan) : 0, 0U);
      staged += staged_in(plan);
      const RunResult run = run_plan(network, plan, {.check = RunCheck::tensors});
      EXPECT_FALSE(run.fault) << run.fault->what;
    }
  }
  EXPECT_GT(staged, static_cast<std::size_t>(cases));
  EXPECT_LT(moving, still);
}

TEST(PlanWeights, AreReadOnceIfThereIsRoom) {
  Random random(6);
  const Network network = testing::narrowing_images(random);
  Bytes once = 0;
  for (const Tensor& tensor : network.graph().tensors)
    once += tensor.kind == TensorKind::weight ? tensor.bytes : 0;
  PlanOptions options = in_three_memories(64'000, Moves::allowed);
  EXPECT_EQ(planned(network, options).memories[2].traffic, once);
}

/// Orders of rows in small steps of early layers, and of whole operators behind them.
std::int64_t least_cost(const Network& network, Bytes fast, bool is_by_cost) {
  PlanOptions options = in_three_memories(fast, Moves::allowed);
  const plan::MemoriesOfRows memories{.working = {options.memories[0], options.memories[1]},
                                      .weights = options.memories[2],
                                      .cost_of_weights = options.memories[2].cost};
  options.memories = {{.name = "one"}};
  const Graph& graph = network.graph();
  const stream::InstanceOptions instances{.io = Io::rows};
  std::vector<stream::Stretch> stretches = stream::stretches_of(graph, instances);
  stretches.back().granule = stretches.back().rows;
  plan::Around around{.alignment = 4, .granules = stream::granules_of(graph, stretches, instances)};
  if (is_by_cost) around.fast = fast;
  const auto order = plan::first_order(graph, options, around, {});
  const auto rows = plan::lay_rows(*order->streamed, *order->order, order->form, {options, "", around, {}});
  return plan::least_cost_of(network.input, *rows, memories, {}).value();
}

TEST(PlanWeights, OrdersChosenByCostCostLess) {
  Random random(8);
  std::int64_t by_peak = 0;
  std::int64_t by_cost = 0;
  for (int i = 0; i < 20; ++i) {
    const Network network = testing::narrowing_images(random);
    const Bytes fast = pick(random, 800, 4000);
    by_peak += least_cost(network, fast, false);
    by_cost += least_cost(network, fast, true);
  }
  EXPECT_LT(by_cost + by_cost / 50, by_peak);
}

/// Weights of two memories are not staged, though they could be: so no bound of the cost is claimed.
TEST(PlanWeights, OfTwoMemoriesProveNothing) {
  Random random(7);
  const Network network = testing::narrowing_images(random);
  std::size_t streamed = 0;
  for (const Bytes fast : {800, 1200, 1600, 2400}) {
    PlanOptions options = in_three_memories(fast, Moves::allowed);
    options.memories[2].cost = 2;
    options.memories[2].capacity = 1024;
    options.memories.push_back({.name = "DISK", .cost = 2, .role = MemoryRole::weights});
    const Plan plan = planned(network, options);
    EXPECT_EQ(plan.memories[2].traffic + plan.memories[3].traffic, read_in_flash(network, plan));
    if (!is_streamed(plan)) continue;
    ++streamed;
    EXPECT_EQ(staged_in(plan), 0U);
    const Bytes of_rows = plan.memories[0].traffic + plan.memories[1].traffic;
    EXPECT_LE(plan.summary.cost_bound, of_rows * options.memories[0].cost);
  }
  EXPECT_GT(streamed, 0U);
}

/// `json` is of graphs, each of which is called after its place: a, b and so on.
std::vector<Input> inputs_of(const std::vector<std::string>& json) {
  std::vector<Input> inputs;
  for (const std::string& text : json) {
    const std::string name(1, static_cast<char>('a' + inputs.size()));
    inputs.push_back(parse_input(text, name + ".json"));
    inputs.back().info.name = name;
  }
  return inputs;
}

/// A tensor of int8 in graph JSON.
std::string bytes_of(const std::string& name, int rows, int bytes, const std::string& kind = "") {
  return R"({"name": ")" + name + R"(", "dtype": "int8", "shape": [)" + std::to_string(rows) + ", " +
         std::to_string(bytes) + "]" + (kind.empty() ? "" : R"(, "kind": ")" + kind + '"') + "}";
}

std::string network_of(const std::string& tensors, const std::string& output, const std::string& operators,
                       const std::string& bodies = "") {
  return R"({"format": "stowage-graph", "version": 1, "name": "net", "tensors": [)" + tensors +
         R"(], "subgraphs": [{"name": "main", "inputs": ["x"], "outputs": [")" + output +
         R"("], "operators": [)" + operators + "]}" + bodies + "]}";
}

/// Two convolutions of rows of 16 bytes with one kernel, and more.
std::string by_rows(int rows, const std::string& output = "y", const std::string& tensors = "",
                    const std::string& operators = "", const std::string& bodies = "") {
  const auto convolution = [](const std::string& from, const std::string& to) {
    return R"({"type": "Conv", "inputs": [")" + from + R"(", "w"], "outputs": [")" + to +
           R"("], "multiplies": 16,
           "row_axes": [{"axis": 0, "reads": [{"input": 0, "axis": 0}], "is_windows": true}]})";
  };
  return network_of(bytes_of("x", rows, 16) + ", " + bytes_of("w", 1, 8, "weight") + ", " +
                        bytes_of("h", rows, 16) + ", " + bytes_of("y", rows, 16) + tensors,
                    output, convolution("x", "h") + ", " + convolution("h", "y") + operators, bodies);
}

/// Copies of weights in a plan that must be right.
std::size_t staged_beside(const std::vector<std::string>& networks, Bytes fast) {
  PlanOptions options = in_three_memories(fast, Moves::allowed, Io::arena);
  options.alignment = 1;
  const PlanResult result = make_plan(inputs_of(networks), options);
  for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
  return staged_in(result.plan);
}

/// The inputs of a network are there before its first step, so no copy of its weights may come before that.
TEST(PlanWeights, AreStagedAfterANetworksFirstStep) {
  for (const Bytes fast : {60, 140}) EXPECT_GT(staged_beside({by_rows(6), by_rows(8)}, fast), 0U);
}

/// Whole operators write over what they read, right behind the copy of a weight that they read as well.
TEST(PlanWeights, AreStagedBesideWhatIsWrittenOver) {
  std::string tensors = bytes_of("x", 1, 40) + ", " + bytes_of("w", 1, 32, "weight");
  for (const char* const name : {"t", "u", "v", "y"}) tensors += ", " + bytes_of(name, 1, 32);
  const std::string whole = network_of(tensors, "y", R"({"type": "Custom", "inputs": ["x"], "outputs": ["t"]},
      {"type": "Add", "inputs": ["t", "w"], "outputs": ["u"]},
      {"type": "Add", "inputs": ["u", "w"], "outputs": ["v"]},
      {"type": "Add", "inputs": ["v", "w"], "outputs": ["y"]})");
  EXPECT_GT(staged_beside({whole, by_rows(12)}, 120), 1U);
}

/// No copy comes between the steps of a body.
TEST(PlanWeights, OfBodiesStayWhereTheyLie) {
  std::string tensors = ", " + bytes_of("v", 1, 20, "weight");
  for (const char* const name : {"i", "goes on"}) tensors += ", " + bytes_of(name, 1, 1);
  for (const char* const name : {"s", "old", "mid", "new", "z"}) tensors += ", " + bytes_of(name, 1, 64);
  const std::string sum = R"(, {"type": "Custom", "inputs": ["y"], "outputs": ["s"]}, )";
  const auto body_with = [](const std::string& inputs, const std::string& outputs) {
    return R"(, {"name": "body", "inputs": [)" + inputs + R"(], "outputs": [)" + outputs +
           R"(], "operators": [
        {"type": "MatMul", "inputs": ["s", "v"], "outputs": ["mid"]},
        {"type": "MatMul", "inputs": ["mid", "v"], "outputs": ["new"]}]})";
  };
  const std::string chosen = R"({"type": "If", "inputs": ["s"], "outputs": ["z"], "bodies": [1]})";
  const std::string repeated =
      R"({"type": "Loop", "inputs": ["s", null, "s"], "outputs": ["z"], "bodies": [1],
      "body_use": "repeated"})";
  EXPECT_GT(staged_beside({by_rows(12, "z", tensors, sum + chosen, body_with("", R"("new")"))}, 150), 0U);
  const std::string round = body_with(R"("i", "goes on", "old")", R"("goes on", "new")");
  EXPECT_GT(staged_beside({by_rows(12, "z", tensors, sum + repeated, round)}, 150), 0U);
}

/// A plan with copies of weights, and the steps that make them.
struct Staged {
  Network network{};
  Plan plan{};
  std::vector<std::size_t> copies{};
};

/// In the first of some sizes of the fast memory in which several copies are worth it.
Staged staged_plan() {
  Random random(5);
  Staged made{.network = testing::narrowing_images(random)};
  for (const Bytes fast : {1600, 2000, 1200, 2400}) {
    made.plan = planned(made.network, in_three_memories(fast, Moves::allowed));
    made.copies.clear();
    for (std::size_t at = 0; at < made.plan.clocks[0].steps.size(); ++at) {
      const auto* const copy = std::get_if<Copy>(&made.plan.clocks[0].steps[at]);
      if (copy != nullptr && is_weight(made.plan, copy->tensor)) made.copies.push_back(at);
    }
    if (made.copies.size() > 1) break;
  }
  return made;
}

bool is_refused(const Staged& staged, const Plan& plan, const std::string& words) {
  const Faults faults = check_plan(plan, {&staged.network.input, 1});
  for (const Fault& fault : faults) {
    if (fault.what.find(words) != std::string::npos) return true;
  }
  for (const Fault& fault : faults) std::cout << fault.what << '\n';
  return false;
}

TEST(PlanWeights, CheckerRefusesWhatIsNotStaged) {
  const Staged staged = staged_plan();
  ASSERT_GT(staged.copies.size(), 1U);
  for (const std::size_t at : staged.copies) {
    const Copy copy = std::get<Copy>(staged.plan.clocks[0].steps[at]);
    const auto spoilt = [&](const auto& spoil) {
      Plan plan = staged.plan;
      spoil(plan, std::get<Copy>(plan.clocks[0].steps[at]));
      return plan;
    };
    const auto view_of = [&](Plan& plan) -> View& {
      return *std::ranges::find(plan.tensors[copy.tensor].views, copy.to, &View::buffer);
    };
    // It is there before the copy, or another part of it.
    EXPECT_TRUE(is_refused(staged, spoilt([&](Plan& plan, Copy&) { --view_of(plan).life.lower; }),
                           "is of kind weight and in"));
    if (copy.rows) {
      EXPECT_TRUE(is_refused(staged, spoilt([&](Plan& plan, Copy&) {
                               RowRange& rows = *view_of(plan).rows;
                               (rows.begin > 0 ? rows.begin : rows.end) += rows.begin > 0 ? -1 : 1;
                             }),
                             "weight"));
    }
    // Its buffer is called one of tensors that change.
    EXPECT_TRUE(is_refused(
        staged, spoilt([&](Plan& plan, Copy&) { plan.buffers[copy.from].kind = TensorKind::temporary; }),
        "is of kind temporary and in"));
    // A weight is copied to the memory where it is.
    EXPECT_TRUE(is_refused(staged, spoilt([&](Plan& plan, Copy& it) {
                             it.to = copy.from;
                             (void)plan;
                           }),
                           "copies"));
  }
}

TEST(PlanWeights, CheckerRefusesOtherBytesWhereTheyAreStaged) {
  const Staged staged = staged_plan();
  std::size_t seen = 0;
  for (const std::size_t at : staged.copies) {
    const Copy& copy = std::get<Copy>(staged.plan.clocks[0].steps[at]);
    const View& view = *std::ranges::find(staged.plan.tensors[copy.tensor].views, copy.to, &View::buffer);
    for (std::size_t b = 0; b < staged.plan.buffers.size(); ++b) {
      const Piece& piece = staged.plan.buffers[b].pieces[0];
      const bool meets = piece.life.lower < view.life.upper && view.life.lower < piece.life.upper;
      if (b == copy.to || staged.plan.places[b].memory != 0 || !meets) continue;
      Plan plan = staged.plan;
      plan.places[copy.to].offset = plan.places[b].offset;
      EXPECT_FALSE(check_plan(plan, {&staged.network.input, 1}).empty());
      ++seen;
    }
  }
  EXPECT_GT(seen, 0U);
}

/// The runner reads weights where they are staged, and sees that a copy came too late.
TEST(PlanWeights, RunnerSeesAMissingCopy) {
  const Staged staged = staged_plan();
  for (const std::size_t at : staged.copies) {
    Plan plan = staged.plan;
    std::vector<Step>& steps = plan.clocks[0].steps;
    std::size_t next = at;
    while (next < steps.size() && std::holds_alternative<Copy>(steps[next])) ++next;
    std::rotate(steps.begin() + static_cast<std::ptrdiff_t>(at),
                steps.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                steps.begin() + static_cast<std::ptrdiff_t>(next) + 1);
    EXPECT_FALSE(check_plan(plan, {&staged.network.input, 1}).empty());
    EXPECT_TRUE(run_plan(staged.network, plan, {.check = RunCheck::tensors}).fault.has_value());
  }
}

}  // namespace
}  // namespace stowage
