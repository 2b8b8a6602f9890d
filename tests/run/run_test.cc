// The machine that runs networks inside plans, with kernels made for the purpose.

#include "stowage/run.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "check_cases.h"
#include "long_tests.h"
#include "onnx_models.h"
#include "random_networks.h"
#include "run/arena.h"
#include "run/inputs.h"
#include "run/operands.h"
#include "run/plan_run.h"
#include "run/program.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using model::ClockTree;
using run::Arena;

std::string fault_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const RunFault& fault) {
    return fault.what;
  }
  return "";
}

/// Two buffers in one memory, of which b may begin before a ends.
Plan plan_of_two(Lifetime a, Bytes offset_a, Lifetime b, Bytes offset_b) {
  Plan plan;
  plan.models = {{}};
  plan.clocks = {{}};
  plan.memories = {{{.name = "arena"}, 32, 0}};
  plan.buffers = {{.id = "a", .size = 16, .pieces = {{0, 16, a}}},
                  {.id = "b", .size = 16, .pieces = {{0, 16, b}}}};
  plan.places = {{0, offset_a}, {0, offset_b}};
  return plan;
}

TEST(RunArena, FillsWhatIsGivenBackAndNothingElse) {
  const Plan plan = plan_of_two({0, 2}, 0, {1, 4}, 16);
  const ClockTree tree(plan.clocks);
  Arena arena(plan, tree, 0);
  arena.move_to(0, 0);
  EXPECT_EQ(arena.live(), 16);
  std::memset(arena.bytes(), 1, 16);
  arena.move_to(0, 1);
  EXPECT_EQ(arena.live(), 32);
  std::memset(arena.bytes() + 16, 2, 16);
  EXPECT_EQ(arena.bytes()[0], std::byte{1});
  EXPECT_EQ(arena.first_spoilt(), std::nullopt);
  arena.move_to(0, 2);
  EXPECT_EQ(arena.live(), 16);
  EXPECT_NE(arena.bytes()[0], std::byte{1});
  EXPECT_NE(arena.bytes()[15], std::byte{1});
  EXPECT_EQ(arena.bytes()[16], std::byte{2});
  EXPECT_EQ(arena.holder_of(0), "nobody");
  EXPECT_EQ(arena.holder_of(31), "buffer 'b'");
  arena.bytes()[7] = std::byte{5};
  EXPECT_EQ(arena.first_spoilt(), 7);
}

TEST(RunArena, RefusesTwoHoldersOfOneByte) {
  const Plan plan = plan_of_two({0, 2}, 0, {1, 3}, 15);
  const ClockTree tree(plan.clocks);
  Arena arena(plan, tree, 0);
  arena.move_to(0, 0);
  EXPECT_EQ(fault_of([&] { arena.move_to(0, 1); }),
            "buffers 'a' and 'b' both hold byte 15 of memory 'arena' at position 1");
  const Plan other = plan_of_two({1, 3}, 15, {0, 2}, 0);
  const ClockTree other_tree(other.clocks);
  Arena again(other, other_tree, 0);
  again.move_to(0, 0);
  EXPECT_NE(fault_of([&] { again.move_to(0, 1); }), "");
}

TEST(RunArena, LetsOneFollowTheOther) {
  const Plan plan = plan_of_two({0, 2}, 0, {2, 3}, 0);
  const ClockTree tree(plan.clocks);
  Arena arena(plan, tree, 0);
  for (const Position at : {0, 1, 2}) arena.move_to(0, at);
  EXPECT_EQ(arena.holder_of(0), "buffer 'b'");
}

TEST(RunArena, KeepsWhatABufferHoldsBeforeAndAfterAJump) {
  const Plan plan = plan_of_two({0, 4}, 0, {2, 3}, 16);
  const ClockTree tree(plan.clocks);
  Arena arena(plan, tree, 0);
  arena.move_to(0, 0);
  std::memset(arena.bytes(), 1, 16);
  arena.move_to(0, 2);
  std::memset(arena.bytes() + 16, 2, 16);
  arena.move_to(0, 1);
  EXPECT_EQ(arena.bytes()[3], std::byte{1});
  EXPECT_NE(arena.bytes()[16], std::byte{2});
  EXPECT_EQ(arena.live(), 16);
}

TEST(RunArena, KeepsBytesThatAnotherPieceOfTheBufferTakesOver) {
  Plan plan = plan_of_two({0, 1}, 0, {0, 1}, 16);
  plan.buffers[0].pieces = {{0, 16, {0, 2}}, {4, 4, {2, 3}}};
  const ClockTree tree(plan.clocks);
  Arena arena(plan, tree, 0);
  arena.move_to(0, 0);
  std::memset(arena.bytes(), 1, 16);
  arena.move_to(0, 1);
  arena.move_to(0, 2);
  EXPECT_NE(arena.bytes()[3], std::byte{1});
  EXPECT_EQ(arena.bytes()[4], std::byte{1});
  EXPECT_EQ(arena.bytes()[7], std::byte{1});
  EXPECT_NE(arena.bytes()[8], std::byte{1});
  EXPECT_EQ(fault_of([&] { arena.expect_held(0, 4, 4, "x"); }), "");
  EXPECT_EQ(fault_of([&] { arena.expect_held(0, 4, 5, "tensor 'x'"); }),
            "tensor 'x' needs byte 8 of memory 'arena', which nobody holds at position 2, not buffer 'a'");
  EXPECT_NE(fault_of([&] { arena.expect_held(0, 3, 2, "x"); }), "");
}

TEST(RunArena, RefusesBuffersOutsideTheMemory) {
  const Plan plan = plan_of_two({0, 1}, 17, {0, 1}, 0);
  const ClockTree tree(plan.clocks);
  EXPECT_EQ(fault_of([&] { const Arena arena(plan, tree, 0); }),
            "buffer 'a' has bytes 17 to 33 of memory 'arena', which has 32");
}

/// x -> a -> b -> y, 16 bytes each; every operator adds one to every byte, but for what a test changes.
class RunMachine : public ::testing::Test {
 protected:
  RunMachine() : it_(cases::small_case()) {
    program_.graph = &it_.graph;
    program_.constants.resize(it_.graph.tensors.size());
    program_.computed.resize(it_.graph.tensors.size());
    program_.tensors_of = {{}};
    program_.kernels.emplace_back();
    for (std::size_t o = 0; o < 3; ++o) {
      program_.kernels[0].push_back({.run = [](const kernels::Pointers& pointers) {
        for (std::size_t i = 0; i < 16; ++i)
          pointers.output<std::uint8_t>(0)[i] =
              static_cast<std::uint8_t>(pointers.input<std::uint8_t>(0)[i] + 1);
      }});
    }
  }

  /// The first output byte, or what was wrong.
  std::string run(RunCheck check = RunCheck::tensors) {
    result_ = {};
    const RunOptions options{.check = check};
    return [&]() -> std::string {
      std::string first;
      const std::string fault = fault_of([&] {
        const run::ModelToRun model{
            .program = &program_, .value = [](TensorId) { return std::vector<std::byte>(16, std::byte{4}); }};
        run::run_models({&model, 1}, it_.plan, options, result_);
        first = std::to_string(std::to_integer<int>(result_.outputs.at(0).array.data.at(0)));
      });
      return fault.empty() ? first : fault;
    }();
  }

  std::size_t buffer_of(const std::string& tensor) {
    return cases::tensor_named(it_.plan, tensor).views.at(0).buffer;
  }

  cases::Case it_;
  run::Program program_{};
  RunResult result_{};
};

TEST_F(RunMachine, RunsTheStepsAndReportsThem) {
  EXPECT_EQ(run(), "7");
  ASSERT_EQ(result_.steps.size(), 3U);
  for (const StepReport& step : result_.steps) EXPECT_EQ(step.live, 32) << step.what;
  Bytes end = 0;
  for (std::size_t b = 0; b < it_.plan.buffers.size(); ++b)
    end = std::max(end, it_.plan.places[b].offset + it_.plan.buffers[b].size);
  EXPECT_EQ(result_.touched, std::vector<Bytes>{end});
}

TEST_F(RunMachine, FindsAStepThatComesTooEarly) {
  auto& steps = it_.plan.clocks[0].steps;
  std::swap(steps[0], steps[1]);
  EXPECT_EQ(run(), "tensor 'a' is read by operator 'Relu1' (Relu, 1 of subgraph 0) before it is written");
}

TEST_F(RunMachine, FindsAStepThatIsMissing) {
  it_.plan.clocks[0].steps.pop_back();
  EXPECT_EQ(run(), "tensor 'y' is read by the caller before it is written");
}

TEST_F(RunMachine, FindsALifeThatEndsTooEarly) {
  const std::size_t buffer = buffer_of("a");
  it_.plan.buffers[buffer].pieces[0].life.upper = 1;
  EXPECT_NE(run().find("tensor 'a' of operator 'Relu1' (Relu, 1 of subgraph 0) needs byte"),
            std::string::npos)
      << run();
}

TEST_F(RunMachine, FindsAViewThatIsWrittenWhenItHasNoPlace) {
  cases::tensor_named(it_.plan, "b").views[0].life.lower = 2;
  EXPECT_EQ(run(),
            "tensor 'b' of operator 'Relu1' (Relu, 1 of subgraph 0) has no place in the plan at position 1");
}

TEST_F(RunMachine, FindsATensorThatIsWrittenOver) {
  // b goes where x is said to live on, in a buffer that holds both.
  const View target = cases::tensor_named(it_.plan, "a").views[0];
  auto& views = cases::tensor_named(it_.plan, "y").views;
  it_.plan.buffers[views[0].buffer].pieces.clear();
  views[0].buffer = target.buffer;
  it_.plan.buffers[target.buffer].pieces = {{0, 16, {0, 3}}};
  cases::tensor_named(it_.plan, "b").views[0].buffer = target.buffer;
  program_.kernels[0][1].run = [](const kernels::Pointers& pointers) {
    for (std::size_t i = 16; i-- > 0;)  // it needs its whole input for each element
      pointers.output<std::uint8_t>(0)[i] =
          static_cast<std::uint8_t>(pointers.input<std::uint8_t>(0)[15 - i] + i);
  };
  EXPECT_NE(run().find("tensor 'b' differs from a run with memory of its own"), std::string::npos) << run();
  const std::string fault = run(RunCheck::outputs);
  EXPECT_NE(fault.find("tensor 'y' differs from a run with memory of its own"), std::string::npos) << fault;
}

TEST_F(RunMachine, RunsTheReferenceAfterThePlanIfOnlyOutputsCount) {
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < program_.kernels[0].size(); ++k) {
    program_.kernels[0][k].run = [&order, k,
                                  run = program_.kernels[0][k].run](const kernels::Pointers& pointers) {
      order.push_back(k);
      run(pointers);
    };
  }
  EXPECT_EQ(run(RunCheck::outputs), "7");
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 0, 1, 2}));
  order.clear();
  EXPECT_EQ(run(RunCheck::tensors), "7");
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 0, 1, 1, 2, 2}));
}

TEST_F(RunMachine, RefusesToWriteOverWhatIsReadElsewhereThanInPlace) {
  const View target = cases::tensor_named(it_.plan, "a").views[0];
  View& moved = cases::tensor_named(it_.plan, "b").views[0];
  it_.plan.buffers[target.buffer].pieces = {{0, 24, {0, 3}}};
  it_.plan.buffers[target.buffer].size = 24;
  it_.plan.memories[0].peak += 64;
  it_.plan.places[target.buffer].offset = it_.plan.memories[0].peak - 32;
  moved.buffer = target.buffer;
  moved.offset = 8;
  EXPECT_EQ(run(),
            "operator 'Relu1' (Relu, 1 of subgraph 0) writes tensor 'b' over tensor 'a', which it needs");
}

TEST_F(RunMachine, NamesWhoWroteOverWhatIsRead) {
  // y is made of x again, whose bytes b has taken.
  it_.graph.subgraphs[0].operators[2].inputs[0] = it_.graph.subgraphs[0].inputs[0];
  const View target = cases::tensor_named(it_.plan, "x").views[0];
  it_.plan.buffers[target.buffer].pieces = {{0, 16, {0, 3}}};
  it_.plan.memories[0].peak += 64;
  it_.plan.places[target.buffer].offset = it_.plan.memories[0].peak - 32;
  View& moved = cases::tensor_named(it_.plan, "b").views[0];
  it_.plan.buffers[moved.buffer].pieces.clear();
  moved.buffer = target.buffer;
  EXPECT_EQ(
      run(),
      "operator 'Relu2' (Relu, 2 of subgraph 0) reads tensor 'x', but byte " +
          std::to_string(it_.plan.places[target.buffer].offset) + " of memory 'arena', held by buffer '" +
          it_.plan.buffers[target.buffer].id +
          "', is of tensor 'b', written by operator 'Relu1' (Relu, 1 of subgraph 0) at position 1, where it "
          "should be");
}

TEST_F(RunMachine, RefusesStepsThatTheNetworkDoesNotHave) {
  std::get<stowage::Run>(it_.plan.clocks[0].steps[2]).path = {0, 3};
  EXPECT_EQ(run(), "step 2 is not an operator of the network that could run there");
  std::get<stowage::Run>(it_.plan.clocks[0].steps[2]).path = {1, 0};
  EXPECT_EQ(run(), "step 2 is not an operator of the network that could run there");
  std::get<stowage::Run>(it_.plan.clocks[0].steps[2]).path = {};
  EXPECT_EQ(run(), "step 2 is not an operator of the network that could run there");
}

TEST_F(RunMachine, WorksOnAlignedCopiesWhereThePlanHasNone) {
  const auto make_float = [](Tensor& tensor) {
    tensor.dtype = DType::float32;
    tensor.shape = Shape{tensor.bytes / 4};
  };
  for (Tensor& tensor : it_.graph.tensors) make_float(tensor);
  for (PlannedTensor& tensor : it_.plan.tensors) make_float(tensor.tensor);
  it_.plan.memories[0].peak += 1;
  for (Place& place : it_.plan.places) place.offset += 1;
  bool is_aligned = true;
  const auto inner = program_.kernels[0][0].run;
  for (kernels::Kernel& kernel : program_.kernels[0]) {
    kernel.run = [&is_aligned, inner](const kernels::Pointers& pointers) {
      const auto address = reinterpret_cast<std::uintptr_t>(pointers.inputs[0]);
      is_aligned = is_aligned && address % alignof(float) == 0;
      inner(pointers);
    };
  }
  EXPECT_EQ(run(), "7");
  EXPECT_TRUE(is_aligned);
}

/// A kernel that writes behind its output.
void write_behind(run::Program& program) {
  const auto inner = program.kernels[0][1].run;
  program.kernels[0][1].run = [inner](const kernels::Pointers& pointers) {
    inner(pointers);
    pointers.outputs[0][16] = std::byte{1};
  };
}

/// x, then b with nobody behind it, then a.
void lay_out_with_a_gap(Plan& plan, const std::string& tensor) {
  const std::size_t buffer = cases::tensor_named(plan, tensor).views.at(0).buffer;
  plan.memories[0].peak += 64;
  plan.places[buffer].offset = plan.memories[0].peak - 32;
}

TEST_F(RunMachine, StopsAtAByteThatIsNotTheOperatorsOwn) {
  if (!testing::has_address_sanitizer) GTEST_SKIP() << "is for builds with AddressSanitizer";
  lay_out_with_a_gap(it_.plan, "b");
  write_behind(program_);
  EXPECT_DEATH(run(),
               "stowage: operator 'Relu1' .Relu, 1 of subgraph 0. touches byte [0-9]+ of memory .arena., "
               "held by nobody");
}

TEST_F(RunMachine, StopsAtADeadByteAndNamesWhoseItWas) {
  if (!testing::has_address_sanitizer) GTEST_SKIP() << "is for builds with AddressSanitizer";
  lay_out_with_a_gap(it_.plan, "x");
  const Bytes x = it_.plan.places[buffer_of("x")].offset;
  const Bytes b = it_.plan.places[buffer_of("b")].offset;
  program_.kernels[0][1].run = [x, b](const kernels::Pointers& pointers) {
    pointers.outputs[0][0] = pointers.outputs[0][x - b];
  };
  EXPECT_DEATH(
      run(),
      "operator 'Relu1' .Relu, 1 of subgraph 0. touches byte [0-9]+ of memory .arena., held by nobody, where "
      "tensor 'x' is or was");
}

TEST_F(RunMachine, FindsAByteThatNobodyHoldsAndThatIsWritten) {
  if (testing::has_address_sanitizer) GTEST_SKIP() << "AddressSanitizer ends the program before";
  lay_out_with_a_gap(it_.plan, "b");
  write_behind(program_);
  EXPECT_NE(run().find("operator 'Relu1' (Relu, 1 of subgraph 0) wrote to byte"), std::string::npos) << run();
}

/// So many that their places in the output come in any order when they are sorted.
TEST(RunProgram, HasTheValueOfAConstantOnce) {
  const std::string bytes =
      testing::onnx_model({.nodes = {testing::node("Constant", {}, {"c"},
                                                   {testing::attribute("value", testing::reals("", {5, 6}))}),
                                     testing::node("Add", {"x", "c"}, {"y"})},
                           .inputs = {testing::tensor_value("x", {2})},
                           .outputs = {testing::tensor_value("y", {2})}})
          .SerializeAsString();
  const Network network = parse_network(bytes, "m.onnx");
  const run::Program program = run::make_program(network, {.kernels = KernelSet::plain});
  const TensorId c = *network.graph().subgraphs[0].operators[1].inputs[1];
  EXPECT_FALSE(network.details[0][0].attributes.has("value"));
  EXPECT_EQ(program.constants[c].size(), 8U);
  EXPECT_EQ(program.constants[c].data(), network.input.constants.of(c).data());
  EXPECT_EQ(program.held, 0);
}

TEST(RunTemporaryMemory, IsAsLargeAsTheLargestTaskWants) {
  constexpr Bytes large = 1 << 20;
  run::TemporaryMemory memory;
  static_cast<void>(memory.take(large));
  memory.clear();
  static_cast<void>(memory.take(2 * large));  // instead of the block before
  EXPECT_EQ(memory.held(), 2 * large);
  static_cast<void>(memory.take(large));
  memory.clear();
  EXPECT_EQ(memory.held(), 3 * large);
}

TEST(RunFootprint, OfAConcatOfManyInPlaceIsNothing) {
  constexpr int many = 64;
  testing::NetworkMaker maker("a");
  const TensorId x = maker.input(8);
  std::vector<TensorId> parts;
  for (int i = 0; i < many; ++i) parts.push_back(maker.apply("Neg", {x}));
  maker.output(maker.apply("Concat", parts));
  const std::vector<Network> networks{maker.take()};
  const Plan plan = make_plan(networks[0].input, {.alignment = 16, .alias = Alias::all}).plan;
  EXPECT_EQ(plan.copies_removed.count, many);
  const RunResult run =
      run_plan(networks, plan, {.kernels = KernelSet::plain, .check = RunCheck::tensors, .seed = 3});
  EXPECT_FALSE(run.fault) << run.fault->what;
}

TEST(RunRandom, WeightsAreAFunctionOfNamePlaceAndSeed) {
  std::vector<std::byte> bytes(4 * sizeof(float));
  const auto draw = [&](const Shape& shape, const std::string& name, std::uint64_t seed) {
    run::fill_random_weight(bytes, shape, name, seed);
    std::vector<float> values(4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  const auto vector = draw({4}, "w", 1);
  for (const float value : vector) {
    EXPECT_GE(value, 0.5F);
    EXPECT_LT(value, 1.5F);
  }
  EXPECT_EQ(vector, draw({4}, "w", 1));
  EXPECT_NE(vector, draw({4}, "w", 2));
  EXPECT_NE(vector, draw({4}, "v", 1));
  // Computed apart from this code.
  EXPECT_FLOAT_EQ(vector[0], 0.77985793F);
  const auto matrix = draw({2, 2}, "w", 1);
  EXPECT_NEAR(matrix[0], (2 * (vector[0] - 0.5F) - 1) * 1.2247449F, 1e-6F);
}

TEST(RunRandom, OnlyRepeatedFloatsAreConstantFilled) {
  const Tensor tensor{.name = "w", .dtype = DType::float32, .shape = Shape{3}, .bytes = 12};
  std::vector<std::byte> bytes(12, std::byte{1});
  EXPECT_TRUE(run::is_constant_filled(tensor, bytes));
  bytes[11] = std::byte{2};
  EXPECT_FALSE(run::is_constant_filled(tensor, bytes));
  const Tensor integers{.name = "w", .dtype = DType::int32, .shape = Shape{3}, .bytes = 12};
  bytes[11] = std::byte{1};
  EXPECT_FALSE(run::is_constant_filled(integers, bytes));
  EXPECT_FALSE(run::is_constant_filled(tensor, std::span(bytes).first(4)));
}

}  // namespace
}  // namespace stowage
