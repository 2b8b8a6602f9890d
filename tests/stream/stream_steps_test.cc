// Larger steps: they stay within their limits, and what they read of weights is what the steps of the network read.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "image_networks.h"
#include "stream/instances.h"
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

}  // namespace
}  // namespace stowage::stream
