// Batches of which no operator mixes samples: one sample after the other, in the bytes of one.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "check/block_network.h"
#include "image_networks.h"
#include "long_tests.h"
#include "plan/row_samples.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::ImageMaker;
using testing::pick;
using testing::Random;

PlanOptions by_rows(StreamBlocks blocks = StreamBlocks::searched) {
  PlanOptions options;
  options.io = Io::rows;
  options.alignment = 1;
  options.stream.emplace();
  options.stream->blocks = blocks;
  options.solve.time_limit = testing::time_of(std::chrono::milliseconds(700));
  return options;
}

Plan sound_plan(const Network& network, const PlanOptions& options) {
  PlanResult result = make_plan(network.input, options);
  EXPECT_TRUE(result.faults.empty()) << result.faults[0].what;
  return std::move(result.plan);
}

TensorId window(ImageMaker& images, TensorId x, std::int64_t channels) {
  const Shape from = images.shape(x);
  return images.apply("Conv", {x, images.weight({channels, from[1], 3, 3})},
                      {from[0], channels, from[2], from[3]},
                      {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
}

/// Windows, activations, pools and sums of two, drawn at random. `seed` gives the same network for each batch.
Network layers(std::uint64_t seed, std::int64_t samples) {
  Random random(seed);
  ImageMaker images(random);
  const TensorId x = images.add_tensor(TensorKind::input, {samples, 2, pick(random, 6, 10), 4});
  std::vector<TensorId> values{x};
  for (std::int64_t i = 0, count = pick(random, 2, 4); i < count; ++i) {
    const TensorId last = values.back();
    const Shape shape = images.shape(last);
    const std::int64_t kind = pick(random, 0, 3);
    if (kind == 0) {
      values.push_back(images.apply("Relu", {last}, shape));
    } else if (kind == 1 && images.shape(values.front()) == shape) {
      values.push_back(images.apply("Add", {values.front(), last}, shape));
    } else if (kind == 2) {
      values.push_back(images.apply("AveragePool", {last}, {shape[0], shape[1], shape[2] - 1, shape[3]},
                                    {{"kernel_shape", std::vector<std::int64_t>{2, 1}}}));
    } else {
      values.push_back(window(images, last, pick(random, 1, 3)));
    }
  }
  (void)window(images, values.back(), 2);
  return images.take(0);
}

bool has_blocks(const Plan& plan) {
  return std::ranges::any_of(plan.clocks[0].steps, [](const Step& step) {
    const auto* const arrive = std::get_if<Arrive>(&step);
    return arrive != nullptr && arrive->block;
  });
}

TEST(PlanSamples, NeedTheBytesOfOne) {
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 100 : 12);
  std::uint64_t in_blocks = 0;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    const Network batch = layers(seed, 2 + static_cast<std::int64_t>(seed % 3));
    const Plan plan = sound_plan(batch, by_rows());
    const Plan one = sound_plan(layers(seed, 1), by_rows(StreamBlocks::none));
    const Plan unsplit = sound_plan(batch, by_rows(StreamBlocks::none));
    EXPECT_LE(plan.summary.peak, unsplit.summary.peak) << seed;
    const bool is_complete = !plan.interrupted && !one.interrupted;
    EXPECT_TRUE(!is_complete || plan.summary.peak == one.summary.peak) << seed;
    for (const Claim& claim : plan.claims) EXPECT_LE(claim.lower_bound, one.summary.peak) << seed;
    in_blocks += has_blocks(plan) ? 1 : 0;
    const RunResult run = run_plan(batch, plan, {.check = RunCheck::tensors});
    ASSERT_FALSE(run.fault) << seed << ": " << run.fault->what;
    const RunResult outputs = run_plan(batch, plan, {.check = RunCheck::outputs});
    ASSERT_FALSE(outputs.fault) << seed << ": " << outputs.fault->what;
  }
  EXPECT_GE(in_blocks, cases - 1);
}

TEST(PlanSamples, AreReadAsTheyAreWritten) {
  const Network batch = layers(3, 3);
  const Plan plan = sound_plan(batch, by_rows());
  ASSERT_TRUE(has_blocks(plan));
  for (const PlanForm form : {PlanForm::compact, PlanForm::expanded}) {
    std::ostringstream out;
    write_json(plan, out, form);
    const Plan read = parse_plan(out.str());
    EXPECT_EQ(read.clocks, plan.clocks);
    EXPECT_EQ(read.tensors, plan.tensors);
  }
}

/// The mean of all samples needs all of them.
TEST(PlanSamples, ThatAreMixedStayTogether) {
  Random random(1);
  ImageMaker images(random);
  const TensorId x = images.add_tensor(TensorKind::input, {3, 2, 8, 4});
  const TensorId y = window(images, x, 2);
  (void)images.apply("ReduceMax", {y}, {1, 2, 8, 4}, {{"axes", std::vector<std::int64_t>{0}}});
  EXPECT_FALSE(has_blocks(sound_plan(images.take(0), by_rows())));
}

TEST(PlanSamples, ThatAreThereFromTheStartStayTogether) {
  PlanOptions options = by_rows();
  options.io = Io::arena;
  EXPECT_FALSE(has_blocks(sound_plan(layers(3, 3), options)));
}

struct Wrong {
  std::string title;
  std::function<void(Plan&)> spoil;
  bool fails = true;  ///< In a run: what has no view there is the caller's.
};

std::size_t find_step(const Plan& plan, const std::function<bool(const Step&)>& is_it) {
  const auto& steps = plan.clocks[0].steps;
  return static_cast<std::size_t>(std::ranges::find_if(steps, is_it) - steps.begin());
}

bool arrives_in(const Step& step, std::int64_t sample) {
  const auto* const arrive = std::get_if<Arrive>(&step);
  return arrive != nullptr && arrive->block && arrive->block->begin == sample;
}

bool leaves_in(const Step& step, std::int64_t sample) {
  const auto* const leave = std::get_if<Leave>(&step);
  return leave != nullptr && leave->block && leave->block->begin == sample;
}

Run& run_of(Step& step) { return std::get<Run>(step); }

bool runs_in(const Step& step, std::int64_t sample) {
  const auto* const run = std::get_if<Run>(&step);
  return run != nullptr && run->block && run->block->begin == sample;
}

TEST(PlanSamples, ThatAreWrongAreFound) {
  const Network batch = layers(3, 3);
  const Graph& graph = batch.graph();
  const Plan right = sound_plan(batch, by_rows());
  ASSERT_TRUE(has_blocks(right));
  const auto first = [&](const auto& is_it, std::int64_t sample) {
    return find_step(right, [&](const Step& step) { return is_it(step, sample); });
  };
  const std::size_t in = first(arrives_in, 1);
  const std::size_t out = first(leaves_in, 1);
  const auto step = [](Plan& plan, std::size_t at) -> Step& { return plan.clocks[0].steps[at]; };
  const std::vector<Wrong> wrongs{
      {"an arrival of all samples", [&](Plan& it) { std::get<Arrive>(step(it, in)).block.reset(); }},
      {"an arrival of another sample",
       [&](Plan& it) {
         std::get<Arrive>(step(it, in)).block = RowRange{0, 2, 3};
       }},
      {"an arrival of two samples",
       [&](Plan& it) {
         std::get<Arrive>(step(it, in)).block = RowRange{0, 1, 3};
       }},
      {"a sample that does not exist",
       [&](Plan& it) {
         std::get<Arrive>(step(it, in)).block = RowRange{0, 3, 4};
       }},
      {"samples along the axis of rows",
       [&](Plan& it) {
         std::get<Arrive>(step(it, in)).block = RowRange{2, 1, 2};
       }},
      {"an arrival of another row",
       [&](Plan& it) {
         std::get<Arrive>(step(it, in)).rows = RowRange{2, 1, 2};
       }},
      {"a departure of all samples", [&](Plan& it) { std::get<Leave>(step(it, out)).block.reset(); }},
      {"a departure of another sample",
       [&](Plan& it) {
         std::get<Leave>(step(it, out)).block = RowRange{0, 0, 1};
       }},
      {"a step of another sample",
       [&](Plan& it) {
         const auto at = find_step(it, [](const Step& s) { return runs_in(s, 1); });
         run_of(step(it, at)).block = RowRange{0, 2, 3};
       }},
      {"an output that stays",
       [](Plan& it) {
         std::erase_if(it.clocks[0].steps, [](const Step& s) { return std::holds_alternative<Leave>(s); });
       }},
      {"a view of another sample",
       [](Plan& it) {
         for (PlannedTensor& tensor : it.tensors) {
           for (View& view : tensor.views) {
             if (view.block && view.block->begin == 1) view.block = RowRange{0, 0, 1};
           }
         }
       },
       false},
      {"a view that ends early", [](Plan& it) {
         for (PlannedTensor& tensor : it.tensors) {
           for (View& view : tensor.views) {
             if (view.block && view.block->begin == 2) --view.life.upper;
           }
         }
       }}};
  EXPECT_TRUE(check_plan(right, {&graph, 1}).empty());
  for (const Wrong& wrong : wrongs) {
    Plan plan = right;
    wrong.spoil(plan);
    EXPECT_FALSE(check_plan(plan, {&graph, 1}).empty()) << wrong.title;
    EXPECT_TRUE(!wrong.fails || run_plan(batch, plan, {.check = RunCheck::tensors}).fault) << wrong.title;
  }
}

struct Spoilt {
  std::string title;
  std::function<void(plan::Samples&, Graph&)> spoil;
};

TEST(PlanSamples, OfAWrongNetworkAreFound) {
  const Network batch = layers(3, 3);
  const Graph& graph = batch.graph();
  const std::optional<plan::Samples> samples = plan::samples_of(graph);
  ASSERT_TRUE(samples);
  const auto main = [](Graph& stored) -> Subgraph& { return stored.subgraphs[0]; };
  const std::vector<Spoilt> all{
      {"a sample is not given", [&](plan::Samples&, Graph& it) { main(it).inputs.pop_back(); }},
      {"a sample is given twice",
       [&](plan::Samples&, Graph& it) { main(it).inputs[1] = main(it).inputs[0]; }},
      {"samples in another order",
       [&](plan::Samples&, Graph& it) { std::swap(main(it).outputs[0], main(it).outputs[1]); }},
      {"a sample is not made", [&](plan::Samples&, Graph& it) { main(it).outputs.pop_back(); }},
      {"the batch beside its samples",
       [&](plan::Samples&, Graph& it) { main(it).inputs.push_back(graph.subgraphs[0].inputs[0]); }},
      {"the batch instead of its samples",
       [&](plan::Samples&, Graph& it) { main(it).inputs = graph.subgraphs[0].inputs; }},
      {"an operator reads another sample",
       [&](plan::Samples& of, Graph& it) {
         const TensorId x = graph.subgraphs[0].inputs[0];
         for (Operator& op : main(it).operators) {
           for (auto& input : op.inputs) {
             if (input == of.network.blocks.at(x)[1]) input = of.network.blocks.at(x)[2];
           }
         }
       }},
      {"a given sample is a tensor inside",
       [&](plan::Samples&, Graph& it) { it.tensors[main(it).inputs[1]].kind = TensorKind::temporary; }}};
  Graph right = model::stored(samples->network);
  EXPECT_TRUE(check::check_block_network(graph, samples->network, right).empty());
  for (const Spoilt& it : all) {
    plan::Samples other = *samples;
    Graph stored = model::stored(other.network);
    it.spoil(other, stored);
    EXPECT_FALSE(check::check_block_network(graph, other.network, stored).empty()) << it.title;
  }
}

}  // namespace
}  // namespace stowage
