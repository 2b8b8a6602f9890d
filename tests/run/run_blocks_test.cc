// Plans in which operators are split into blocks along a second axis: what the checker accepts is right element by
// element, and runs give what they give unsplit.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <variant>

#include "block_plans.h"
#include "check/against.h"
#include "long_tests.h"
#include "model/blocks.h"
#include "model/plan_blocks.h"
#include "oracle/element_machine.h"
#include "row_calls.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "stream/instances.h"
#include "stream/program.h"
#include "stream_run_plans.h"

namespace stowage {
namespace {

using model::SplitNetwork;
using model::Splits;
using testing::attention;
using testing::pick;
using testing::Random;
using testing::random_network;
using testing::random_splits;
using testing::try_split;

constexpr std::uint64_t weights_seed = 5;
const RunOptions plain{.kernels = KernelSet::plain, .random_weights = weights_seed};
const RunOptions checked{.check = RunCheck::tensors, .random_weights = weights_seed};

Plan plan_of_wholes(const Network& network) {
  return testing::streamed_plan(network, testing::Axes(network.graph().tensors.size()), {});
}

testing::StreamedOptions random_options(Random& random) {
  return {.granule = pick(random, 1, 3),
          .form = static_cast<testing::Form>(pick(random, 0, 3)),
          .io_by_rows = random() % 2 == 0,
          .in_place = random() % 2 == 0,
          .seed = random()};
}

std::string text_of(const Faults& faults) { return faults.empty() ? "" : faults[0].what; }
std::string fault_of(const RunResult& result) { return result.fault ? result.fault->what : ""; }

std::string text_of(const SplitNetwork& split) {
  std::string text;
  for (std::size_t o = 0; o < split.operators.size(); ++o) {
    const auto& block = split.operators[o].block;
    text += "\n  " + split.graph.subgraphs[0].operators[o].name;
    if (block)
      text += " axis " + std::to_string(block->axis) + " [" + std::to_string(block->begin) + ", " +
              std::to_string(block->end) + ")";
  }
  return text;
}

TEST(RunBlocks, AreCheckedAndRunAtRandom) {
  Random random(3);
  const std::uint64_t all = testing::cases_of(300);
  std::uint64_t plans = 0;
  for (std::uint64_t i = 0; i < all; ++i) {
    const Network network = random_network(random);
    const auto network_of_blocks = try_split(network.graph(), random_splits(network.graph(), random));
    if (!network_of_blocks) continue;
    const Plan plan = testing::plan_of_blocks(*network_of_blocks, random_options(random));
    const check::Given given{&network.graph(), nullptr};
    ASSERT_EQ(text_of(check::check_against(plan, {&given, 1})), "") << i;
    ASSERT_EQ(oracle::difference_by_elements(network.graph(), plan).value_or(""), "") << i;
    const Runner runner(network, plain);
    const RunResult result = runner.run(plan, checked);
    ASSERT_EQ(fault_of(result), "") << i << text_of(*network_of_blocks);
    const RunResult expected = runner.run(plan_of_wholes(network), {});
    ASSERT_EQ(result.outputs.at(0).array, expected.outputs.at(0).array) << i;
    ASSERT_EQ(result.multiplies, result.multiplies_of_network) << i;
    plans += model::has_blocks(plan) ? 1 : 0;
  }
  EXPECT_GT(plans, all / 3);
}

/// Both networks at the same time, on clocks of their own, the second's bytes behind the first's.
Plan beside(const Plan& first, Plan second) {
  Plan plan = first;
  plan.clocks = {Clock{{Fork{{1, 2}}}}, first.clocks[0], second.clocks[0]};
  for (Step& step : plan.clocks[2].steps) {
    if (auto* const run = std::get_if<stowage::Run>(&step)) {
      run->model = 1;
      for (auto* const sums : {&run->sums, &run->carry})
        if (*sums) (*sums)->buffer += first.buffers.size();
    }
    if (auto* const arrive = std::get_if<Arrive>(&step)) arrive->tensor += first.tensors.size();
    if (auto* const leave = std::get_if<Leave>(&step)) leave->tensor += first.tensors.size();
  }
  for (Buffer& buffer : plan.buffers) buffer.clock = 1;
  for (std::size_t b = 0; b < second.buffers.size(); ++b) {
    Buffer& buffer = plan.buffers.emplace_back(second.buffers[b]);
    buffer.clock = 2;
    buffer.id = "second " + buffer.id;
    plan.places.push_back({0, second.places[b].offset + first.memories[0].peak});
  }
  for (PlannedTensor tensor : second.tensors) {
    tensor.model = 1;
    for (View& view : tensor.views) view.buffer += first.buffers.size();
    plan.tensors.push_back(std::move(tensor));
  }
  plan.models.push_back(second.models[0]);
  plan.memories[0].peak += second.memories[0].peak;
  return plan;
}

TEST(RunBlocks, OfSeveralNetworksAreCheckedAndRunAtRandom) {
  Random random(6);
  const std::uint64_t all = testing::cases_of(100);
  std::uint64_t plans = 0;
  for (std::uint64_t i = 0; i < all; ++i) {
    std::vector<Network> networks{random_network(random), random_network(random)};
    std::vector<Plan> own;
    for (const Network& network : networks) {
      const auto split = try_split(network.graph(), random_splits(network.graph(), random));
      if (split) own.push_back(testing::plan_of_blocks(*split, random_options(random)));
    }
    if (own.size() < 2) continue;
    const Plan plan = beside(own[0], own[1]);
    const std::vector<const Graph*> graphs{&networks[0].graph(), &networks[1].graph()};
    ASSERT_EQ(text_of(check::check_tasks(plan, graphs)), "") << i;
    const Runner runner(networks, plain);
    const RunResult result = runner.run(plan, checked);
    ASSERT_EQ(fault_of(result), "") << i;
    for (std::size_t m = 0; m < 2; ++m) {
      const Runner alone(networks[m], plain);
      ASSERT_EQ(result.outputs.at(m).array.shape, alone.run(own[m], {}).outputs.at(0).array.shape) << i;
    }
    plans += model::has_blocks(plan, 0) && model::has_blocks(plan, 1) ? 1 : 0;
    Plan wrong = plan;
    for (Step& step : wrong.clocks[2].steps) {
      auto* const run = std::get_if<stowage::Run>(&step);
      if (run == nullptr || !run->block) continue;
      run->block->end += 1;
      EXPECT_NE(text_of(check::check_tasks(wrong, graphs)), "") << i;
      break;
    }
  }
  EXPECT_GT(plans, all / 5);
}

/// Something wrong in a plan, or not.
void mutate(Plan& plan, Random& random) {
  auto& steps = plan.clocks[0].steps;
  const auto any = [&](auto& list) -> auto& { return list[random() % list.size()]; };
  PlannedTensor& tensor = any(plan.tensors);
  Buffer& buffer = any(plan.buffers);
  switch (random() % 6) {
    case 0:
      std::swap(any(steps), any(steps));
      break;
    case 1:
      if (!tensor.views.empty()) any(tensor.views).offset += pick(random, -4, 4);
      break;
    case 2:
      any(buffer.pieces).life.upper -= 1;
      break;
    case 3:
      if (!tensor.views.empty()) std::swap(any(tensor.views).block, any(tensor.views).block);
      break;
    case 4:
      any(plan.places).offset = any(plan.places).offset;
      break;
    default:
      if (auto* const run = std::get_if<Run>(&any(steps)); run != nullptr && run->block)
        run->block->end -= pick(random, 0, 1);
  }
}

TEST(RunBlocks, CheckerAcceptsNoPlanThatElementsRefute) {
  Random random(4);
  const std::uint64_t all = testing::cases_of(2000);
  std::uint64_t refuted = 0;
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < all; ++i) {
    const Network network = random_network(random);
    const auto network_of_blocks = try_split(network.graph(), random_splits(network.graph(), random));
    if (!network_of_blocks) continue;
    Plan plan = testing::plan_of_blocks(*network_of_blocks, random_options(random));
    mutate(plan, random);
    plan.summary.peak = plan.memories[0].peak;
    const Faults faults = check_plan(plan, std::vector{network.graph()});
    const bool is_sound = std::none_of(faults.begin(), faults.end(), [](const Fault& fault) {
      return fault.kind != FaultKind::claim && fault.kind != FaultKind::capacity;
    });
    refused += is_sound ? 0 : 1;
    if (!is_sound) continue;
    const auto difference = oracle::difference_by_elements(network.graph(), plan);
    refuted += difference ? 1 : 0;
    ASSERT_EQ(difference.value_or(""), "") << i;
  }
  EXPECT_EQ(refuted, 0U);
  EXPECT_GT(refused, all / 10);
  EXPECT_LT(refused, all * 9 / 10);
}

/// The call's operator, and behind it one that reads all of its output.
Network network_in_front_of_copy(const testing::Call& call) {
  Network network = testing::network_of(call);
  Graph graph = network.graph();
  const TensorId output = *graph.subgraphs[0].operators[0].outputs[0];
  graph.tensors[output].kind = TensorKind::temporary;
  Tensor copy = graph.tensors[output];
  copy.kind = TensorKind::output;
  copy.name = "copy";
  graph.tensors.push_back(copy);
  graph.subgraphs[0].operators.push_back({.name = "copy",
                                          .type = "Reshape",
                                          .inputs = {output},
                                          .outputs = {graph.tensors.size() - 1},
                                          .copies = {{.size = graph.tensors[output].bytes}}});
  std::erase(graph.subgraphs[0].outputs, output);
  graph.subgraphs[0].outputs.push_back(graph.tensors.size() - 1);
  network.details[0].emplace_back();
  network.quantizations.push_back(network.quantizations[output]);
  network.input.content = std::move(graph);
  return network;
}

TEST(RunBlocks, OfEveryTypeThatSplits) {
  Random random(7);
  std::map<std::string, int> plans;
  for (const testing::Call& call : testing::all_row_calls()) {
    if (!call.more_outputs.empty()) continue;
    const Network network = network_in_front_of_copy(call);
    const Graph& graph = network.graph();
    if (graph.tensors.back().bytes == 0) continue;
    for (const RowAxis& along : graph.subgraphs[0].operators[0].row_axes) {
      if (!along.splits || call.output[along.axis] < 2) continue;
      const std::int64_t middle = pick(random, 1, call.output[along.axis] - 1);
      const auto network_of_blocks =
          try_split(graph, {{0, {.axis = along.axis, .bounds = {0, middle, call.output[along.axis]}}}});
      if (!network_of_blocks) continue;
      const Plan plan = testing::plan_of_blocks(*network_of_blocks, random_options(random));
      const check::Given given{&graph, nullptr};
      ASSERT_EQ(text_of(check::check_against(plan, {&given, 1})), "") << call.type;
      const Runner runner(network, {.kernels = KernelSet::plain});
      const RunResult result = runner.run(plan, {.check = RunCheck::tensors});
      ASSERT_EQ(fault_of(result), "") << call.type << " along " << along.axis;
      const RunResult expected = runner.run(plan_of_wholes(network), {});
      ASSERT_EQ(result.outputs.back().array, expected.outputs.back().array)
          << call.type << " along " << along.axis;
      ++plans[call.type];
    }
  }
  for (const char* const type :
       {"Conv", "CONV_2D", "DEPTHWISE_CONV_2D", "MatMul", "Gemm", "Softmax", "SOFTMAX", "Transpose",
        "TRANSPOSE", "Add", "ADD", "LayerNormalization", "Pad", "PAD"})
    EXPECT_GT(plans[type], 0) << type;
}

TEST(RunBlocks, OfHeadsNeedLess) {
  const Network network = attention(16, 4, 4);
  PlanOptions options;
  options.stream.emplace();
  options.alignment = 4;
  options.solve.time_limit = testing::time_of(std::chrono::seconds(2));
  const PlanResult apart = make_plan(network.input, options);
  ASSERT_EQ(text_of(apart.faults), "");
  ASSERT_TRUE(model::has_blocks(apart.plan));
  options.stream->blocks = StreamBlocks::none;
  const PlanResult together = make_plan(network.input, options);
  EXPECT_FALSE(model::has_blocks(together.plan));
  EXPECT_LT(apart.plan.summary.peak, together.plan.summary.peak);
  EXPECT_EQ(fault_of(run_plan(network, apart.plan, checked)), "");
  EXPECT_EQ(oracle::difference_by_elements(network.graph(), apart.plan).value_or(""), "");
  std::ostringstream json;
  write_json(apart.plan, json);
  EXPECT_EQ(parse_plan(json.str()), apart.plan);
}

/// The least peak of all orders of a program's steps.
Bytes least_of_all_orders(const stream::RowProgram& program) {
  std::map<std::vector<std::int32_t>, Bytes> least;  // highest load on the way to a state
  std::set<std::pair<Bytes, std::vector<std::int32_t>>> open;
  const stream::State start(program);
  least[start.counters()] = start.live();
  std::map<std::vector<std::int32_t>, stream::State> states{{start.counters(), start}};
  open.emplace(start.live(), start.counters());
  while (true) {
    const auto [peak, counters] = *open.begin();
    open.erase(open.begin());
    const stream::State state = states.at(counters);
    bool is_end = true;
    for (std::size_t op = 0; op < program.operators(); ++op) {
      if (state.is_finished(op)) continue;
      is_end = false;
      if (!state.is_ready(op)) continue;
      const Bytes load = std::max(peak, state.load_of(op));
      stream::State next = state;
      next.run(op);
      const auto [known, is_new] = least.try_emplace(next.counters(), load);
      if (!is_new && known->second <= load) continue;
      known->second = load;
      states.insert_or_assign(next.counters(), next);
      open.emplace(load, next.counters());
    }
    if (is_end) return peak;
  }
}

/// The claim is for all orders, in place or not, split as in the plan or not at all.
TEST(RunBlocks, ClaimsHoldForAllOrders) {
  Random random(9);
  std::size_t with_blocks = 0;
  for (int i = 0; i < 12; ++i) {
    const std::int64_t heads = pick(random, 2, 3);
    Input input = read_input(STOWAGE_EXAMPLES "/heads.json");
    Graph& graph = std::get<Graph>(input.content);
    const std::int64_t rows = pick(random, 2, 3);
    const std::vector<Shape> shapes{{rows, pick(random, 1, 40)},
                                    {heads, rows, pick(random, 1, 40)},
                                    {heads, rows, pick(random, 1, 8)},
                                    {rows, pick(random, 1, 16)}};
    for (std::size_t t = 0; t < shapes.size(); ++t) {
      graph.tensors[t].shape = shapes[t];
      graph.tensors[t].bytes = bytes_of(DType::int8, shapes[t]);
    }
    PlanOptions options;
    options.stream.emplace();
    options.io = i % 2 == 0 ? Io::rows : Io::arena;
    options.alignment = 1;
    const Plan plan = make_plan(input, options).plan;
    if (!plan.streaming) continue;
    const Bytes claim = std::ranges::find(plan.claims, ClaimScope::stream, &Claim::scope)->lower_bound;
    std::vector<Graph> graphs{graph};
    if (model::has_blocks(plan)) {
      graphs.push_back(model::stored(model::split(graph, model::splits_of(plan, 0, graph))));
      ++with_blocks;
    }
    for (const Graph& of : graphs) {
      for (const auto in_place : {stream::InPlace::never, stream::InPlace::where_possible}) {
        const auto model = stream::instances_of(of, {.io = options.io, .in_place = in_place});
        ASSERT_LE(claim, least_of_all_orders(stream::unroll(model))) << i;
      }
    }
  }
  EXPECT_GT(with_blocks, 2U);
}

}  // namespace
}  // namespace stowage
