// Plans by an enemy: nothing is known of what the checker says, but it comes back.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "check_cases.h"
#include "long_tests.h"
#include "oracle/random_graph.h"
#include "plan_sketch.h"
#include "stowage/plan.h"
#include "stream_plans.h"

namespace stowage {
namespace {

using namespace cases;
using oracle::Choices;

constexpr Bytes smallest = std::numeric_limits<Bytes>::min();
constexpr Bytes largest = std::numeric_limits<Bytes>::max();

TEST(Check, SurvivesPiecesThatOverflowTheLoad) {
  Case it = small_case();
  Plan& plan = it.plan;
  plan.buffers.resize(1);
  plan.places.resize(1);
  for (PlannedTensor& tensor : plan.tensors) tensor.views.clear();
  plan.buffers[0].size = largest_value;
  plan.buffers[0].pieces.assign(9, {0, largest_value, {0, 1}});
  plan.places[0].offset = 0;
  EXPECT_FALSE(check(it).empty());
}

TEST(Check, SurvivesPeaksThatOverflowTheSummary) {
  for (const Bytes value : {largest, smallest}) {
    Case it = small_case();
    it.plan.memories.push_back(it.plan.memories[0]);
    for (PlannedMemory& memory : it.plan.memories) memory.peak = memory.lower_bound = value;
    EXPECT_FALSE(check(it).empty());
  }
}

TEST(Check, SurvivesTruePeaksThatOverflowTheSummary) {
  Plan plan;
  plan.clocks.emplace_back();
  plan.models.emplace_back();
  for (std::size_t m = 0; m < 5; ++m) {
    plan.memories.push_back({{.name = "memory" + std::to_string(m)}, largest_value, 0});
    plan.buffers.push_back({.id = "buffer" + std::to_string(m)});
    plan.places.push_back({m, largest_value});
  }
  (void)check_plan(plan);
}

TEST(Check, SurvivesPinsThatOverflowTheBound) {
  for (const Bytes value : {largest, smallest}) {
    Case it = small_case();
    it.plan.buffers[0].pinned = value;
    EXPECT_FALSE(check(it).empty());
  }
}

std::int64_t extreme(Choices& choices) {
  static const std::vector<std::int64_t> values{
      smallest,          smallest + 1,  -largest_value,    -1,          0,      1, 2, 1000,
      largest_value - 1, largest_value, largest_value + 1, largest - 1, largest};
  return choices.one_of(values);
}

std::size_t extreme_index(Choices& choices) { return static_cast<std::size_t>(extreme(choices)); }

void attack_buffer(Plan& plan, Choices& choices) {
  if (plan.buffers.empty()) return;
  Buffer& buffer = plan.buffers[choices.below(plan.buffers.size())];
  if (buffer.pieces.empty()) buffer.pieces.emplace_back();
  Piece& piece = buffer.pieces[choices.below(buffer.pieces.size())];
  switch (choices.below(11)) {
    case 0:
      buffer.size = extreme(choices);
      break;
    case 1:
      buffer.alignment = extreme(choices);
      break;
    case 2:
      buffer.pinned = extreme(choices);
      break;
    case 3:
      buffer.memories = {extreme_index(choices), 0};
      break;
    case 4:
      buffer.clock = extreme_index(choices);
      break;
    case 5:
      piece.life.lower = extreme(choices);
      break;
    case 6:
      piece.life.upper = extreme(choices);
      break;
    case 7:
      piece.size = extreme(choices);
      break;
    case 8:
      piece.offset = extreme(choices);
      break;
    case 9:
      for (Piece& each : buffer.pieces) each = {0, buffer.size, {0, extreme(choices)}};
      break;
    default: {
      const std::vector<Piece> pieces = buffer.pieces;
      for (int i = 0; i < 8; ++i) buffer.pieces.insert(buffer.pieces.end(), pieces.begin(), pieces.end());
      break;
    }
  }
}

void attack_tensor(Plan& plan, Choices& choices) {
  if (plan.tensors.empty()) return;
  PlannedTensor& tensor = plan.tensors[choices.below(plan.tensors.size())];
  if (tensor.views.empty()) tensor.views.emplace_back();
  View& view = tensor.views[choices.below(tensor.views.size())];
  switch (choices.below(9)) {
    case 0:
      tensor.model = extreme_index(choices);
      break;
    case 1:
      tensor.tensor.bytes = extreme(choices);
      if (choices.chance(50)) tensor.tensor.shape.reset();
      break;
    case 2:
      tensor.tensor.shape = Shape{extreme(choices), extreme(choices)};
      break;
    case 3:
      view.buffer = extreme_index(choices);
      break;
    case 4:
      view.offset = extreme(choices);
      break;
    case 5:
      view.life = {extreme(choices), extreme(choices)};
      break;
    case 6:
      view.ring = Ring{extreme_index(choices), extreme(choices), extreme(choices)};
      break;
    case 7:
      tensor.views.insert(tensor.views.end(), 20, View(view));
      break;
    default:
      tensor.tensor.name = "";
      break;
  }
}

void attack_rest(Plan& plan, Choices& choices) {
  std::vector<Step> none;
  std::vector<Step>& steps = plan.clocks.empty() ? none : plan.clocks[0].steps;
  switch (choices.below(14)) {
    case 0:
      plan.clocks.clear();
      break;
    case 1:
      plan.clocks.resize(3);
      break;
    case 2:
      if (!steps.empty())
        steps[choices.below(steps.size())] = Copy{extreme_index(choices), extreme_index(choices), 0};
      break;
    case 3:
      if (!steps.empty()) steps[choices.below(steps.size())] = Fork{{extreme_index(choices)}};
      break;
    case 4:
      steps.emplace_back(Run{.model = extreme_index(choices), .path = {0, 0}});
      break;
    case 5:
      steps.emplace_back(
          Run{.path = {extreme_index(choices), extreme_index(choices), extreme_index(choices)}});
      break;
    case 6:
      if (!steps.empty()) {
        if (auto* const run = std::get_if<Run>(&steps[choices.below(steps.size())])) {
          if (!run->path.empty()) run->path[choices.below(run->path.size())] = extreme_index(choices);
        }
      }
      break;
    case 7:
      plan.memories.resize(choices.below(4), {{.name = "more"}, extreme(choices), extreme(choices)});
      break;
    case 8:
      for (PlannedMemory& memory : plan.memories) {
        memory = {{.name = "",
                   .capacity = extreme(choices),
                   .alignment = extreme(choices),
                   .cost = extreme(choices)},
                  extreme(choices),
                  extreme(choices)};
      }
      break;
    case 9:
      for (Place& place : plan.places) place = {choices.below(3), extreme(choices)};
      break;
    case 10:
      if (!plan.places.empty())
        plan.places[choices.below(plan.places.size())].memory = extreme_index(choices);
      break;
    case 11:
      plan.claims = {{ClaimScope::offsets, extreme(choices), choices.chance(50)}};
      plan.summary = {extreme(choices), extreme(choices), extreme(choices), "", "", 0};
      break;
    case 12:
      plan.models.resize(choices.below(3));
      break;
    default:
      plan.places.resize(choices.below(plan.places.size() + 2));
      break;
  }
}

TEST(Check, SurvivesHostilePlans) {
  std::size_t faulty = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const auto original = random_case(seed);
    if (!original) continue;
    Choices choices(seed);
    for (int attempt = 0; attempt < 10; ++attempt) {
      Case it = *original;
      for (std::size_t i = 1 + choices.below(4); i > 0; --i) {
        switch (choices.below(3)) {
          case 0:
            attack_buffer(it.plan, choices);
            break;
          case 1:
            attack_tensor(it.plan, choices);
            break;
          default:
            attack_rest(it.plan, choices);
            break;
        }
      }
      (void)check_plan(it.plan);
      if (!check(it).empty()) ++faulty;
      const std::vector<Graph> two{it.graph, it.graph};
      (void)check_plan(it.plan, two);
    }
  }
  EXPECT_GT(faulty, 2000U);
}

/// Three models on three clocks, with a feed, a copy and weights.
PlanSketch of_everything() {
  oracle::Sketch first;
  first.subgraph({"px", "old"}, {"py", "new"});
  first.add(0, "Conv", {"px", "old", "pw"}, {"pa"});
  first.add(0, "Conv", {"pa"}, {"py"});
  first.add(0, "Conv", {"pa"}, {"new"});
  first.tie("new", "old");
  first.tensor("pw").kind = TensorKind::weight;
  PlanSketch it;
  it.add_memory("slow");
  it.add_memory("flash", MemoryRole::weights);
  it.add_model("p", first.graph());
  it.add_model("q", chain_of_two("qx", "qa", "qy"));
  it.add_model("r", chain("rx", "ry"));
  it.add_clock();
  it.add_clock();
  it.run_path(0, 0, {0, 0});
  it.add_buffer("out", 0, 0, {1, 4}, 1);
  it.put("pa", 0, 0, {0, 4});
  it.add_view("pa", "out", {1, 4});
  it.copy(0, "pa", "pa", "out");
  it.run(0, 0, 1);
  it.run(0, 0, 2);
  it.fork(0, {1, 2});
  it.run_all(1, 1);
  it.run_all(2, 2);
  it.put("px", 0, 16, {0, 1});
  it.put("py", 0, 32, {2, 5});
  it.add_view("qx", "py", {4, 5});
  it.put("old", 0, 48, {0, 5});
  it.add_view("new", "old", {3, 5});
  it.view("old").life.upper = 1;
  it.put("pw", 0, 0, {0, 5}, 2);
  it.put("qa", 1, 64, {0, 2});
  it.put("qy", 1, 80, {1, 2});
  it.put("rx", 2, 0, {0, 1});
  it.put("ry", 2, 16, {0, 1});
  it.feed("py", "qx");
  return it;
}

std::size_t some_index(Choices& choices) {
  return choices.chance(80) ? choices.below(8) : extreme_index(choices);
}

void attack_clocks(Plan& plan, Choices& choices) {
  if (plan.clocks.empty()) return;
  auto& steps = plan.clocks[choices.below(plan.clocks.size())].steps;
  const std::size_t at = choices.below(steps.size() + 1);
  const auto position = steps.begin() + static_cast<std::ptrdiff_t>(at);
  switch (choices.below(7)) {
    case 0:
      steps.insert(position, Fork{{some_index(choices), some_index(choices)}});
      break;
    case 1:
      steps.insert(position, Copy{choices.below(12), some_index(choices), some_index(choices)});
      break;
    case 2:
      if (at < steps.size()) steps.erase(position);
      break;
    case 3:
      if (at < steps.size()) std::swap(steps[at], steps[choices.below(steps.size())]);
      break;
    case 4:
      plan.feeds.push_back({choices.below(12), choices.below(12)});
      if (choices.below(2) == 0) plan.released.push_back(choices.below(12));
      break;
    case 5:
      plan.savings = Savings{{extreme(choices), extreme(choices)}, {}, {extreme(choices), extreme(choices)}};
      plan.summary.cost = extreme(choices);
      plan.memories[0].memory.cost = extreme(choices);
      break;
    default:
      plan.clocks.insert(plan.clocks.begin(), Clock{{Fork{{1}}}});
      break;
  }
}

TEST(Check, SurvivesHostilePlansOfSeveralClocks) {
  const PlanSketch original = of_everything();
  ASSERT_TRUE(original.check().empty()) << text_of(original.check());
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    Choices choices(seed);
    Plan plan = original.plan;
    correct_claims(plan);
    for (std::size_t i = 1 + choices.below(3); i > 0; --i) {
      switch (choices.below(8)) {
        case 0:
          attack_buffer(plan, choices);
          break;
        case 1:
          attack_tensor(plan, choices);
          break;
        case 2:
          if (!plan.buffers.empty())
            plan.buffers[choices.below(plan.buffers.size())].clock = choices.below(4);
          break;
        case 3:
          if (!plan.tensors.empty() && !plan.buffers.empty()) {
            plan.tensors[choices.below(plan.tensors.size())].views.push_back(
                {choices.below(plan.buffers.size()), 0, {choices.between(0, 3), choices.between(3, 6)}, {}});
          }
          break;
        default:
          attack_clocks(plan, choices);
          break;
      }
    }
    (void)check_plan(plan, original.inputs);
  }
}

TEST(Check, SurvivesThePlanOfAnotherNetwork) {
  std::optional<Plan> last;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto it = random_case(seed);
    if (!it) continue;
    if (last) (void)check_plan(*last, {&it->graph, 1});
    last = it->plan;
  }
  EXPECT_FALSE(check_plan(Plan{}).empty());
}

void attack_rows(RowRange& rows, Choices& choices) {
  switch (choices.below(3)) {
    case 0:
      rows.axis = extreme_index(choices);
      break;
    case 1:
      rows.begin = extreme(choices);
      break;
    default:
      rows.end = extreme(choices);
      break;
  }
}

void attack_step(Plan& plan, Choices& choices) {
  if (plan.clocks.empty() || plan.clocks[0].steps.empty()) return;
  Step& step = plan.clocks[0].steps[choices.below(plan.clocks[0].steps.size())];
  if (auto* const run = std::get_if<Run>(&step)) {
    if (run->rows && choices.chance(50)) return attack_rows(*run->rows, choices);
    run->sums = Sums{choices.chance(50) ? 0 : extreme_index(choices), extreme(choices)};
    return;
  }
  const std::size_t tensor = choices.chance(50) ? 0 : extreme_index(choices);
  RowRange rows{0, 0, 1};
  attack_rows(rows, choices);
  step = choices.chance(50) ? Step(Arrive{tensor, rows}) : Step(Leave{tensor, rows});
}

void attack_view_of_rows(Plan& plan, Choices& choices) {
  PlannedTensor& tensor = plan.tensors[choices.below(plan.tensors.size())];
  if (tensor.views.empty()) return;
  View& view = tensor.views[choices.below(tensor.views.size())];
  if (!view.rows) view.rows = RowRange{0, 0, 1};
  attack_rows(*view.rows, choices);
}

TEST(Check, SurvivesHostileStreamedPlans) {
  for (std::uint64_t seed = 1; seed <= testing::cases_of(3000); ++seed) {
    Choices choices(seed);
    const Graph graph = random_row_graph(choices);
    Plan plan = naive_stream_plan(graph, choices);
    for (std::size_t count = choices.below(3) + 1; count > 0 && !plan.tensors.empty(); --count) {
      switch (choices.below(5)) {
        case 0:
          attack_buffer(plan, choices);
          break;
        case 1:
          attack_tensor(plan, choices);
          break;
        case 2:
          attack_step(plan, choices);
          break;
        case 3:
          attack_view_of_rows(plan, choices);
          break;
        default:
          attack_rest(plan, choices);
          break;
      }
    }
    (void)check_plan(plan, {&graph, 1});
    (void)check_plan(plan);
  }
}

/// One operator over a tensor of that shape, along that axis, and a plan of two steps.
struct Huge {
  Graph graph{};
  Plan plan{};
};

Huge huge(const Shape& shape, std::size_t axis, const RowMap& map) {
  RowSketch sketch;
  sketch.convolve(sketch.input("x", shape), axis, shape[axis], map);
  sketch.finish();
  Huge it{sketch.graph, {}};
  it.plan.models = {{"huge", "huge.json", ModelFormat::json}};
  it.plan.memories = {{.memory = {.name = "arena"}}};
  const std::int64_t half = shape[axis] / 2;
  it.plan.clocks = {{.steps = {Run{.path = {0, 0}, .rows = RowRange{axis, 0, half}},
                               Run{.path = {0, 0}, .rows = RowRange{axis, half, shape[axis]}}}}};
  for (const Tensor& tensor : it.graph.tensors) {
    it.plan.buffers.push_back(
        {.id = tensor.name, .size = tensor.bytes, .pieces = {{0, tensor.bytes, {0, 2}}}});
    it.plan.places.push_back({0, it.plan.tensors.empty() ? 0 : it.plan.buffers[0].size});
    it.plan.tensors.push_back({.tensor = tensor, .views = {{it.plan.tensors.size(), 0, {0, 2}}}});
  }
  correct_claims(it.plan);
  return it;
}

TEST(Check, SurvivesHugeTensorsInRows) {
  constexpr std::int64_t many = std::int64_t{1} << 30;
  Huge it = huge({many, 2}, 0, {.offset = -1, .taps = 3});
  EXPECT_EQ(text_of(check_plan(it.plan, {&it.graph, 1})), "");
  it.plan.tensors[1].views[0].ring = Ring{0, 1, 1};
  EXPECT_TRUE(has_fault(check_plan(it.plan, {&it.graph, 1}), {{FaultKind::overlap}, {"ring of 1 rows"}}));
  // Every second row is gone through one by one, or every row of a channel by itself: not for ever.
  it = huge({many, 2}, 0, {.scale = 2});
  EXPECT_TRUE(has_fault(check_plan(it.plan, {&it.graph, 1}), {{FaultKind::format}, {"more rows than"}}));
  it = huge({many, 2, 1}, 1, {});
  EXPECT_TRUE(has_fault(check_plan(it.plan, {&it.graph, 1}), {{FaultKind::format}, {"runs of bytes"}}));
}

}  // namespace
}  // namespace stowage
