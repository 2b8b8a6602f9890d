// The checker finds a fault in a streamed plan exactly when a machine that runs it byte by byte does.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "check_cases.h"
#include "long_tests.h"
#include "oracle/row_machine.h"
#include "stowage/plan.h"
#include "stream_plans.h"

namespace stowage {
namespace {

using namespace cases;
using oracle::Choices;

bool is_broken(const Faults& faults) {
  return std::any_of(faults.begin(), faults.end(),
                     [](const Fault& fault) { return fault.kind == FaultKind::format; });
}

std::string text_of_steps(const Plan& plan) {
  std::string text;
  std::int64_t at = 0;
  for (const Step& step : plan.clocks[0].steps) {
    text += std::to_string(at++) + ": ";
    const auto rows = [](const RowRange& range) {
      return " rows " + std::to_string(range.begin) + " to " + std::to_string(range.end);
    };
    if (const auto* const run = std::get_if<Run>(&step))
      text += "run " + std::to_string(run->path[1]) + (run->rows ? rows(*run->rows) : "") +
              (run->part ? " adding" + rows(*run->part) : "");
    if (const auto* const arrive = std::get_if<Arrive>(&step))
      text +=
          "arrive " + plan.tensors[arrive->tensor].tensor.name + (arrive->rows ? rows(*arrive->rows) : "");
    if (const auto* const leave = std::get_if<Leave>(&step))
      text += "leave " + plan.tensors[leave->tensor].tensor.name + (leave->rows ? rows(*leave->rows) : "");
    text += "\n";
  }
  return text;
}

/// What the checker and the machine say, and whether they agree.
struct Verdicts {
  Faults faults{};
  std::optional<std::string> difference{};
  bool is_broken = false;
};

Verdicts verdicts_of(const Graph& graph, const Plan& plan) {
  Verdicts verdicts{check_plan(plan, {&graph, 1}), std::nullopt, false};
  verdicts.is_broken = is_broken(verdicts.faults);
  if (!verdicts.is_broken) verdicts.difference = oracle::difference_by_rows(graph, plan);
  return verdicts;
}

void expect_agreement(const Graph& graph, const Plan& plan, const Verdicts& verdicts,
                      const std::string& what) {
  if (verdicts.is_broken) return;
  EXPECT_EQ(verdicts.faults.empty(), !verdicts.difference.has_value())
      << what << "\nmachine: " << verdicts.difference.value_or("nothing")
      << "\nchecker: " << text_of(verdicts.faults) << text_of_steps(plan)
      << graph.subgraphs[0].operators.size() << " operators";
}

TEST(CheckStreamAtRandom, AgreesWithTheMachineOnNaivePlans) {
  std::size_t sound = 0;
  std::size_t count = 0;
  for (std::uint64_t seed = 1; seed <= testing::cases_of(4000); ++seed) {
    Choices choices(seed);
    const Graph graph = random_row_graph(choices);
    validate(graph);
    const Plan plan = naive_stream_plan(graph, choices);
    if (!is_streamed(plan)) continue;
    const Verdicts verdicts = verdicts_of(graph, plan);
    EXPECT_FALSE(verdicts.is_broken) << "seed " << seed << "\n" << text_of(verdicts.faults);
    expect_agreement(graph, plan, verdicts, "seed " + std::to_string(seed));
    sound += verdicts.faults.empty() ? 1U : 0U;
    ++count;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(10 * sound, 7 * count);  // or else nothing is said of sound plans
}

// Mutations. Each may or may not spoil the plan.

std::optional<std::size_t> some_ring(Plan& plan, Choices& choices) {
  std::vector<std::size_t> rings;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    if (!plan.tensors[t].views.empty() && plan.tensors[t].views[0].ring) rings.push_back(t);
  }
  return rings.empty() ? std::nullopt : std::optional(choices.one_of(rings));
}

View* some_view(Plan& plan, Choices& choices) {
  std::vector<View*> views;
  for (PlannedTensor& tensor : plan.tensors) {
    for (View& view : tensor.views) views.push_back(&view);
  }
  return views.empty() ? nullptr : choices.one_of(views);
}

void move_buffer(Plan& plan, Choices& choices) {
  Bytes& offset =
      choices.one_of(std::vector<Place*>{&plan.places[choices.below(plan.places.size())]})->offset;
  offset = std::max<Bytes>(0, offset + choices.between(-3, 3));
}

void move_view(Plan& plan, Choices& choices) {
  if (View* const view = some_view(plan, choices)) view->offset += choices.between(-2, 2);
}

void move_view_to_another_buffer(Plan& plan, Choices& choices) {
  if (View* const view = some_view(plan, choices)) view->buffer = choices.below(plan.buffers.size());
}

void change_view_life(Plan& plan, Choices& choices) {
  View* const view = some_view(plan, choices);
  if (view == nullptr) return;
  (choices.chance(50) ? view->life.lower : view->life.upper) += choices.between(-1, 1);
}

void change_piece(Plan& plan, Choices& choices) {
  Buffer& buffer = plan.buffers[choices.below(plan.buffers.size())];
  if (buffer.pieces.empty()) return;
  Piece& piece = buffer.pieces[choices.below(buffer.pieces.size())];
  switch (choices.below(4)) {
    case 0:
      piece.life.lower += choices.between(-1, 1);
      break;
    case 1:
      piece.life.upper += choices.between(-1, 1);
      break;
    case 2:
      piece.size += choices.between(-1, 1);
      break;
    default:
      piece.offset += choices.between(-1, 1);
      break;
  }
}

void drop_piece(Plan& plan, Choices& choices) {
  auto& pieces = plan.buffers[choices.below(plan.buffers.size())].pieces;
  if (!pieces.empty())
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(choices.below(pieces.size())));
}

void drop_view(Plan& plan, Choices& choices) {
  auto& views = plan.tensors[choices.below(plan.tensors.size())].views;
  if (!views.empty()) views.erase(views.begin() + static_cast<std::ptrdiff_t>(choices.below(views.size())));
}

void drop_step(Plan& plan, Choices& choices) {
  auto& steps = plan.clocks[0].steps;
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(choices.below(steps.size())));
}

void repeat_step(Plan& plan, Choices& choices) {
  auto& steps = plan.clocks[0].steps;
  const std::size_t from = choices.below(steps.size());
  const Step step = steps[from];
  steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(choices.below(steps.size() + 1)), step);
}

void swap_steps(Plan& plan, Choices& choices) {
  auto& steps = plan.clocks[0].steps;
  const std::size_t first = choices.below(steps.size());
  const std::size_t second = choices.chance(70) ? (first + 1) % steps.size() : choices.below(steps.size());
  std::swap(steps[first], steps[second]);
}

void change_rows_of_step(Plan& plan, Choices& choices) {
  auto& steps = plan.clocks[0].steps;
  Step& step = steps[choices.below(steps.size())];
  RowRange* rows = nullptr;
  if (auto* const run = std::get_if<Run>(&step); run != nullptr && run->rows) rows = &*run->rows;
  if (auto* const arrive = std::get_if<Arrive>(&step); arrive != nullptr && arrive->rows)
    rows = &*arrive->rows;
  if (auto* const leave = std::get_if<Leave>(&step); leave != nullptr && leave->rows) rows = &*leave->rows;
  if (rows != nullptr) (choices.chance(50) ? rows->begin : rows->end) += choices.between(-1, 1);
}

void change_ring(Plan& plan, Choices& choices) {
  const auto tensor = some_ring(plan, choices);
  if (!tensor) return;
  Ring& ring = *plan.tensors[*tensor].views[0].ring;
  (choices.chance(50) ? ring.count : ring.granule) += choices.between(-1, 1);
}

void change_sums(Plan& plan, Choices& choices) {
  std::vector<Run*> runs;
  for (Step& step : plan.clocks[0].steps) {
    if (auto* const run = std::get_if<Run>(&step); run != nullptr && run->sums) runs.push_back(run);
  }
  if (runs.empty()) return;
  Run& run = *choices.one_of(runs);
  switch (choices.below(3)) {
    case 0:
      run.sums->offset += 1;
      break;
    case 1:
      run.sums.reset();
      break;
    default:
      run.sums->buffer = choices.below(plan.buffers.size());
  }
}

void change_part(Plan& plan, Choices& choices) {
  std::vector<Run*> runs;
  for (Step& step : plan.clocks[0].steps) {
    if (auto* const run = std::get_if<Run>(&step); run != nullptr && run->part) runs.push_back(run);
  }
  if (runs.empty()) return;
  Run& run = *choices.one_of(runs);
  if (choices.chance(20)) {
    run.part.reset();
  } else {
    (choices.chance(50) ? run.part->begin : run.part->end) += choices.between(-1, 1);
  }
}

void change_view_rows(Plan& plan, Choices& choices) {
  View* const view = some_view(plan, choices);
  if (view == nullptr || !view->rows) return;
  (choices.chance(50) ? view->rows->begin : view->rows->end) += choices.between(-1, 1);
}

void copy_view(Plan& plan, Choices& choices) {
  auto& views = plan.tensors[choices.below(plan.tensors.size())].views;
  if (!views.empty()) views.push_back(views[choices.below(views.size())]);
}

constexpr std::array mutations{move_buffer,      move_view,    move_view_to_another_buffer,
                               change_view_life, change_piece, drop_piece,
                               drop_view,        drop_step,    repeat_step,
                               swap_steps,       change_ring,  change_rows_of_step,
                               change_sums,      copy_view,    change_view_rows,
                               change_part};

TEST(CheckStreamAtRandom, AgreesWithTheMachineOnMutatedPlans) {
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> harm;  // of each mutation: harmless, harmful
  for (std::uint64_t seed = 1; seed <= testing::cases_of(4000); ++seed) {
    Choices choices(seed + 1000000);
    const Graph graph = random_row_graph(choices);
    Plan plan = naive_stream_plan(graph, choices);
    std::size_t last = 0;
    for (std::size_t count = 1 + choices.below(2); count > 0; --count) {
      last = choices.below(mutations.size());
      mutations[last](plan, choices);
      if (plan.clocks[0].steps.empty()) break;
    }
    correct_claims(plan);
    if (!is_streamed(plan)) continue;
    const Verdicts verdicts = verdicts_of(graph, plan);
    expect_agreement(graph, plan, verdicts,
                     "seed " + std::to_string(seed) + ", mutation " + std::to_string(last));
    ++(verdicts.faults.empty() ? harm[last].first : harm[last].second);
    if (::testing::Test::HasFailure()) return;
  }
  for (std::size_t m = 0; m < mutations.size(); ++m) EXPECT_GT(harm[m].second, 0U) << "mutation " << m;
}

}  // namespace
}  // namespace stowage
