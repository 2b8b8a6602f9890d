// Operands of one step in different banks: of rows, of several networks and memories, with bodies and near an earlier
// plan. Clashes are counted byte by byte.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "image_networks.h"
#include "long_tests.h"
#include "oracle/random_graph.h"
#include "random_networks.h"
#include "rows_of_models.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::by_rows;
using testing::Random;

using Stretch = std::pair<std::int64_t, std::int64_t>;   ///< Rows or bytes [begin, end).
using BytesOf = std::map<std::size_t, std::set<Bytes>>;  ///< By buffer.
using Touches = std::map<std::size_t, BytesOf>;          ///< By operand.

/// Counts the pairs of a plan, element by element, in one memory and on one clock.
class BankOracle {
 public:
  BankOracle(const Graph& graph, const Plan& plan, const Banks& banks)
      : graph_(graph), plan_(plan), banks_(banks) {
    const std::vector<Step>& steps = plan.clocks[0].steps;
    for (; at_ < std::ssize(steps); ++at_) {
      const auto* const run = std::get_if<stowage::Run>(&steps[static_cast<std::size_t>(at_)]);
      if (run != nullptr) count(touched_by(*run));
    }
  }

  std::int64_t pairs = 0;
  std::int64_t clashes = 0;
  std::int64_t steps_with_rows = 0;

 private:
  Touches touched_by(const stowage::Run& run) {
    const Operator& op = graph_.subgraphs[0].operators[run.path[1]];
    Touches all;
    EXPECT_FALSE(run.carry || run.block) << "not foreseen here";
    steps_with_rows += run.rows ? 1 : 0;
    const bool sums = run.sums.has_value();
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i]) continue;
      const RowAxis* const along = run.rows && !sums ? row_axis(op, run.rows->axis) : nullptr;
      const RowRead* const read = along != nullptr ? row_read(*along, i) : nullptr;
      if (sums && i == 0) {
        touch(*op.inputs[i], run.rows->axis, {{run.rows->begin, run.rows->end}}, all);
      } else if (read != nullptr && run.part) {
        touch(*op.inputs[i], read->axis, {{run.part->begin, run.part->end}}, all);
      } else if (read != nullptr) {
        touch(*op.inputs[i], read->axis, rows_read(*read, *run.rows, *op.inputs[i]), all);
      } else {
        touch_all(*op.inputs[i], all);
      }
    }
    const bool is_last = !sums || run.rows->end == (*graph_.tensors[*op.inputs[0]].shape)[run.rows->axis];
    for (const auto& output : op.outputs) {
      if (!output || !is_last) continue;
      if (run.rows && !sums) {
        touch(*output, run.rows->axis, {{run.rows->begin, run.rows->end}}, all);
      } else {
        touch_all(*output, all);
      }
    }
    if (sums) {
      for (Bytes b = 0; b < bytes_of_sums(graph_.tensors[*op.outputs[0]]); ++b)
        all[graph_.tensors.size()][run.sums->buffer].insert(run.sums->offset + b);
    }
    return all;
  }

  std::vector<Stretch> rows_read(const RowRead& read, const RowRange& rows, TensorId t) const {
    std::set<std::int64_t> all;
    const std::int64_t extent = (*graph_.tensors[t].shape)[read.axis];
    for (std::int64_t r = rows.begin; r < rows.end; ++r)
      for_each_row(read.rows, extent, r, [&](std::int64_t row) { all.insert(row); });
    std::vector<Stretch> stretches;
    for (const std::int64_t row : all) {
      if (stretches.empty() || stretches.back().second < row) stretches.emplace_back(row, row);
      stretches.back().second = row + 1;
    }
    return stretches;
  }

  void touch_all(TensorId t, Touches& all) const {
    const Tensor& tensor = graph_.tensors[t];
    if (is_constant(tensor.kind) || plan_.tensors[t].views.empty()) return;
    const View& view = plan_.tensors[t].views[0];
    const std::size_t axis = view.ring ? view.ring->axis : view.rows ? view.rows->axis : 0;
    if (tensor.shape->empty()) {
      for (Bytes b = 0; b < tensor.bytes; ++b) all[t][view.buffer].insert(view.offset + b);
      return;
    }
    touch(t, axis, {{0, (*tensor.shape)[axis]}}, all);
  }

  /// Elements are visited one by one.
  void touch(TensorId t, std::size_t axis, const std::vector<Stretch>& stretches, Touches& all) const {
    const Tensor& tensor = graph_.tensors[t];
    if (is_constant(tensor.kind)) return;
    const Shape& shape = *tensor.shape;
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    const Bytes width = tensor.bytes / elements;
    for (const Stretch& stretch : stretches) {
      BytesOf whole;
      for (std::int64_t e = 0; e < elements; ++e) {
        if (!is_in(stretch, coordinate(shape, axis, e))) continue;
        const View* const view = view_of(t, e);
        if (view == nullptr) continue;
        const bool is_whole = !view->ring && !view->rows;
        const Bytes at = view->offset + (is_whole ? e * width : by_row(*view, shape, e, width));
        for (Bytes b = 0; b < width; ++b) (is_whole ? whole : all[t])[view->buffer].insert(at + b);
      }
      for (const auto& [buffer, bytes] : whole) {
        for (Bytes b = *bytes.begin(); b <= *bytes.rbegin(); ++b) all[t][buffer].insert(b);
      }
    }
  }

  static bool is_in(const Stretch& stretch, std::int64_t row) {
    return stretch.first <= row && row < stretch.second;
  }

  static std::int64_t coordinate(const Shape& shape, std::size_t axis, std::int64_t element) {
    for (std::size_t d = shape.size() - 1; d > axis; --d) element /= shape[d];
    return element % shape[axis];
  }

  /// In a view of rows: as if their axis were the first.
  static Bytes by_row(const View& view, const Shape& shape, std::int64_t element, Bytes width) {
    const std::size_t axis = view.ring ? view.ring->axis : view.rows->axis;
    std::int64_t in_row = 0;
    std::int64_t row_size = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d == axis) continue;
      in_row = in_row * shape[d] + coordinate(shape, d, element);
      row_size *= shape[d];
    }
    std::int64_t row = coordinate(shape, axis, element);
    row = view.rows
              ? row - view.rows->begin
              : row / view.ring->granule % view.ring->count * view.ring->granule + row % view.ring->granule;
    return (row * row_size + in_row) * width;
  }

  /// Live now or, if it is written over, up to now.
  [[nodiscard]] const View* view_of(TensorId t, std::int64_t element) const {
    const View* ended = nullptr;
    for (const View& view : plan_.tensors[t].views) {
      const auto has = [&](const RowRange& rows) {
        return is_in({rows.begin, rows.end}, coordinate(*graph_.tensors[t].shape, rows.axis, element));
      };
      if (view.life.lower > at_ || (view.rows && !has(*view.rows))) continue;
      if (view.life.upper > at_) return &view;
      if (view.life.upper == at_) ended = &view;
    }
    return ended;
  }

  [[nodiscard]] std::set<Bytes> banks_of(std::size_t buffer, const Stretch& bytes) const {
    std::set<Bytes> all;
    for (Bytes b = bytes.first; b < bytes.second; ++b)
      all.insert((plan_.places[buffer].offset + b) / banks_.size);
    return all;
  }

  /// Bytes that follow each other are one part.
  static std::vector<Stretch> parts_of(const std::set<Bytes>& bytes) {
    std::vector<Stretch> parts;
    for (const Bytes b : bytes) {
      if (parts.empty() || parts.back().second < b) parts.emplace_back(b, b);
      parts.back().second = b + 1;
    }
    return parts;
  }

  void count(const Touches& all) {
    for (auto one = all.begin(); one != all.end(); ++one) {
      for (auto other = all.begin(); other != one; ++other) {
        for (const auto& [a, bytes] : one->second) {
          for (const auto& [b, others] : other->second) {
            if (a != b) count(a, parts_of(bytes), b, parts_of(others));
          }
        }
      }
    }
  }

  void count(std::size_t a, const std::vector<Stretch>& parts, std::size_t b,
             const std::vector<Stretch>& others) {
    for (const Stretch& part : parts) {
      for (const Stretch& other : others) {
        const std::set<Bytes> banks = banks_of(a, part);
        ++pairs;
        clashes +=
            std::ranges::any_of(banks_of(b, other), [&](Bytes it) { return banks.contains(it); }) ? 1 : 0;
      }
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  Banks banks_;
  Position at_ = 0;
};

/// So many banks of a size that hold all of it.
void give_banks(std::int64_t count, Bytes size, PlanOptions& options) {
  options.banks = Banks{.count = count, .size = size};
  options.memories[0].capacity = count * size;
}

TEST(BanksOfRows, HaveTheClashesOfTheBytesThatStepsTouch) {
  int plans = 0;
  int better = 0;
  std::int64_t steps_with_rows = 0;
  const int cases = testing::has_time() ? 60 : 24;
  for (int seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(seed);
    Random random(static_cast<std::uint64_t>(seed));
    const Network network = testing::random_images(random, {1, 2, 10, 5});
    PlanOptions options = by_rows(seed % 2 == 0 ? Io::rows : Io::arena);
    options.stream->blocks = StreamBlocks::none;
    if (seed % 3 == 0) options.stream->layout = StreamLayout::granules;
    const Plan before = make_plan(network.input, options).plan;
    if (before.summary.peak == 0) continue;
    const Banks banks{.count = 4, .size = (before.summary.peak + 1) / 2};
    give_banks(banks.count, banks.size, options);
    const PlanResult result = make_plan(network.input, options);
    for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
    ASSERT_TRUE(result.bank_use);
    const BankOracle counted(network.graph(), result.plan, banks);
    EXPECT_EQ(result.bank_use->pairs, counted.pairs);
    EXPECT_EQ(result.bank_use->clashes, counted.clashes);
    EXPECT_LE(result.bank_use->least_clashes, counted.clashes);
    const RunResult run = run_plan({network}, result.plan,
                                   {.check = RunCheck::tensors, .seed = static_cast<std::uint64_t>(seed)});
    EXPECT_FALSE(run.fault) << run.fault->what;
    ++plans;
    steps_with_rows += counted.steps_with_rows;
    better += counted.clashes < BankOracle(network.graph(), before, banks).clashes ? 1 : 0;
  }
  EXPECT_GT(plans, cases * 5 / 6);
  EXPECT_GT(better, plans / 2);
  EXPECT_GT(steps_with_rows, cases * 5);
}

TEST(BanksOfRows, AreForNetworksThatShareADevice) {
  int at_one_time = 0;
  int several_memories = 0;
  std::int64_t clashes = 0;
  std::int64_t pairs = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    testing::Scenario scenario = testing::random_scenario(seed);
    std::vector<Input> inputs;
    for (const Network& network : scenario.networks) inputs.push_back(network.input);
    PlanOptions& options = scenario.options;
    options.solve.effort = 50;
    options.memories = {{.name = "arena"}};
    options.solve.strategy = SolveOptions().strategy;
    const Plan before = make_plan(inputs, options).plan;
    if (before.summary.peak == 0) continue;
    give_banks(4, before.summary.peak, options);
    if (seed % 2 == 0) {
      give_banks(3, before.summary.peak / 4 + 16, options);
      options.memories.push_back({.name = "slow", .cost = 10});
      ++several_memories;
    }
    const PlanResult result = make_plan(inputs, options);
    for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
    ASSERT_TRUE(result.bank_use);
    at_one_time += result.plan.clocks.size() > 1 ? 1 : 0;
    clashes += result.bank_use->clashes;
    pairs += result.bank_use->pairs;
    const RunResult run =
        run_plan(scenario.networks, result.plan, {.check = RunCheck::tensors, .seed = seed});
    EXPECT_FALSE(run.fault) << run.fault->what;
  }
  EXPECT_GT(at_one_time, 10);
  EXPECT_GT(several_memories, 10);
  EXPECT_LT(clashes, pairs / 4);
}

TEST(BanksOfRows, SpreadOperandsOfBodies) {
  int with_bodies = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = oracle::random_graph(seed);
    with_bodies += graph.subgraphs.size() > 1 ? 1 : 0;
    PlanOptions options{.alignment = 1};
    options.solve.effort = 50;
    const Plan before = make_plan(Input{.content = graph}, options).plan;
    if (before.summary.peak == 0) continue;
    give_banks(6, before.summary.peak, options);
    const PlanResult result = make_plan(Input{.content = graph}, options);
    for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
    ASSERT_TRUE(result.bank_use);
    EXPECT_LE(result.bank_use->least_clashes, result.bank_use->clashes);
  }
  EXPECT_GT(with_bodies, 20);
}

TEST(BanksOfRows, LeaveKeptBuffersWhereTheyAre) {
  int moved = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Network network = testing::random_images(random, {1, 2, 10, 5});
    PlanOptions options;
    options.alignment = 1;
    options.solve.effort = 50;
    const Plan before = make_plan(network.input, options).plan;
    if (before.summary.peak == 0) continue;
    give_banks(4, before.summary.peak, options);
    std::vector<NearPlace> near = places_in(before);
    near.resize((near.size() + 1) / 2);
    options.near = near;
    const PlanResult result = make_plan(network.input, options);
    for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
    ASSERT_TRUE(result.bank_use && result.nearness);
    EXPECT_EQ(result.nearness->buffers_kept, std::ssize(near));
    for (const NearPlace& place : near) {
      const auto at = std::ranges::find(result.plan.buffers, place.buffer, &Buffer::id);
      ASSERT_NE(at, result.plan.buffers.end());
      EXPECT_EQ(result.plan.places[static_cast<std::size_t>(at - result.plan.buffers.begin())].offset,
                place.offset);
      EXPECT_FALSE(at->pinned);
    }
    const auto peak = result.plan.summary.peak;
    moved += peak > before.summary.peak ? 1 : 0;
  }
  EXPECT_GT(moved, 20);
}

}  // namespace
}  // namespace stowage
