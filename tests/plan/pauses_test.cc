// Models that run between the steps of others: where pauses are, what they need, and that nothing is lost there.

#include "plan/pauses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "flat_run.h"
#include "random_networks.h"
#include "rows_of_models.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::by_rows;
using testing::convolutions;
using testing::lost_outputs;
using testing::NetworkMaker;
using testing::planned;
using testing::random_scenario;
using testing::Scenario;

std::vector<Input> inputs_of(const std::vector<Network>& networks) {
  std::vector<Input> inputs;
  for (const Network& network : networks) inputs.push_back(network.input);
  return inputs;
}

// Choosing

/// Every set of places to pause that are near enough to each other, and to the begin and the end.
void for_each_choice(std::size_t steps, std::size_t every,
                     const std::function<void(const std::vector<std::size_t>&)>& visit) {
  for (std::uint64_t set = 1; set < std::uint64_t{1} << (steps - 1); ++set) {
    std::vector<std::size_t> after;
    for (std::size_t at = 1; at < steps; ++at) {
      if ((set >> (at - 1) & 1) != 0) after.push_back(at);
    }
    std::size_t last = 0;
    bool is_near = true;
    for (const std::size_t at : after) is_near = is_near && at - std::exchange(last, at) <= every;
    if (is_near && steps - last <= every) visit(after);
  }
}

/// Most bytes at one time of pieces that a pause carries, how many pauses there are, and the sum of what they carry.
std::tuple<Bytes, std::size_t, Bytes> worth_of(const std::vector<plan::LivePiece>& pieces, std::size_t steps,
                                               const std::vector<std::size_t>& after) {
  std::vector<Bytes> kept(steps, 0);
  Bytes sum = 0;
  for (const plan::LivePiece& piece : pieces) {
    const auto times =
        std::ranges::count_if(after, [&](std::size_t at) { return piece.first < at && at <= piece.over; });
    sum += times * piece.bytes;
    for (std::size_t t = piece.first; t < piece.end && times > 0; ++t) kept[t] += piece.bytes;
  }
  return {*std::ranges::max_element(kept), after.size(), sum};
}

TEST(Pauses, AreChosenAsByTryingAllChoices) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t steps = 2 + random() % 8;
    const std::size_t every = 1 + random() % 10;
    std::vector<plan::LivePiece> pieces(1 + random() % 8);
    for (plan::LivePiece& piece : pieces) {
      piece.first = random() % steps;
      piece.end = piece.first + 1 + random() % (steps - piece.first);
      piece.over = piece.end - (random() % 4 == 0 ? 0 : 1);
      piece.bytes = static_cast<Bytes>(random() % 8);
    }
    std::optional<std::tuple<Bytes, std::size_t, Bytes>> best;
    for_each_choice(steps, every, [&](const std::vector<std::size_t>& after) {
      const auto worth = worth_of(pieces, steps, after);
      if (!best || worth < *best) best = worth;
    });
    const plan::ChosenPauses chosen = plan::choose_pauses(pieces, steps, static_cast<std::int64_t>(every));
    std::size_t last = 0;
    for (const std::size_t at : chosen.after) EXPECT_LE(at - std::exchange(last, at), every);
    EXPECT_LE(steps - last, every);
    const auto worth = worth_of(pieces, steps, chosen.after);
    EXPECT_EQ(chosen.kept, std::get<0>(worth));
    EXPECT_EQ(worth, *best) << "round " << round;
  }
}

/// A chain of operators on vectors that become longer and shorter.
Network chain(const std::string& name, std::size_t operators, std::mt19937_64& random) {
  NetworkMaker maker(name);
  TensorId x = maker.input(static_cast<std::int64_t>(1 + random() % 4));
  std::vector<TensorId> made{x};
  for (std::size_t i = 0; i < operators; ++i) {
    const TensorId other = made[random() % made.size()];
    if (random() % 3 == 0 && maker.count_of(x) < 12) {
      x = maker.apply("Concat", {x, other});
    } else if (maker.count_of(other) == maker.count_of(x) && other != x) {
      x = maker.apply("Add", {x, other});
    } else {
      x = maker.apply("Relu", {other});
    }
    made.push_back(x);
  }
  maker.output(x);
  return maker.take();
}

PlanOptions options_of(const std::string& run) {
  PlanOptions options;
  options.run = run;
  options.alias = Alias::none;
  options.alignment = 1;
  options.order = Order::keep;
  return options;
}

TEST(Pauses, NeedAsLittleAsTheBestOfAllChoices) {
  std::mt19937_64 random(2);
  std::size_t lower = 0;
  for (int round = 0; round < 150; ++round) {
    const std::vector<Network> networks{chain("a", 3 + random() % 5, random),
                                        chain("b", 1 + random() % 3, random)};
    const std::size_t every = 1 + random() % 4;
    const PlanOptions options = options_of("a ^" + std::to_string(every) + " b");
    const Plan plan = planned(networks, options).plan;
    // The buffers of a alone, and b's as one block at each choice of pauses.
    const Plan alone = planned({networks[0]}, options_of("")).plan;
    const Bytes block = planned({networks[1]}, options_of("")).plan.summary.peak;
    const std::size_t steps = alone.clocks[0].steps.size();
    std::optional<Bytes> best;
    for_each_choice(steps, every, [&](const std::vector<std::size_t>& after) {
      const auto moved = [](Position at) { return 2 * at; };  // step t is at 2 t, and 2 t + 1 is behind it
      Problem problem{.buffers = alone.buffers, .memories = {{.name = "arena"}}};
      for (Buffer& buffer : problem.buffers) {
        for (Piece& piece : buffer.pieces)
          piece.life = {moved(piece.life.lower), moved(piece.life.upper) - 1};
      }
      Buffer all{.id = "b", .size = block};
      for (const std::size_t at : after) {
        const Position between = 2 * static_cast<Position>(at) - 1;
        all.pieces.push_back({0, block, {between, between + 1}});
      }
      problem.buffers.push_back(all);
      const Bytes peak = make_plan(Input{.info = {"list", "list.csv", ModelFormat::csv}, .content = problem})
                             .plan.summary.peak;
      best = std::min(best.value_or(peak), peak);
    });
    ASSERT_TRUE(best);
    EXPECT_EQ(plan.summary.peak, *best) << "round " << round;
    lower += plan.summary.peak < planned(networks, options_of("a | b")).plan.summary.peak ? 1 : 0;
  }
  EXPECT_GT(lower, 100U);
}

// Running

TEST(Pauses, LoseNothingWhateverRunsThere) {
  std::size_t paused = 0;
  std::size_t nested = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Scenario scenario = random_scenario(seed, 7, true);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ": " << scenario.options.run);
    PlanResult result;
    try {
      result = make_plan(inputs_of(scenario.networks), scenario.options);
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("expected 2 steps at least"), std::string::npos)
          << error.what();
      continue;
    }
    for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
    paused += result.plan.pauses.size();
    nested += result.plan.pauses.size() > 1 ? 1 : 0;
    for (std::uint64_t turns = 0; turns < 3; ++turns)
      EXPECT_EQ(lost_outputs(scenario.networks, result.plan, turns), std::vector<std::string>());
    const RunResult run = run_plan(scenario.networks, result.plan,
                                   {.kernels = KernelSet::plain, .check = RunCheck::tensors, .seed = seed});
    EXPECT_FALSE(run.fault) << (run.fault ? run.fault->what : "");
    std::ostringstream json;
    write_json(result.plan, json);
    EXPECT_EQ(parse_plan(json.str()), result.plan);
  }
  EXPECT_GT(paused, 150U);
  EXPECT_GT(nested, 40U);
}

TEST(Pauses, AreBetweenRows) {
  const std::vector<Network> networks{convolutions("a", 40, 4), convolutions("b", 20, 3)};
  for (const std::string run : {"a ^6 b", "a ^20 b", "a ^1000 b"}) {
    PlanOptions options = by_rows(Io::rows);
    options.run = run;
    options.solve.effort = 1000;
    const Plan plan = planned(networks, options).plan;
    ASSERT_EQ(plan.pauses.size(), 1U);
    options.run = "a | b";
    EXPECT_LT(plan.summary.peak, planned(networks, options).plan.summary.peak) << run;
    for (const RunCheck check : {RunCheck::tensors, RunCheck::outputs}) {
      const RunResult result = run_plan(networks, plan, {.check = check});
      EXPECT_FALSE(result.fault) << (result.fault ? result.fault->what : "");
    }
  }
}

TEST(Pauses, OfPersonDetectionLeaveRoomForAWakeWord) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite";
  std::vector<Network> networks;
  for (const char* const file : {"person_detect.tflite", "micro_speech_quantized.tflite"})
    networks.push_back(read_network(folder / file));
  const std::string& person = networks[0].input.info.name;
  const std::string& speech = networks[1].input.info.name;
  const auto plan_with = [&](const std::string& how) {
    PlanOptions options;
    options.io = Io::rows;
    options.stream.emplace();
    options.alignment = 16;
    options.solve.effort = 2000;
    options.run = person + how + speech;
    return planned(networks, options).plan;
  };
  const Plan plan = plan_with(" ^20 ");
  EXPECT_LE(plan.summary.peak, 12656);
  EXPECT_EQ(plan.pauses.at(0).least_carried, 7776);
  EXPECT_LE(plan_with(" ^40 ").summary.peak, 11984);
  const RunResult run = run_plan(networks, plan, {.check = RunCheck::tensors});
  EXPECT_FALSE(run.fault) << (run.fault ? run.fault->what : "");
}

/// y = x + s, and s becomes y.
Network counter(const std::string& name) {
  NetworkMaker maker(name);
  const TensorId x = maker.input(8);
  const TensorId s = maker.input(8);
  const TensorId sum = maker.apply("Add", {x, s});
  const TensorId next = maker.apply("Relu", {sum});
  maker.output(next);
  maker.output(maker.apply("Neg", {sum}));
  Network network = maker.take();
  std::get<Graph>(network.input.content).ties.push_back({next, s});
  return network;
}

TEST(Pauses, KeepStateFromOneToTheNext) {
  std::mt19937_64 random(3);
  const std::vector<Network> networks{chain("a", 6, random), counter("b")};
  const Plan plan = planned(networks, options_of("a ^2 b")).plan;
  const auto times = std::ranges::count_if(
      plan.clocks[0].steps, [](const Step& step) { return std::holds_alternative<Pause>(step); });
  ASSERT_GE(times, 2);
  const std::vector<float> ones(8, 1.0F);
  const auto* const bytes = reinterpret_cast<const std::byte*>(ones.data());
  const Array array{DType::float32, {8}, std::vector<std::byte>(bytes, bytes + 32)};
  for (const RunCheck check : {RunCheck::none, RunCheck::outputs, RunCheck::tensors}) {
    const RunResult run = run_plan(
        networks, plan,
        {.kernels = KernelSet::plain, .check = check, .inputs = {{"b.in0", array}, {"b.in1", array}}});
    ASSERT_FALSE(run.fault) << run.fault->what;
    float last = 0;
    std::memcpy(&last, run.outputs.back().array.data.data(), sizeof(last));
    EXPECT_EQ(last, -1.0F - static_cast<float>(times));
  }
}

// Faults

/// A plan with pauses, a change, and words of the fault that must come of it.
struct Mutant {
  const char* what;
  std::function<void(Plan&)> change;
  const char* fault;
};

std::size_t first_pause(const Plan& plan) {
  const auto& steps = plan.clocks[0].steps;
  return static_cast<std::size_t>(
      std::ranges::find_if(steps, [](const Step& step) { return std::holds_alternative<Pause>(step); }) -
      steps.begin());
}

TEST(Pauses, AreNotTrusted) {
  std::mt19937_64 random(5);
  const std::vector<Network> networks{chain("a", 9, random), chain("b", 3, random)};
  const Plan plan = planned(networks, options_of("a ^3 b")).plan;
  ASSERT_EQ(check_plan(plan, inputs_of(networks)).size(), 0U);
  ASSERT_GT(plan.pauses.at(0).carried, 0);
  const std::vector<Mutant> mutants{
      {"fewer steps", [](Plan& it) { it.pauses[0].every = 2; }, "at most 2 steps apart"},
      {"no steps", [](Plan& it) { it.pauses[0].every = 0; }, "expected at least 1"},
      {"less carried", [](Plan& it) { --it.pauses[0].carried; }, "but carry"},
      {"more carried", [](Plan& it) { ++it.pauses[0].carried; }, "but carry"},
      {"a bound too high", [](Plan& it) { it.pauses[0].least_carried = it.summary.peak; }, "can be proven"},
      {"nothing stated", [](Plan& it) { it.pauses.clear(); }, "not stated how near"},
      {"stated twice", [](Plan& it) { it.pauses.push_back(it.pauses[0]); }, "stated twice"},
      {"another clock", [](Plan& it) { it.pauses[0].clock = 0; }, "no step pauses for it"},
      {"no such clock", [](Plan& it) { it.pauses[0].clock = 7; }, "no step pauses for it"},
      {"a part of the steps", [](Plan& it) { ++it.pauses[0].life.lower; }, "but not all"},
      {"beyond the end", [](Plan& it) { it.pauses[0].life.upper += 1; }, "are said to be from"},
      {"the root pauses for itself", [](Plan& it) { it.clocks[0].steps[first_pause(it)] = Pause{0}; },
       "pauses for clock 0"},
      {"no such clock to pause for", [](Plan& it) { it.clocks[0].steps[first_pause(it)] = Pause{2}; },
       "pauses for clock 2"},
      {"a fork beside pauses", [](Plan& it) { it.clocks[0].steps[first_pause(it)] = Fork{{1}}; }, "clock 1"},
      {"a buffer where another is carried",
       [](Plan& it) {
         for (std::size_t b = 0; b < it.buffers.size(); ++b)
           if (it.buffers[b].clock == 1) it.places[b].offset = 0;
       },
       "overlap"},
      {"carried bytes end before the pause",
       [](Plan& it) {
         const auto at = static_cast<Position>(first_pause(it));
         for (Buffer& buffer : it.buffers)
           for (Piece& piece : buffer.pieces)
             if (buffer.clock == 0 && piece.life.lower < at && piece.life.upper > at) piece.life.upper = at;
       },
       ""},
  };
  for (const Mutant& mutant : mutants) {
    Plan wrong = plan;
    mutant.change(wrong);
    const Faults faults = check_plan(wrong, inputs_of(networks));
    std::string all;
    for (const Fault& fault : faults) all += fault.what + "\n";
    EXPECT_FALSE(faults.empty()) << mutant.what;
    EXPECT_NE(all.find(mutant.fault), std::string::npos) << mutant.what << ": " << all;
  }
}

TEST(Pauses, FindOnRunningWhatOverlaps) {
  std::mt19937_64 random(5);
  const std::vector<Network> networks{chain("a", 9, random), chain("b", 3, random)};
  Plan plan = planned(networks, options_of("a ^3 b")).plan;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].clock == 1) plan.places[b].offset = 0;
  }
  EXPECT_TRUE(run_plan(networks, plan, {.kernels = KernelSet::plain}).fault);
}

// Refusals

TEST(Pauses, RefuseWhatHasNoMeaning) {
  std::mt19937_64 random(7);
  const std::vector<Network> networks{chain("a", 4, random), chain("b", 3, random), chain("c", 1, random)};
  const auto message = [&](PlanOptions options) -> std::string {
    try {
      std::vector<Input> inputs = inputs_of(networks);
      if (options.run.find('c') == std::string::npos) inputs.pop_back();
      (void)make_plan(inputs, options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(options_of("a ^2 b")), "");
  EXPECT_NE(message(options_of("a ^0 b")).find("a number of steps, at least 1"), std::string::npos);
  EXPECT_NE(message(options_of("a ^ b")).find("a number of steps, at least 1"), std::string::npos);
  EXPECT_NE(message(options_of("(a | b) ^2 c")).find("have no common steps"), std::string::npos);
  EXPECT_EQ(message(options_of("c ^2 (a; b)")),
            "--run: nothing can run between steps of 'c', expected 2 steps at least, found 1");
  PlanOptions moves = options_of("a ^2 b");
  moves.memories = {{.name = "fast", .capacity = 64}, {.name = "slow", .cost = 10}};
  moves.moves = Moves::allowed;
  EXPECT_EQ(message(moves),
            "--moves: copies are steps, too, and would lie between those that ^ of --run counts");
}

}  // namespace
}  // namespace stowage
