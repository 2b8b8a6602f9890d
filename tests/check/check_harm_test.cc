// Whatever breaks a run of the network is found. A machine that runs it with real bytes decides what does.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "check_cases.h"
#include "long_tests.h"
#include "oracle/byte_machine.h"
#include "oracle/naive_interpreter.h"
#include "oracle/random_graph.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

using namespace cases;
using oracle::Choices;
using oracle::Positions;

/// Tensors that a plan may leave to the caller or, state that nothing writes, to the runtime.
std::set<TensorId> kept_by_others(const Graph& graph) {
  std::set<TensorId> tensors(graph.subgraphs[0].inputs.begin(), graph.subgraphs[0].inputs.end());
  tensors.insert(graph.subgraphs[0].outputs.begin(), graph.subgraphs[0].outputs.end());
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].kind == TensorKind::state) tensors.insert(t);
  }
  for (const StateTie& tie : graph.ties) {
    tensors.erase(tie.input);
    tensors.erase(tie.output);
  }
  return tensors;
}

/// Whether the tensor is at one address during all of a life.
bool is_somewhere_during(const Plan& plan, const PlannedTensor& tensor, const Positions& life) {
  using Address = std::pair<std::size_t, Bytes>;
  const auto address = [&](const View& view) {
    return Address(plan.places[view.buffer].memory, plan.places[view.buffer].offset + view.offset);
  };
  return std::any_of(tensor.views.begin(), tensor.views.end(), [&](const View& candidate) {
    return std::all_of(life.begin(), life.end(), [&](Position at) {
      return std::any_of(tensor.views.begin(), tensor.views.end(), [&](const View& view) {
        return address(view) == address(candidate) && view.life.lower <= at && at < view.life.upper;
      });
    });
  });
}

/// Whether some tensor has no address for all of the time that a run without sharing needs it, or a
/// view ends beyond its memory.
bool is_misplaced(const Case& it) {
  const std::set<TensorId> kept = kept_by_others(it.graph);
  for (TensorId t = 0; t < it.graph.tensors.size(); ++t) {
    const Bytes bytes = it.graph.tensors[t].bytes;
    const PlannedTensor& tensor = it.plan.tensors[t];
    if (bytes == 0 || (tensor.views.empty() && kept.contains(t))) continue;
    for (const Positions& life : it.needs[t]) {
      if (!life.empty() && !is_somewhere_during(it.plan, tensor, life)) return true;
    }
  }
  return false;
}

bool is_beyond_memory(const Case& it) {
  for (const PlannedTensor& tensor : it.plan.tensors) {
    for (const View& view : tensor.views) {
      const Place& place = it.plan.places[view.buffer];
      const auto& capacity = it.plan.memories[place.memory].memory.capacity;
      if (capacity && place.offset + view.offset + tensor.tensor.bytes > *capacity) return true;
    }
  }
  return false;
}

bool breaks_a_run(const Case& it) {
  return is_beyond_memory(it) || oracle::try_plan(it.graph, it.plan).difference;
}

/// All faults but that of the number of copies, which is no harm.
Faults faults_of(const Case& it) {
  Faults faults = check(it);
  std::erase_if(faults,
                [](const Fault& fault) { return fault.what.find("said to remove") != std::string::npos; });
  return faults;
}

Lifetime shaken(const Lifetime& life, Choices& choices) {
  const Position lower = std::max<Position>(0, life.lower + choices.between(-2, 2));
  return {lower, std::max(lower, life.upper + choices.between(-2, 2))};
}

void shake_buffer(Plan& plan, Choices& choices) {
  const std::size_t b = choices.below(plan.buffers.size());
  Buffer& buffer = plan.buffers[b];
  switch (choices.below(7)) {
    case 0:
      plan.places[b].offset = choices.one_of(plan.places).offset;
      break;
    case 1:
      plan.places[b].offset =
          std::max<Bytes>(0, plan.places[b].offset + buffer.alignment * choices.between(-3, 3));
      break;
    case 2:
      plan.places[b].offset =
          choices.between(0, 2 * plan.memories[0].peak / buffer.alignment) * buffer.alignment;
      break;
    case 3:
      if (plan.memories.size() < 2) plan.memories.push_back({{.name = "other"}, 0, 0});
      plan.places[b].memory = 1;
      break;
    case 4:
      if (!buffer.pieces.empty()) {
        Piece& piece = buffer.pieces[choices.below(buffer.pieces.size())];
        piece.life = shaken(piece.life, choices);
      }
      break;
    case 5:
      if (!buffer.pieces.empty()) {
        Piece& piece = buffer.pieces[choices.below(buffer.pieces.size())];
        piece.offset = choices.between(0, std::min<Bytes>(2, buffer.size));
        piece.size = std::max<Bytes>(0, buffer.size - piece.offset - choices.between(0, 2));
      }
      break;
    default:
      buffer.size += choices.between(0, 2) * buffer.alignment;
      break;
  }
}

void shake_view(Plan& plan, Choices& choices) {
  PlannedTensor& tensor = plan.tensors[choices.below(plan.tensors.size())];
  if (tensor.views.empty()) return;
  const std::size_t v = choices.below(tensor.views.size());
  View& view = tensor.views[v];
  switch (choices.below(6)) {
    case 0:
      view.life = shaken(view.life, choices);
      break;
    case 1:
      view.buffer = choices.below(plan.buffers.size());
      break;
    case 2:
      view.offset = std::max<Bytes>(0, view.offset + choices.between(-1, 4));
      break;
    case 3:
      tensor.views.erase(tensor.views.begin() + static_cast<std::ptrdiff_t>(v));
      break;
    case 4: {
      const Position middle = choices.between(view.life.lower, view.life.upper);
      View second = view;
      second.life.lower = middle;
      view.life.upper = middle;
      if (choices.chance(50)) second.buffer = choices.below(plan.buffers.size());
      tensor.views.push_back(second);
      break;
    }
    default: {
      PlannedTensor& other = plan.tensors[choices.below(plan.tensors.size())];
      if (!other.views.empty()) std::swap(view.buffer, other.views[0].buffer);
      break;
    }
  }
}

/// Puts a tensor into the buffer of another, at random or where a copy would have it, and gives that buffer
/// memory of its own for all time: what is wrong then is wrong with the sharing.
void share(Case& it, Choices& choices) {
  Plan& plan = it.plan;
  const std::size_t moved = choices.below(plan.tensors.size());
  const std::size_t other = choices.below(plan.tensors.size());
  PlannedTensor& tensor = plan.tensors[moved];
  if (moved == other || tensor.views.empty() || plan.tensors[other].views.empty()) return;
  const View target = plan.tensors[other].views[0];
  Buffer& buffer = plan.buffers[target.buffer];
  const Bytes slack = buffer.size - target.offset - tensor.tensor.bytes;
  const Bytes shift = choices.chance(60) ? 0 : choices.between(-2, 2) * (choices.chance(50) ? 16 : 1);
  const Bytes offset = std::max<Bytes>(0, target.offset + shift);
  for (View& view : tensor.views) {
    view.buffer = target.buffer;
    view.offset = offset;
  }
  if (slack < shift) buffer.size = (offset + tensor.tensor.bytes + 63) / 64 * 64;
  buffer.pieces = {{0, buffer.size, {0, static_cast<Position>(plan.clocks[0].steps.size()) + 1}}};
  plan.places[target.buffer].offset = 1024 + 512 * static_cast<Bytes>(target.buffer);
}

/// Input and output of a step that it could work on in place, or pass bytes on between.
std::optional<std::pair<TensorId, TensorId>> some_operands(const Case& it, Choices& choices) {
  const auto& steps = it.plan.clocks[0].steps;
  if (steps.empty()) return std::nullopt;
  const auto& path = std::get<Run>(choices.one_of(steps)).path;
  const Operator& op = it.graph.subgraphs[path[path.size() - 2]].operators[path.back()];
  if (op.inputs.empty() || op.outputs.empty()) return std::nullopt;
  const auto input = choices.one_of(op.inputs);
  const auto output = choices.one_of(op.outputs);
  if (!input || !output) return std::nullopt;
  return std::pair(*input, *output);
}

/// The same for an input and an output of one operator, with the input's view cut where the output begins.
void share_operands(Case& it, Choices& choices) {
  Plan& plan = it.plan;
  const auto operands = some_operands(it, choices);
  if (!operands) return;
  PlannedTensor& input = plan.tensors[operands->first];
  PlannedTensor& output = plan.tensors[operands->second];
  if (input.views.empty() || output.views.empty() || input.tensor.bytes != output.tensor.bytes) return;
  const View target = input.views[0];
  for (View& view : output.views) {
    view.buffer = target.buffer;
    view.offset = target.offset;
  }
  if (choices.chance(50)) input.views[0].life.upper = std::max(target.life.lower, output.views[0].life.lower);
  Buffer& buffer = plan.buffers[target.buffer];
  buffer.pieces = {{0, buffer.size, {0, static_cast<Position>(plan.clocks[0].steps.size()) + 1}}};
  plan.places[target.buffer].offset = 1024 + 512 * static_cast<Bytes>(target.buffer);
}

/// How many spoilt plans the machine or the checker had nothing against.
struct Tally {
  std::size_t harmful = 0;
  std::size_t harmless = 0;
};

bool is_grave(const Fault& fault) {
  return fault.kind == FaultKind::overlap || fault.kind == FaultKind::accounting ||
         fault.kind == FaultKind::format;
}

template <typename Spoil>
void spoil_and_check(std::uint64_t seed, const Case& original, const Spoil& spoil, Tally& tally) {
  Choices choices(seed);
  for (int attempt = 0; attempt < 4; ++attempt) {
    Case it = original;
    for (std::size_t i = 1 + choices.below(3); i > 0; --i) spoil(it, choices);
    correct_claims(it.plan);
    const Faults faults = faults_of(it);
    if (std::any_of(faults.begin(), faults.end(),
                    [](const Fault& fault) { return fault.kind == FaultKind::format; })) {
      continue;
    }
    if (breaks_a_run(it)) {
      ++tally.harmful;
      ASSERT_TRUE(std::any_of(faults.begin(), faults.end(), is_grave))
          << "seed " << seed << ", attempt " << attempt << ": "
          << oracle::try_plan(it.graph, it.plan).difference.value_or("beyond memory") << "\n"
          << text_of(faults);
    } else if (faults.empty()) {
      ++tally.harmless;
    }
  }
}

TEST(Check, FindsWhateverBreaksARun) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < testing::cases_of(1500); ++seed) {
    const auto original = random_case(seed);
    if (!original || original->plan.buffers.empty()) continue;
    ASSERT_FALSE(is_misplaced(*original) || breaks_a_run(*original)) << "seed " << seed;
    spoil_and_check(
        seed, *original,
        [](Case& it, Choices& choices) {
          if (choices.chance(60)) {
            shake_buffer(it.plan, choices);
          } else {
            shake_view(it.plan, choices);
          }
        },
        tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tally.harmful, testing::cases_of(700));
  EXPECT_GT(tally.harmless, testing::cases_of(500));
}

TEST(Check, FindsWhateverBreaksARunOfTensorsThatShare) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < testing::cases_of(2000); ++seed) {
    const auto original = random_case(seed, seed % 2 == 0 ? Alias::all : Alias::automatic);
    if (!original || original->plan.buffers.empty()) continue;
    spoil_and_check(
        seed, *original,
        [](Case& it, Choices& choices) {
          switch (choices.below(4)) {
            case 0:
              shake_view(it.plan, choices);
              break;
            case 1:
              share(it, choices);
              break;
            default:
              share_operands(it, choices);
              break;
          }
        },
        tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tally.harmful, testing::cases_of(1500));
  EXPECT_GT(tally.harmless, testing::cases_of(700));
}

TEST(Check, FindsViewsThatAreNotThereInTime) {
  std::size_t misplaced = 0;
  for (std::uint64_t seed = 0; seed < testing::cases_of(1500); ++seed) {
    const auto original = random_case(seed);
    if (!original || original->plan.buffers.empty()) continue;
    Choices choices(seed);
    for (int attempt = 0; attempt < 3; ++attempt) {
      Case it = *original;
      shake_view(it.plan, choices);
      if (!is_misplaced(it)) continue;
      ++misplaced;
      const Faults faults = check(it);
      ASSERT_TRUE(std::any_of(faults.begin(), faults.end(), is_grave)) << "seed " << seed;
    }
  }
  EXPECT_GT(misplaced, testing::cases_of(500));
}

TEST(Check, FindsStepsThatDoNotFitTheirPlan) {
  // Another valid order of the steps needs other lives; the plan's are those of its own.
  std::size_t harmful = 0;
  for (std::uint64_t seed = 0; seed < testing::cases_of(1500); ++seed) {
    auto it = random_case(seed, seed % 2 == 0 ? Alias::none : Alias::all);
    if (!it) continue;
    it->plan.clocks[0] = oracle::random_clock(it->graph, seed);
    const auto execution = oracle::execute(it->graph, it->plan.clocks[0]);
    if (std::any_of(it->graph.ties.begin(), it->graph.ties.end(),
                    [&](const StateTie& tie) { return oracle::is_old_state_lost(execution, tie); })) {
      continue;
    }
    if (!breaks_a_run(*it)) continue;
    ++harmful;
    const Faults faults = faults_of(*it);
    ASSERT_TRUE(std::any_of(faults.begin(), faults.end(), is_grave)) << "seed " << seed;
  }
  EXPECT_GT(harmful, testing::cases_of(300));
}

}  // namespace
}  // namespace stowage
