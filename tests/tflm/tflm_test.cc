// What TensorFlow Lite Micro makes of a plan: when it keeps tensors, how it places the rest, and what may be
// given to it so that its arena never grows.

#include "stowage/tflm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "long_tests.h"
#include "oracle/tflm_planner.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "tflite_generated.h"
#include "tflite_models.h"
#include "tflm/runtime.h"

namespace stowage {
namespace {

using testing::naive_tflm_head;
using testing::tflite_model;
using testing::TfliteOperator;
using testing::TfliteSpec;
using testing::TfliteSubgraph;
using testing::TfliteTensor;
using tflm::Span;
using tflm::Spans;

Input read(const TfliteSpec& spec, const ImportOptions& options = {}) {
  return parse_input(tflite_model(spec), "model.tflite", options);
}

Graph graph_of(const TfliteSpec& spec) { return std::get<Graph>(read(spec).content); }

PlanOptions for_tflm() {
  PlanOptions options;
  options.target = Target::tflm;
  return options;
}

TfliteTensor bytes(std::int32_t size) { return {.shape = {size}, .dtype = DType::int8}; }

/// A chain of operators, each of one input and one output; n + 1 tensors of these sizes.
TfliteSpec chain(const std::vector<std::int32_t>& sizes, const std::vector<std::string>& types) {
  TfliteSubgraph main{.inputs = {0}, .outputs = {static_cast<std::int32_t>(sizes.size()) - 1}};
  for (const std::int32_t size : sizes) main.tensors.push_back(bytes(size));
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    main.operators.push_back({.type = types[i], .inputs = {index}, .outputs = {index + 1}});
  }
  return {.subgraphs = {main}};
}

TfliteSpec with_if() {
  const TfliteSubgraph branch{.tensors = {bytes(64), bytes(64)},
                              .operators = {{.type = "ABS", .inputs = {0}, .outputs = {1}}},
                              .inputs = {0},
                              .outputs = {1}};
  const TfliteTensor condition{.shape = {1}, .dtype = DType::boolean};
  return {.subgraphs = {{.tensors = {condition, bytes(64), bytes(64), bytes(64)},
                         .operators = {{.type = "IF", .inputs = {0, 1}, .outputs = {2}, .bodies = {1, 2}},
                                       {.type = "NEG", .inputs = {2}, .outputs = {3}}},
                         .inputs = {0, 1},
                         .outputs = {3}},
                        branch,
                        branch}};
}

TEST(TflmScopes, CountOperatorsAndBodies) {
  const Graph graph = graph_of(with_if());
  const tflm::Timeline timeline = tflm::timeline_of(graph, tflm::file_orders(graph));
  // The IF is in scope 1, its bodies begin in 2 and 4, their operators run in 3 and 5, the NEG in 6.
  EXPECT_EQ(
      timeline.tensors,
      (std::vector<Spans>{{{0, 5}}, {{0, 5}}, {{1, 6}}, {{6, 6}}, {{2, 3}}, {{3, 3}}, {{4, 5}}, {{5, 5}}}));
  EXPECT_EQ(timeline.operators[0], (std::vector<Spans>{{{1, 5}}, {{6, 6}}}));
}

TEST(TflmScopes, KeepWhatNobodyWritesFromTheBeginning) {
  TfliteSpec spec = chain({16, 16, 16}, {"RELU", "ABS"});
  spec.subgraphs[0].tensors.push_back(bytes(16));
  Graph graph = graph_of(spec);
  graph.subgraphs[0].operators[1].inputs.push_back(3);
  const tflm::Timeline timeline = tflm::timeline_of(graph, tflm::file_orders(graph));
  EXPECT_EQ(timeline.tensors, (std::vector<Spans>{{{0, 1}}, {{1, 2}}, {{2, 2}}, {{-1, 2}}}));
}

TEST(TflmScopes, KnowWhetherSpansMeet) {
  const tflm::Scopes scopes({{8, 9}, {1, 2}, {2, 4}});
  const auto meet = [&](Span span) { return scopes.meet(std::vector{span}); };
  EXPECT_FALSE(meet({-1, 0}));
  EXPECT_TRUE(meet({-1, 1}));
  EXPECT_TRUE(meet({4, 7}));
  EXPECT_FALSE(meet({5, 7}));
  EXPECT_TRUE(meet({5, 20}));
  EXPECT_FALSE(meet({10, 20}));
  EXPECT_FALSE(tflm::Scopes({}).meet(std::vector<Span>{{0, 9}}));
}

std::vector<tflm::Request> random_requests(std::mt19937& random) {
  std::vector<tflm::Request> requests(random() % 12);
  for (tflm::Request& request : requests) {
    const auto first = static_cast<Position>(random() % 8) - 1;
    request = {
        static_cast<Bytes>(random() % 6 + 1) * 16, {first, first + static_cast<Position>(random() % 4)}, {}};
    if (random() % 3 == 0) request.offset = static_cast<Bytes>(random() % 10) * 16;
  }
  return requests;
}

TEST(TflmArena, IsLaidOutAsTheRuntimeDoesIt) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto requests = random_requests(random);
    ASSERT_EQ(tflm::head_of(requests), naive_tflm_head(requests)) << i;
  }
}

TEST(TflmArena, CountsElementsOfHalfAByteAsBytes) {
  EXPECT_EQ(tflm::runtime_bytes({.dtype = DType::int4, .shape = Shape{3}, .bytes = 2}), 3);
  EXPECT_EQ(tflm::runtime_bytes({.dtype = DType::int16, .shape = Shape{3}, .bytes = 6}), 6);
}

TEST(TflmScratch, FollowsFromTheModel) {
  const std::string file = tflite_model(chain({16, 16, 16, 16, 16}, {"RELU", "MEAN", "my_own", "CONV_2D"}));
  const KernelRequests requests = kernel_requests(file, tflm_32);
  // For each element of the output, each dimension and each axis, of which this MEAN has none.
  ASSERT_EQ(requests.scratch.size(), 3U);
  EXPECT_EQ(requests.scratch[0].op, 1U);
  EXPECT_EQ(requests.scratch[0].bytes, 64);
  EXPECT_EQ(requests.scratch[1].bytes, 4);
  EXPECT_EQ(requests.scratch[2].bytes, 0);
  EXPECT_EQ(requests.unknown, (std::vector<OperatorAt>{{0, 2}}));
}

TEST(TflmScratch, UnpacksWeightsOfHalfAByte) {
  TfliteSpec small = chain({16, 16}, {"CONV_2D"});
  small.subgraphs[0].tensors.push_back({.shape = {8}, .dtype = DType::int4, .data = "wwww"});
  small.subgraphs[0].operators[0].inputs.push_back(2);
  const KernelRequests requests = kernel_requests(tflite_model(small), tflm_32);
  ASSERT_EQ(requests.scratch.size(), 1U);
  EXPECT_EQ(requests.scratch[0].bytes, 8);
}

/// Metadata that says that tensors 2 and 4 of the only subgraph are compressed.
std::string compression_of_weights() {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<flatbuffers::Offset<tflite::CompressedTensor>> tensors{
      tflite::CreateCompressedTensor(builder, 2, 1, 4), tflite::CreateCompressedTensor(builder, 4, 1, 4)};
  const auto listed = builder.CreateVector(tensors);
  const std::vector<flatbuffers::Offset<tflite::CompressedSubgraph>> subgraphs{
      tflite::CreateCompressedSubgraph(builder, listed)};
  builder.Finish(tflite::CreateCompression(builder, 1, builder.CreateVector(subgraphs)));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

TEST(TflmScratch, UnpacksCompressedWeights) {
  TfliteSpec spec = chain({16, 16}, {"CONV_2D"});
  auto& main = spec.subgraphs[0];
  main.tensors.push_back({.shape = {4, 1, 1, 25}, .dtype = DType::int8, .data = "packed"});
  main.tensors.push_back({.shape = {4}, .dtype = DType::int32, .data = "0123456789abcdef"});
  main.tensors.push_back({.shape = {7}, .dtype = DType::int8, .data = "packed"});  // which nobody reads
  main.operators[0].inputs = {0, 2, 3};
  EXPECT_EQ(runtime_for(tflite_model(spec), tflm_32), tflm_32);
  spec.metadata.push_back({.name = "COMPRESSION_METADATA", .data = compression_of_weights()});
  const std::string file = tflite_model(spec);
  const TflmRuntime runtime = runtime_for(file, tflm_32);
  EXPECT_TRUE(runtime.decompresses);
  const KernelRequests requests = kernel_requests(file, runtime);
  ASSERT_EQ(requests.scratch.size(), 1U);
  EXPECT_EQ(requests.scratch[0].bytes, 100);
  TflmRuntime optimized = tflm_32;
  optimized.kernels = TflmKernels::cmsis_nn_dsp;
  EXPECT_THROW((void)runtime_for(file, optimized), UsageError);
}

TEST(TflmScratch, AListReplacesAndMustBeComplete) {
  const TfliteSpec spec = chain({16, 16, 16}, {"MEAN", "my_own"});
  const KernelRequests requests = kernel_requests(tflite_model(spec), tflm_32);
  const Graph graph = graph_of(spec);
  EXPECT_THROW((void)completed(requests, {{0, 0, 100}}, graph), UsageError);
  const auto all = completed(requests, {{0, 1, 0}, {0, 0, 100}}, graph);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].bytes, 100);
  EXPECT_EQ(all[1].bytes, 0);
  EXPECT_EQ(completed(requests, {{0, 1, 7}}, graph).size(), 4U);
}

TEST(TflmTarget, SharesBytesOfReshapesOnly) {
  TfliteSpec spec = chain({64, 64, 64, 64}, {"RESHAPE", "RELU", "SQUEEZE"});
  spec.subgraphs[0].tensors[1].shape = {8, 8};
  spec.subgraphs[0].tensors[2].shape = {1, 64};
  const Input input = read(spec);
  const PlanResult any = make_plan(input);
  EXPECT_EQ(any.plan.summary.peak, 64);
  const PlanResult result = make_plan(input, for_tflm());
  EXPECT_TRUE(result.faults.empty());
  EXPECT_EQ(result.plan.summary.peak, 128);
  EXPECT_EQ(result.plan.copies_removed.count, 1);
  ASSERT_EQ(result.plan.copies_kept.size(), 1U);
  EXPECT_NE(result.plan.copies_kept[0].why.find("TensorFlow Lite Micro"), std::string::npos);
  const Graph& graph = std::get<Graph>(input.content);
  const TflmPlan plan = plan_for_tflm(graph, result.plan, 0, {});
  EXPECT_EQ(plan.plan.offsets[0], plan.plan.offsets[1]);
  EXPECT_EQ(plan.head, 128);
  EXPECT_TRUE(check_offline_offsets(graph, plan.plan.offsets).empty());
}

TEST(TflmPlan, BeatsTheRuntimesOwn) {
  // By size: 96 at 0, 64 above it, and 32 + 48 find no room beside the 64.
  TfliteSpec spec = chain({48, 96, 64, 80, 48}, {"CONV_2D", "CONV_2D", "CONV_2D", "CONV_2D"});
  const Input input = read(spec);
  const PlanResult result = make_plan(input, for_tflm());
  const Graph& graph = std::get<Graph>(input.content);
  const TflmPlan plan = plan_for_tflm(graph, result.plan, 0, {});
  EXPECT_EQ(plan.head, result.plan.summary.peak);
  EXPECT_LE(plan.head, plan.own_head);
  EXPECT_TRUE(plan.left.empty());
  EXPECT_TRUE(plan.plan.orders.empty());
  EXPECT_EQ(plan.may_ask, 0U);
}

TEST(TflmPlan, LeavesConstantsVariablesAndEmptyTensorsAlone) {
  TfliteSpec spec = chain({32, 32}, {"FULLY_CONNECTED"});
  auto& main = spec.subgraphs[0];
  main.tensors.push_back({.shape = {4}, .dtype = DType::int8, .data = "abcd"});
  main.tensors.push_back({.shape = {16}, .dtype = DType::int8, .is_variable = true});
  main.tensors.push_back({.shape = {0}, .dtype = DType::int8});
  main.tensors.push_back(bytes(640));  // which nobody uses
  main.operators[0].inputs = {0, 2, 3, 4};
  const Input input = read(spec);
  const Graph& graph = std::get<Graph>(input.content);
  const TflmPlan plan = plan_for_tflm(graph, make_plan(input, for_tflm()).plan, 0, {});
  EXPECT_EQ(plan.plan.offsets[2], std::nullopt);
  EXPECT_EQ(plan.plan.offsets[3], std::nullopt);
  EXPECT_EQ(plan.plan.offsets[4], std::nullopt);
  EXPECT_EQ(plan.plan.offsets[5], 0);
  EXPECT_TRUE(plan.left.empty());
  EXPECT_TRUE(check_offline_offsets(graph, plan.plan.offsets).empty());
}

TEST(TflmPlan, LeavesNeighboursOfUnknownScratchToTheRuntime) {
  const TfliteSpec spec = chain({64, 128, 64, 16, 16}, {"RELU", "ABS", "MEAN", "NEG"});
  const Input input = read(spec);
  const Graph& graph = std::get<Graph>(input.content);
  const Plan plan = make_plan(input, for_tflm()).plan;
  const TflmPlan unknown = plan_for_tflm(graph, plan, 0, {.unknown = {{0, 2}}});
  EXPECT_EQ(unknown.may_ask, 1U);
  EXPECT_EQ(unknown.plan.offsets[2], std::nullopt);
  EXPECT_EQ(unknown.plan.offsets[3], std::nullopt);
  const TflmPlan none = plan_for_tflm(graph, plan, 0, {});
  EXPECT_TRUE(none.left.empty());
  EXPECT_EQ(none.may_ask, 0U);
}

TEST(TflmPlan, MakesRoomForScratchThatIsKnown) {
  const TfliteSpec spec = chain({64, 128, 64, 16, 16}, {"RELU", "ABS", "MEAN", "NEG"});
  const Input input = read(spec, {.scratch = {{0, 2, 96}, {0, 2, 32}}});
  const Graph& graph = std::get<Graph>(input.content);
  const Plan plan = make_plan(input, for_tflm()).plan;
  const TflmPlan known = plan_for_tflm(graph, plan, 0, {});
  EXPECT_EQ(known.plan.offsets.size(), 5U);  // of the file's tensors alone
  EXPECT_EQ(known.own_head, 208);
  EXPECT_LE(known.head, known.own_head);
}

TEST(TflmPlan, GivesWayToTheRuntimesOwnWhereThatIsSmaller) {
  const Input input = read(chain({64, 128, 16, 48}, {"CONV_2D", "CONV_2D", "CONV_2D"}));
  const Graph& graph = std::get<Graph>(input.content);
  Plan high = make_plan(input, for_tflm()).plan;
  for (Place& place : high.places) place.offset += 1024;
  const TflmPlan plan = plan_for_tflm(graph, high, 0, {});
  EXPECT_EQ(plan.head, plan.own_head);
  EXPECT_EQ(plan.left.size(), 4U);
}

TEST(TflmPlan, IsRefusedWhereTheRuntimeCannotFollow) {
  const Input input = read(chain({64, 64}, {"CONV_2D"}));
  const Graph& graph = std::get<Graph>(input.content);
  PlanOptions options = for_tflm();
  options.alignment = 8;
  Plan plan = make_plan(read(chain({24, 24}, {"CONV_2D"})), options).plan;
  EXPECT_THROW((void)plan_for_tflm(graph_of(chain({24, 24}, {"CONV_2D"})), plan, 0, {}), UsageError);
  options = for_tflm();
  options.memories = {{.name = "a", .capacity = 64}, {.name = "b"}};
  EXPECT_THROW((void)plan_for_tflm(graph, make_plan(input, options).plan, 0, {}), UsageError);
  Graph accelerated = graph;
  accelerated.subgraphs[0].operators[0].type = "ethos-u";
  EXPECT_THROW((void)plan_for_tflm(accelerated, make_plan(input, for_tflm()).plan, 0, {}), UsageError);
}

TEST(TflmPlan, ListsOperatorsInThePlansOrder) {
  TfliteSpec spec = chain({64, 32, 32, 32}, {"CONV_2D", "CONV_2D", "ADD"});
  spec.subgraphs[0].operators[1].inputs = {0};
  spec.subgraphs[0].operators[2].inputs = {1, 2};
  const Input input = read(spec);
  const Graph& graph = std::get<Graph>(input.content);
  Plan plan = make_plan(input, for_tflm()).plan;
  std::swap(plan.clocks[0].steps[0], plan.clocks[0].steps[1]);  // whose outputs live on in either order
  const TflmPlan ours = plan_for_tflm(graph, plan, 0, {});
  EXPECT_EQ(ours.plan.orders, (tflm::Orders{{1, 0, 2}}));
  const std::string written = with_offline_plan(tflite_model(spec), ours.plan);
  const Graph again = std::get<Graph>(parse_input(written, "written.tflite").content);
  EXPECT_EQ(again.subgraphs[0].operators[0].outputs[0], 2U);
  EXPECT_TRUE(check_offline_offsets(again, read_offline_offsets(written).value()).empty());
  EXPECT_EQ(tflm_head(again, read_offline_offsets(written).value()), ours.head);
  // In another order scratch could need more than it would.
  spec.subgraphs[0].operators[1].type = "MEAN";
  const Input asking = read(spec);
  const TflmPlan nothing = plan_for_tflm(std::get<Graph>(asking.content), plan, 0, {.unknown = {{0, 1}}});
  EXPECT_TRUE(nothing.plan.orders.empty());
  EXPECT_EQ(nothing.left.size(), 4U);
}

/// Flips bytes of files: what can be read at all can be planned for the runtime, and what is written has no
/// faults.
TEST(TflmPlan, IsSoundForMutatedFiles) {
  std::mt19937 random(5);
  const std::string original = tflite_model(with_if());
  int planned = 0;
  for (int mutant = 0; planned < 100 && mutant < 10'000; ++mutant) {
    std::string file = original;
    for (std::size_t flips = random() % 3 + 1; flips > 0; --flips)
      file[random() % file.size()] = static_cast<char>(random() % 4 == 0 ? random() : random() % 16);
    try {
      const Input input = parse_input(file, "mutant.tflite");
      const TflmPlan ours =
          plan_for_tflm(std::get<Graph>(input.content), make_plan(input, for_tflm()).plan, 0, {});
      ASSERT_LE(ours.head, ours.own_head) << mutant;
      const std::string written = with_offline_plan(file, ours.plan);
      const Graph again = std::get<Graph>(parse_input(written, "written.tflite").content);
      const Faults faults = check_offline_offsets(again, read_offline_offsets(written).value());
      ASSERT_TRUE(faults.empty()) << mutant << ": " << faults.front().what;
      ++planned;
    } catch (const Error&) {
    } catch (const UsageError&) {
    }
  }
  EXPECT_EQ(planned, 100);
}

TEST(TflmArena, IsNotLaidOutForMoreThanAnyDeviceHas) {
  TfliteSpec spec = chain({16, 16}, {"CONV_2D"});
  spec.subgraphs[0].tensors.resize(10'001, bytes(16));
  const Graph graph = graph_of(spec);
  EXPECT_THROW((void)tflm_head(graph, OfflineOffsets(graph.tensors.size())), UsageError);
}

std::string fault_of(const Graph& graph, const OfflineOffsets& offsets) {
  const Faults faults = check_offline_offsets(graph, offsets);
  return faults.empty() ? "" : faults.front().what;
}

TEST(TflmCheck, FindsWhatIsWrongWithOffsets) {
  TfliteSpec spec = chain({64, 64, 64, 64}, {"CONV_2D", "RESHAPE", "CONV_2D"});
  spec.subgraphs[0].tensors[2].shape = {8, 8};
  spec.subgraphs[0].tensors.push_back({.shape = {4}, .dtype = DType::int8, .data = "abcd"});
  spec.subgraphs[0].tensors.push_back({.shape = {16}, .dtype = DType::int8, .is_variable = true});
  const Graph graph = graph_of(spec);
  const std::optional<Bytes> none;
  EXPECT_EQ(fault_of(graph, {0, 64, 64, 0, none, none}), "");
  EXPECT_EQ(fault_of(graph, {0, 64, 128, 0, none, none}), "");
  EXPECT_EQ(fault_of(graph, {0, none, 0, 64, none, none}), "");
  EXPECT_NE(fault_of(graph, {0, 48, 112, 0, none, none}).find("the same bytes in scope 1"),
            std::string::npos);
  EXPECT_NE(fault_of(graph, {0, 64, 80, 0, none, none}).find("scope 2"), std::string::npos);
  EXPECT_NE(fault_of(graph, {0, 64, 64, 64, none, none}).find("scope 3"), std::string::npos);
  EXPECT_NE(fault_of(graph, {8, 80, 80, 0, none, none}).find("a multiple of 16"), std::string::npos);
  EXPECT_NE(fault_of(graph, {0, 64, 64, 0, 128, none}).find("a constant"), std::string::npos);
  EXPECT_NE(fault_of(graph, {0, 64, 64, 0, none, 128}).find("a variable"), std::string::npos);
}

/// A random network of two-input operators, some of which ask for scratch.
TfliteSpec random_network(std::mt19937& random) {
  static const std::vector<std::string> types{"ADD", "CONV_2D", "MEAN", "custom", "MUL", "RESHAPE"};
  TfliteSubgraph main{.inputs = {0}};
  main.tensors.push_back(bytes(static_cast<std::int32_t>(random() % 20 + 1) * 16));
  const std::size_t operators = random() % 9 + 1;
  for (std::size_t o = 0; o < operators; ++o) {
    const auto produced = static_cast<std::int32_t>(main.tensors.size());
    const auto near = [&] {
      return produced - 1 -
             static_cast<std::int32_t>(random() %
                                       std::min<std::uint32_t>(3, static_cast<std::uint32_t>(produced)));
    };
    const std::string& type = types[random() % types.size()];
    TfliteOperator op{.type = type, .inputs = {near()}, .outputs = {produced}};
    if (type == "ADD" || type == "MUL") op.inputs.push_back(near());
    const auto size = static_cast<std::int32_t>(random() % 20 + 1) * 16;
    main.tensors.push_back(type == "RESHAPE" ? main.tensors[static_cast<std::size_t>(op.inputs[0])]
                                             : bytes(size));
    main.operators.push_back(op);
  }
  main.outputs = {static_cast<std::int32_t>(main.tensors.size()) - 1};
  return {.subgraphs = {main}};
}

/// Operators that may ask for scratch.
std::vector<OperatorAt> askers_of(const Graph& graph) {
  std::vector<OperatorAt> askers;
  const auto& operators = graph.subgraphs[0].operators;
  for (std::size_t o = 0; o < operators.size(); ++o) {
    if (operators[o].type == "MEAN" || operators[o].type == "custom") askers.push_back({0, o});
  }
  return askers;
}

std::vector<ScratchRequest> random_scratch(const std::vector<OperatorAt>& askers, std::mt19937& random) {
  std::vector<ScratchRequest> requests;
  for (const OperatorAt& it : askers) {
    for (std::size_t i = random() % 3; i > 0; --i)
      requests.push_back({it.subgraph, it.op, static_cast<Bytes>(random() % 500)});
  }
  return requests;
}

/// The head with these offsets when kernels ask for what they did not tell.
Bytes head_with(const TfliteSpec& spec, const std::vector<ScratchRequest>& scratch, const OfflinePlan& plan) {
  const Input input = read(spec, {.scratch = scratch});
  const Graph& graph = std::get<Graph>(input.content);
  tflm::Orders orders = tflm::file_orders(graph);
  for (std::size_t s = 0; s < plan.orders.size(); ++s) {
    if (!plan.orders[s].empty()) orders[s] = plan.orders[s];
  }
  return naive_tflm_head(tflm::requests_of(graph, plan.offsets, orders, tflm::timeline_of(graph, orders)));
}

/// The network with its operators in the plan's order.
Graph in_order_of(const OfflinePlan& plan, Graph graph) {
  for (std::size_t s = 0; s < plan.orders.size(); ++s) {
    const std::vector<Operator> operators = graph.subgraphs[s].operators;
    for (std::size_t i = 0; i < plan.orders[s].size(); ++i)
      graph.subgraphs[s].operators[i] = operators[plan.orders[s][i]];
  }
  return graph;
}

TEST(TflmPlan, NeverMakesTheArenaLarger) {
  std::mt19937 random(3);
  int better = 0;
  int worse = 0;
  int better_unknown = 0;
  const int networks = testing::is_in_a_hurry() ? 300 : 1000;
  for (int i = 0; i < networks; ++i) {
    const TfliteSpec spec = random_network(random);
    const Graph plain = graph_of(spec);
    const std::vector<ScratchRequest> scratch = random_scratch(askers_of(plain), random);
    const OfflineOffsets nothing(plain.tensors.size());
    const Bytes own = head_with(spec, scratch, {nothing});
    {  // known: exactly
      const Input input = read(spec, {.scratch = scratch});
      const TflmPlan plan =
          plan_for_tflm(std::get<Graph>(input.content), make_plan(input, for_tflm()).plan, 0, {});
      const Bytes head = head_with(spec, scratch, plan.plan);
      ASSERT_EQ(head, plan.head) << i;
      ASSERT_EQ(own, plan.own_head) << i;
      ASSERT_LE(head, own) << i;
      ASSERT_TRUE(check_offline_offsets(in_order_of(plan.plan, plain), plan.plan.offsets).empty()) << i;
      better += head < own ? 1 : 0;
    }
    const Input input = read(spec);
    const TflmPlan plan =
        plan_for_tflm(plain, make_plan(input, for_tflm()).plan, 0, {.unknown = askers_of(plain)});
    ASSERT_TRUE(check_offline_offsets(in_order_of(plan.plan, plain), plan.plan.offsets).empty()) << i;
    const Bytes head = head_with(spec, scratch, plan.plan);
    worse += head > own ? 1 : 0;
    better_unknown += head < own ? 1 : 0;
  }
  EXPECT_GT(better, networks / 20);
  EXPECT_GT(better_unknown, networks / 50);
  EXPECT_EQ(worse, 0);
}

}  // namespace
}  // namespace stowage
