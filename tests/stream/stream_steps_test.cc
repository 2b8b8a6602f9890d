// Larger steps: they stay within their limits, and what they read of weights is what the steps of the network read.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "image_networks.h"
#include "stream/instances.h"
#include "stream/program.h"
#include "stream/regions.h"
#include "stream/replay.h"
#include "stream/steps.h"

namespace stowage::stream {
namespace {

using testing::Random;

Bytes reads_of(const Graph& graph, const InstanceOptions& options) {
  Bytes bytes = 0;
  const RowModel model = instances_of(graph, options);
  for (const Operator& op : model.operators) {
    if (!op.source) continue;
    for (const auto& input : graph.subgraphs[0].operators[*op.source].inputs) {
      if (input && is_constant(graph.tensors[*input].kind))
        bytes += graph.tensors[*input].bytes * op.instances();
    }
  }
  return bytes;
}

TEST(StreamSteps, ReadLessWithinTheirLimits) {
  Random random(11);
  std::size_t larger = 0;
  for (int i = 0; i < 150; ++i) {
    const Network network = testing::random_images(random);
    const Graph& graph = network.graph();
    const InstanceOptions options{.io = Io::rows};
    const TrialEffort effort{.work = 100'000};
    const Bytes least = least_peak_of(instances_of(graph, options), effort);
    const std::vector<Bytes> limits{least / 2, least + least / 4, 2 * least, 2 * least, 4 * least};
    Bytes before = reads_of(graph, options);
    for (const LargerSteps& steps : steps_within(graph, options, limits, effort)) {
      InstanceOptions with = options;
      with.granules = steps.granules;
      const Bytes reads = reads_of(graph, with);
      EXPECT_EQ(reads, steps.reads);
      EXPECT_LT(reads, before);
      EXPECT_LE(steps.peak, 4 * least);
      EXPECT_EQ(steps.peak, least_peak_of(instances_of(graph, with), effort));
      before = reads;
      ++larger;
    }
  }
  EXPECT_GT(larger, 50U);
}

TEST(StreamSteps, AreInStretchesOfAboutAsManyRows) {
  Random random(12);
  for (int i = 0; i < 50; ++i) {
    const Network network = testing::random_images(random);
    const InstanceOptions options{.granule = 2, .io = Io::rows};
    std::vector<Stretch> stretches = stretches_of(network.graph(), options);
    EXPECT_TRUE(granules_of(network.graph(), stretches, options).empty());
    for (Stretch& stretch : stretches) {
      EXPECT_GE(stretch.rows, 2);
      stretch.granule = stretch.rows;
    }
    InstanceOptions whole = options;
    whole.granules = granules_of(network.graph(), stretches, options);
    for (const Operator& op : instances_of(network.graph(), whole).operators) {
      if (op.source && op.writing == Writing::row_by_row) {
        EXPECT_EQ(op.instances(), 1) << op.name;
      }
    }
  }
}

/// Whatever the memory, the order has all steps, each after what it needs.
TEST(StreamSteps, AreInLegalOrdersForFastMemories) {
  Random random(13);
  for (int i = 0; i < 100; ++i) {
    const Network network = testing::random_images(random);
    const RowModel model = instances_of(network.graph(), {.io = Io::rows});
    const RowProgram program = unroll(model);
    const Bytes peak = order_by_regions(program, {.work = 100'000}).peak;
    for (const Bytes capacity : {Bytes{0}, peak / 2, peak, 4 * peak}) {
      const FastMemory fast{capacity, weights_of_operators(network.graph(), model)};
      const RegionOrder order = order_by_regions(program, {.work = 100'000, .fast = fast});
      EXPECT_EQ(order.steps.size(), program.instances.size());
      const RowReplay replayed = replay(program, order.steps);
      EXPECT_FALSE(replayed.fault);
      EXPECT_LE(replayed.peak, order.peak);
      EXPECT_GE(order.peak, peak);
    }
  }
}

}  // namespace
}  // namespace stowage::stream
