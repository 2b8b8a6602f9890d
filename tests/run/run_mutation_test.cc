// Plans of real models are broken in four ways. Those that a machine which runs them with bytes of its own
// calls harmful must be found by the checker and by the runner, both naming a culprit.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "check_cases.h"
#include "long_tests.h"
#include "oracle/byte_machine.h"
#include "oracle/random_graph.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using oracle::Choices;

const std::filesystem::path models = std::filesystem::path(STOWAGE_DATA_DIR) / "models";

/// A plan that was broken, and the names of what was.
struct Mutant {
  Plan plan{};
  std::vector<std::string> names{};
};

using Mutate = std::optional<Mutant> (*)(const Graph& graph, const Plan& plan, Choices& choices);

bool meet(const Lifetime& a, const Lifetime& b) { return a.lower < b.upper && b.lower < a.upper; }

/// The other end of a view's buffer is in a live neighbour, by one byte.
std::optional<Mutant> overlap_by_a_byte(const Graph& /*graph*/, const Plan& plan, Choices& choices) {
  const std::size_t a = choices.below(plan.buffers.size());
  const std::size_t b = choices.below(plan.buffers.size());
  if (a == b || plan.places[a].memory != plan.places[b].memory) return std::nullopt;
  const Piece& of_a = choices.one_of(plan.buffers[a].pieces);
  const Piece& of_b = choices.one_of(plan.buffers[b].pieces);
  if (!meet(of_a.life, of_b.life)) return std::nullopt;
  const Bytes offset = plan.places[b].offset + of_b.offset + of_b.size - 1 - of_a.offset;
  if (offset < 0 || offset + plan.buffers[a].size > plan.memories[plan.places[a].memory].peak)
    return std::nullopt;
  Mutant mutant{plan, {plan.buffers[a].id}};
  mutant.plan.places[a].offset = offset;
  return mutant;
}

/// The buffer does not hold the last byte that a tensor has in it.
std::optional<Mutant> one_byte_short(const Graph& /*graph*/, const Plan& plan, Choices& choices) {
  const PlannedTensor& tensor = choices.one_of(plan.tensors);
  if (tensor.views.empty()) return std::nullopt;
  const View& view = choices.one_of(tensor.views);
  Mutant mutant{plan, {plan.buffers[view.buffer].id, tensor.tensor.name}};
  const Bytes end = view.offset + tensor.tensor.bytes - 1;
  bool is_cut = false;
  for (Piece& piece : mutant.plan.buffers[view.buffer].pieces) {
    if (piece.offset >= end || piece.offset + piece.size <= end) continue;
    piece.size = end - piece.offset;
    is_cut = true;
  }
  for (const PlannedTensor& other : plan.tensors) {
    for (const View& it : other.views) {
      if (it.buffer == view.buffer) mutant.names.push_back(other.tensor.name);
    }
  }
  return is_cut ? std::optional(mutant) : std::nullopt;
}

/// A step comes before one whose result it reads.
std::optional<Mutant> step_before_its_producer(const Graph& graph, const Plan& plan, Choices& choices) {
  const auto& steps = plan.clocks[0].steps;
  if (steps.size() < 2) return std::nullopt;
  const std::size_t at = 1 + choices.below(steps.size() - 1);
  const std::size_t to = choices.below(at);
  const auto& path = std::get<Run>(steps[at]).path;
  const Operator& op = graph.subgraphs[path[0]].operators[path[1]];
  Mutant mutant{plan, {op.name}};
  for (const auto& input : op.inputs) {
    if (input) mutant.names.push_back(graph.tensors[*input].name);
  }
  for (const auto& output : op.outputs) {
    if (output) mutant.names.push_back(graph.tensors[*output].name);
  }
  mutant.names.push_back("operator " + std::to_string(path[1]) + " ");
  for (std::size_t delayed = to; delayed < at; ++delayed) {  // these may miss their places, too
    const auto& other = std::get<Run>(steps[delayed]).path;
    for (const auto& output : graph.subgraphs[other[0]].operators[other[1]].outputs)
      mutant.names.push_back(graph.tensors[*output].name);
  }
  auto& moved = mutant.plan.clocks[0].steps;
  std::rotate(moved.begin() + static_cast<std::ptrdiff_t>(to),
              moved.begin() + static_cast<std::ptrdiff_t>(at),
              moved.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  return mutant;
}

/// An operator's output lies in its input's place, which it may not write over, or which others still read.
std::optional<Mutant> alias_to_refuse(const Graph& graph, const Plan& plan, Choices& choices) {
  const auto& path = std::get<Run>(choices.one_of(plan.clocks[0].steps)).path;
  const Operator& op = graph.subgraphs[path[0]].operators[path[1]];
  const auto input = choices.one_of(op.inputs);
  const auto output = choices.one_of(op.outputs);
  if (!input || !output) return std::nullopt;
  const PlannedTensor& read = plan.tensors[*input];
  const PlannedTensor& written = plan.tensors[*output];
  if (read.views.size() != 1 || written.views.size() != 1) return std::nullopt;
  if (read.views[0].buffer == written.views[0].buffer) return std::nullopt;
  Mutant mutant{plan, {read.tensor.name, written.tensor.name, op.name}};
  const View& target = read.views[0];
  View& moved = mutant.plan.tensors[*output].views[0];
  moved.buffer = target.buffer;
  moved.offset = target.offset;
  // What is wrong then is wrong with the sharing: the buffer gets memory of its own, for all time.
  Buffer& buffer = mutant.plan.buffers[target.buffer];
  buffer.size = std::max(buffer.size, target.offset + written.tensor.bytes);
  buffer.size = (buffer.size + buffer.alignment - 1) / buffer.alignment * buffer.alignment;
  buffer.pieces = {{0, buffer.size, {0, static_cast<Position>(plan.clocks[0].steps.size())}}};
  mutant.plan.places[target.buffer].offset =
      (plan.memories[0].peak + buffer.alignment - 1) / buffer.alignment * buffer.alignment;
  for (const PlannedTensor& other : plan.tensors) {
    for (const View& view : other.views) {
      if (view.buffer == target.buffer) mutant.names.push_back(other.tensor.name);
    }
  }
  return mutant;
}

struct Kind {
  std::string_view name{};
  Mutate mutate = nullptr;
};

constexpr std::array kinds{Kind{"two live pieces overlap by one byte", overlap_by_a_byte},
                           Kind{"a buffer is one byte short", one_byte_short},
                           Kind{"a step comes before its producer", step_before_its_producer},
                           Kind{"an alias should have been refused", alias_to_refuse}};

/// What an independent run with bytes says against the plan.
std::optional<std::string> harm_of(const Graph& graph, const Plan& plan) {
  try {
    return oracle::try_plan(graph, plan).difference;
  } catch (const std::invalid_argument& error) {
    return error.what();  // what is read is not there yet
  }
}

bool names_one_of(const std::string& text, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    if (name.empty()) return false;
    return text.find(base::quoted(name)) != std::string::npos ||
           (name.starts_with("operator ") && text.find(name) != std::string::npos);
  });
}

/// What the runner has against it; bytes that happen to be the same are told apart by other inputs.
std::string fault_of_run(const Network& network, const Plan& plan) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const RunResult result = run_plan(
        network, plan,
        {.kernels = KernelSet::plain, .check = RunCheck::tensors, .seed = seed, .random_weights = 1});
    if (result.fault) return result.fault->what;
  }
  return "";
}

class RunMutation : public ::testing::TestWithParam<std::string> {};

TEST_P(RunMutation, HarmIsCaughtByRunnerAndCheckerByName) {
  const std::filesystem::path file = models / GetParam();
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
  const Network network = read_network(file);
  const std::size_t wanted = testing::is_in_a_hurry() ? 2 : 16;  // of each kind
  constexpr int attempts = 2000;
  for (const Alias alias : {Alias::none, Alias::automatic}) {
    const Plan plan = make_plan(network.input, {.alias = alias}).plan;
    for (const Kind& kind : kinds) {
      SCOPED_TRACE(kind.name);
      Choices choices(17);
      std::size_t harmful = 0;
      for (int attempt = 0; attempt < attempts && harmful < wanted; ++attempt) {
        auto mutant = kind.mutate(network.graph(), plan, choices);
        if (!mutant) continue;
        cases::correct_claims(mutant->plan);
        const auto harm = harm_of(network.graph(), mutant->plan);
        if (!harm) continue;
        ++harmful;
        const Faults faults = check_plan(mutant->plan, {&network.graph(), 1});
        EXPECT_TRUE(std::any_of(faults.begin(), faults.end(),
                                [&](const Fault& fault) { return names_one_of(fault.what, mutant->names); }))
            << "attempt " << attempt << ", the checker: " << cases::text_of(faults) << "\nbut " << *harm;
        const std::string fault = fault_of_run(network, mutant->plan);
        EXPECT_TRUE(names_one_of(fault, mutant->names))
            << "attempt " << attempt << ", the runner: \"" << fault << "\" but " << *harm;
      }
      std::cout << GetParam() << ", " << kind.name << ": " << harmful << " harmful\n";
      EXPECT_GT(harmful, 0U);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RunMutation,
                         ::testing::Values("tflite/person_detect.tflite", "tflite/kws_ref_model.tflite",
                                           "tflite/pretrainedResnet_quant.tflite",
                                           "tflite/vww_96_int8.tflite"),
                         [](const auto& model) {
                           return std::filesystem::path(model.param).stem().string();
                         });

}  // namespace
}  // namespace stowage
