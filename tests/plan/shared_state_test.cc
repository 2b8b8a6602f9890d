// State that several models share, over several runs: values as if it were kept outside of the plans.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "check/states.h"
#include "operators/states.h"
#include "random_networks.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::NetworkMaker;
using Random = std::mt19937_64;

/// What a model does with the state.
struct Role {
  bool reads = true;
  bool writes = true;
  bool copies = false;  ///< The operator that writes the new state cannot write it over the old one.
};

std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

/// Tensors are called x, old, new and y; others by number.
Network model(const std::string& name, const Role& role, std::int64_t count, Random& random) {
  NetworkMaker maker(name);
  std::vector<TensorId> values{maker.input(count)};
  std::vector<std::pair<TensorId, std::string>> names{{values[0], "x"}};
  std::optional<TensorId> old_state;
  if (role.reads) {
    old_state = maker.input(count);
    values.push_back(*old_state);
    names.emplace_back(*old_state, "old");
  }
  const auto grow = [&](std::size_t operators) {
    for (std::size_t i = 0; i < operators; ++i) {
      const TensorId a = values[below(random, values.size())];
      const TensorId b = values[below(random, values.size())];
      values.push_back(below(random, 3) == 0 ? maker.apply("Neg", {a}) : maker.apply("Add", {a, b}));
    }
  };
  grow(below(random, 5));
  std::optional<TensorId> new_state;
  if (role.writes) {
    const TensorId a = values[below(random, values.size())];
    new_state = maker.apply(
        role.copies ? "Softmax" : "Add",
        role.copies ? std::vector{*old_state} : std::vector{a, old_state ? *old_state : values[0]});
    maker.output(*new_state);
    names.emplace_back(*new_state, "new");
    if (below(random, 2) == 0) values.push_back(*new_state);
    if (old_state) std::erase(values, *old_state);  // it is gone
  }
  grow(below(random, 4));
  const TensorId y = maker.apply("Add", {values.back(), values[below(random, values.size())]});
  maker.output(y);
  names.emplace_back(y, "y");
  Network network = maker.take();
  auto& graph = std::get<Graph>(network.input.content);
  for (const auto& [tensor, tensor_name] : names) graph.tensors[tensor].name = tensor_name;
  if (old_state && new_state) graph.ties.push_back({*new_state, *old_state});
  validate(graph);
  EXPECT_EQ(operators::settle_states(graph).empty(), !role.copies);
  return network;
}

Array numbers(std::int64_t count, Random& random) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(below(random, 1000)) / 64);
  const auto* const bytes = reinterpret_cast<const std::byte*>(values.data());
  return {DType::float32, {count}, std::vector<std::byte>(bytes, bytes + values.size() * sizeof(float))};
}

/// The models in the order in which they run, and how that is written.
struct Scenario {
  std::vector<Network> networks{};
  std::vector<Role> roles{};
  PlanOptions options{};
};

Scenario scenario(const std::vector<Role>& roles, const std::string& run, Random& random) {
  Scenario made{.roles = roles};
  made.options.run = run;
  made.options.solve.effort = 2000;
  const std::int64_t count = 1 + static_cast<std::int64_t>(below(random, 40));
  for (std::size_t m = 0; m < roles.size(); ++m)
    made.networks.push_back(model(std::string(1, static_cast<char>('a' + m)), roles[m], count, random));
  for (std::size_t writer = 0; writer < roles.size(); ++writer) {
    if (!roles[writer].writes) continue;
    for (std::size_t reader = 0; reader < roles.size(); ++reader) {
      if (roles[reader].reads && reader != writer)
        made.options.states.push_back(
            {made.networks[writer].input.info.name + ".new", made.networks[reader].input.info.name + ".old"});
    }
  }
  return made;
}

std::vector<Input> inputs_of(const std::vector<Network>& networks) {
  std::vector<Input> inputs;
  for (const Network& network : networks) inputs.push_back(network.input);
  return inputs;
}

const Array& output_of(const RunResult& result, std::size_t model, const std::string& name) {
  const auto found = std::ranges::find_if(
      result.outputs, [&](const NamedArray& it) { return it.model == model && it.name == name; });
  return found->array;
}

/// Runs the plan three times; the caller of models alone keeps the state.
void expect_rounds(const Scenario& it, const Plan& plan, Random& random) {
  const std::int64_t count = it.networks[0].graph().tensors[0].bytes / 4;
  Array state = numbers(count, random);
  for (std::uint64_t round = 0; round < 3; ++round) {
    RunOptions options{.kernels = KernelSet::plain, .check = RunCheck::tensors, .seed = round};
    const Array before = state;
    std::vector<std::map<std::string, Array>> expected;
    bool is_written = false;
    bool is_given = false;
    for (std::size_t m = 0; m < it.networks.size(); ++m) {
      const std::string& name = it.networks[m].input.info.name;
      const Array x = numbers(count, random);
      options.inputs.emplace(name + ".x", x);
      RunOptions alone{.kernels = KernelSet::plain, .inputs = {{"x", x}}};
      if (it.roles[m].reads) alone.inputs.emplace("old", state);
      if (it.roles[m].reads && !is_written && !is_given) {
        options.inputs.emplace(name + ".old", before);
        is_given = true;
      }
      PlanOptions plain;
      plain.alias = Alias::none;
      plain.order = Order::keep;
      const RunResult result = run_plan(it.networks[m], make_plan(it.networks[m].input, plain).plan, alone);
      ASSERT_FALSE(result.fault) << result.fault->what;
      expected.push_back({{"y", output_of(result, 0, "y")}});
      if (!it.roles[m].writes) continue;
      state = output_of(result, 0, "new");
      expected.back().emplace("new", state);
      is_written = true;
    }
    for (const RunCheck check : {RunCheck::tensors, RunCheck::outputs}) {
      options.check = check;
      const RunResult result = run_plan(it.networks, plan, options);
      ASSERT_FALSE(result.fault) << result.fault->what;
      for (std::size_t m = 0; m < it.networks.size(); ++m) {
        for (const auto& [name, array] : expected[m]) EXPECT_EQ(output_of(result, m, name), array) << name;
      }
    }
  }
}

TEST(SharedState, OfOneModelAloneIsThereWhenItsModelBegins) {
  Random random(11);
  for (int repeat = 0; repeat < 30; ++repeat) {
    Scenario made = scenario({{true, true}, {true, true}}, "a; b", random);
    made.options.states.clear();
    const PlanResult result = make_plan(inputs_of(made.networks), made.options);
    ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
    const RunResult run =
        run_plan(made.networks, result.plan, {.kernels = KernelSet::plain, .check = RunCheck::tensors});
    EXPECT_FALSE(run.fault) << run.fault->what;
  }
}

struct Case {
  std::vector<Role> roles;
  std::string run;
};

const std::vector<Case>& cases() {
  constexpr Role both{true, true};
  constexpr Role reader{true, false};
  constexpr Role writer{false, true};
  constexpr Role copier{true, true, true};
  static const std::vector<Case> all{{{writer, both}, "a; b"},
                                     {{both, both}, "a; b"},
                                     {{reader, writer}, "a; b"},
                                     {{writer, both, reader}, "a; b; c"},
                                     {{both, reader, both}, "a; b; c"},
                                     {{writer, reader, reader}, "a; b | c"},
                                     {{reader, reader, both}, "a | b; c"},
                                     {{both, reader, reader, writer}, "a; b | c; d"},
                                     {{reader, writer, both}, "(a; b); c"},
                                     {{writer, copier}, "a; b"},
                                     {{copier, copier, reader}, "a; b; c"},
                                     {{copier, both, copier}, "a; b; c"},
                                     {{writer, copier, reader, reader}, "a; b; c | d"},
                                     {{reader, copier, both}, "(a; b); c"}};
  return all;
}

TEST(SharedState, IsReadAsTheLastModelWroteItOrTheLastRunLeftIt) {
  Random random(47);
  for (int repeat = 0; repeat < 8; ++repeat) {
    for (const Case& it : cases()) {
      SCOPED_TRACE(it.run);
      Scenario made = scenario(it.roles, it.run, random);
      if (repeat % 4 == 1) made.options.stream.emplace();
      if (repeat % 4 == 2) made.options.io = Io::external;
      if (repeat % 4 == 3) {
        made.options.memories = {{.name = "fast", .capacity = 128, .cost = 1}, {.name = "slow", .cost = 10}};
        made.options.moves = it.run.find('|') == std::string::npos ? Moves::allowed : Moves::none;
      }
      const PlanResult result = make_plan(inputs_of(made.networks), made.options);
      ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
      expect_rounds(made, result.plan, random);
      std::size_t buffers = 0;
      for (const Buffer& buffer : result.plan.buffers) buffers += buffer.kind == TensorKind::state ? 1U : 0U;
      EXPECT_EQ(buffers, 1U);
      std::ostringstream json;
      write_json(result.plan, json);
      const Plan read = parse_plan(json.str());
      EXPECT_EQ(read.states, result.plan.states);
      EXPECT_TRUE(check_plan(read, inputs_of(made.networks)).empty());
    }
  }
}

/// The kinds of faults, with the words of the first that has them.
bool has_fault(const Faults& faults, const std::string& words) {
  return std::ranges::any_of(faults,
                             [&](const Fault& it) { return it.what.find(words) != std::string::npos; });
}

std::string text_of(const Faults& faults) {
  std::string text;
  for (const Fault& fault : faults) text += fault.what + "\n";
  return text;
}

/// Index of a tensor, MODEL.TENSOR.
std::size_t index_of(const Plan& plan, const std::string& name) {
  const auto found = std::ranges::find_if(plan.tensors, [&](const PlannedTensor& it) {
    return plan.models[it.model].name + "." + it.tensor.name == name;
  });
  return static_cast<std::size_t>(found - plan.tensors.begin());
}

TEST(SharedState, CheckerRefusesWhatLosesIt) {
  Random random(3);
  const Scenario made = scenario({{false, true}, {true, false}, {true, true}}, "a; b; c", random);
  const std::vector<Input> inputs = inputs_of(made.networks);
  const PlanResult result = make_plan(inputs, made.options);
  ASSERT_TRUE(result.faults.empty()) << text_of(result.faults);
  const auto expect = [&](const std::string& words, const auto& spoil) {
    Plan plan = result.plan;
    spoil(plan);
    const Faults faults = check_plan(plan, inputs);
    EXPECT_TRUE(has_fault(faults, words)) << words << " in\n" << text_of(faults);
  };
  const auto view = [](Plan& plan, const std::string& name) -> View& {
    return plan.tensors[index_of(plan, name)].views.front();
  };
  const auto state = [&](const Plan& plan) { return plan.tensors[index_of(plan, "b.old")].views[0].buffer; };
  expect("need the same bytes for different content", [&](Plan& plan) {
    View over = view(plan, "a.new");  // b writes its result there, before c reads the state
    over.life = view(plan, "b.y").life;
    view(plan, "b.y") = over;
  });
  expect("shares buffer", [&](Plan& plan) { view(plan, "b.y").buffer = state(plan); });
  expect("not reserved at all times", [&](Plan& plan) { --plan.buffers[state(plan)].pieces[0].life.upper; });
  expect("not reserved at all times", [&](Plan& plan) { ++plan.buffers[state(plan)].pieces[0].life.lower; });
  expect("overlap",
         [&](Plan& plan) { plan.places[view(plan, "b.x").buffer].offset = plan.places[state(plan)].offset; });
  expect("no view has it all that time", [&](Plan& plan) { --view(plan, "c.new").life.upper; });
  expect("not in one place", [&](Plan& plan) { view(plan, "b.old").buffer = view(plan, "b.x").buffer; });
  expect("its model ties it to another", [&](Plan& plan) {
    std::erase_if(plan.states, [&](const Feed& it) { return it.output == index_of(plan, "c.new"); });
  });
  expect("is released", [&](Plan& plan) { plan.released.push_back(index_of(plan, "a.new")); });
  expect("is no output", [&](Plan& plan) {
    for (Feed& it : plan.states) {
      if (it.output == index_of(plan, "a.new")) it.output = index_of(plan, "a.x");
    }
  });
  expect("several inputs or outputs", [&](Plan& plan) { plan.states[0].output = index_of(plan, "a.y"); });
  expect("there are", [&](Plan& plan) { plan.states[0].input = plan.tensors.size(); });
}

/// A round without the model that writes the state would lose it.
TEST(SharedState, CheckerRefusesSumsInItsBuffer) {
  Random random(4);
  const Scenario made = scenario({{false, true}, {true, false}}, "a; b", random);
  const PlanResult result = make_plan(inputs_of(made.networks), made.options);
  ASSERT_TRUE(result.faults.empty()) << text_of(result.faults);
  for (const bool is_carry : {false, true}) {
    Plan plan = result.plan;
    auto& run = std::get<stowage::Run>(plan.clocks[0].steps[0]);
    (is_carry ? run.carry : run.sums) = Sums{.buffer = plan.tensors[index_of(plan, "b.old")].views[0].buffer};
    EXPECT_TRUE(has_fault(check::check_states(plan), "with the sums of model 0 ('a')"))
        << text_of(check::check_states(plan));
  }
}

TEST(SharedState, CheckerRefusesAnInputThatIsAlsoAnOutput) {
  Random random(6);
  const Scenario made = scenario({{false, true}, {true, false}}, "a; b", random);
  std::vector<Input> inputs = inputs_of(made.networks);
  const PlanResult result = make_plan(inputs, made.options);
  Subgraph& reader = std::get<Graph>(inputs[1].content).subgraphs[0];
  reader.outputs.push_back(reader.inputs[1]);
  EXPECT_TRUE(has_fault(check_plan(result.plan, inputs), "is an output of its model"))
      << text_of(check_plan(result.plan, inputs));
}

TEST(SharedState, SeparateBytesAreThoseOfEachModelAlone) {
  Random random(8);
  for (int i = 0; i < 20; ++i) {
    const Scenario made = scenario({{true, true}, {true, true}}, "a; b", random);
    const PlanResult result = make_plan(inputs_of(made.networks), made.options);
    Bytes alone = 0;
    for (const Network& network : made.networks)
      alone += make_plan({&network.input, 1}, {.solve = {.effort = 2000}}).plan.summary.peak;
    ASSERT_TRUE(result.plan.savings.has_value());
    EXPECT_EQ(result.plan.savings->working.separate, alone);
  }
}

TEST(SharedState, MayHaveAGivenOffset) {
  Random random(9);
  for (const bool is_tied : {false, true}) {
    Scenario made = scenario({{is_tied, true}, {true, is_tied}}, "a; b", random);
    made.options.places = {{.tensor = "b.old", .memory = "arena", .offset = 512}};
    const PlanResult result = make_plan(inputs_of(made.networks), made.options);
    ASSERT_TRUE(result.faults.empty()) << text_of(result.faults);
    const Plan& plan = result.plan;
    const View& view = plan.tensors[index_of(plan, "a.new")].views.front();
    EXPECT_EQ(plan.places[view.buffer].offset + view.offset, 512);
  }
}

TEST(SharedState, IsOneHoweverOftenItIsSaid) {
  Random random(10);
  Scenario made = scenario({{false, true}, {true, false}}, "a; b", random);
  made.options.states.push_back(made.options.states[0]);
  EXPECT_EQ(make_plan(inputs_of(made.networks), made.options).plan.states.size(), 1U);
}

std::string refusal(const Scenario& made) {
  try {
    const PlanResult result = make_plan(inputs_of(made.networks), made.options);
    return result.faults.empty() ? "" : result.faults[0].what;
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(SharedState, RefusesWhatCannotBeOneState) {
  Random random(5);
  constexpr Role both{true, true};
  EXPECT_EQ(
      refusal(scenario({both, both}, "a | b", random)),
      "--state: 'a' and 'b' run at the same time, but a.new is written into the state that is also b.old; "
      "expected them one after the other");
  EXPECT_NE(refusal(scenario({{true, false}, {true, false}, {false, true}}, "a; b | c", random)), "");
  EXPECT_EQ(refusal(scenario({{true, false}, {true, false}, {false, true}}, "a | b; c", random)), "");
  Scenario made = scenario({both, both}, "a; b", random);
  made.options.states = {{"a.new", "b.odl"}};
  EXPECT_EQ(
      refusal(made),
      "--state a.new=b.odl: 'b.odl' is no input of a model, expected MODEL.TENSOR; did you mean 'b.old'?");
  made.options.states = {{"a.new", "a.old"}};
  EXPECT_EQ(refusal(made), "--state a.new=a.old: both are of one model, whose network has such ties itself");
  made.options.states = {{"a.new", "b.old"}, {"a.new", "b.x"}};
  EXPECT_EQ(refusal(made), "--state: b.old and b.x would be one state, expected one input of each model");
  made.options.states = {{"a.new", "b.old"}};
  made.options.feeds = {{"a.y", "b.old"}};
  EXPECT_EQ(refusal(made), "--feed a.y=b.old: 'old' is state");
  made.options.feeds.clear();
  made.options.released = {"b.new"};
  EXPECT_EQ(refusal(made), "--release b.new: 'new' is state");
  Scenario halves = scenario({{false, true}, {true, false}}, "a; b", random);
  halves.options.released = {"a.new"};
  EXPECT_EQ(refusal(halves), "--release: a.new is state");
  Scenario loose = scenario({both, both}, "a; b", random);
  std::get<Graph>(loose.networks[1].input.content).ties.clear();
  EXPECT_EQ(refusal(loose), "--state: b.new and b.old are one state, expected --state b.new=b.old, too");
  Scenario unequal = scenario({both, both}, "a; b", random);
  unequal.networks[1] = model("b", both, 100, random);
  for (Tensor& tensor : std::get<Graph>(unequal.networks[1].input.content).tensors)
    tensor.shape = Shape{50, 2};  // as many elements, of another rank
  EXPECT_NE(refusal(unequal).find("bytes of float32 cannot be an input of 400 bytes of float32"),
            std::string::npos)
      << refusal(unequal);
}

TEST(SharedState, RunsDoNotTakeItForAnInput) {
  Random random(7);
  const Scenario made = scenario({{false, true}, {true, true}}, "a; b", random);
  const PlanResult result = make_plan(inputs_of(made.networks), made.options);
  const std::int64_t count = made.networks[0].graph().tensors[0].bytes / 4;
  try {
    (void)run_plan(made.networks, result.plan, {.inputs = {{"b.old", numbers(count, random)}}});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--input 'b.old': another model feeds it, or has the state that it reads");
  }
}

}  // namespace
}  // namespace stowage
