// Plans for several sizes of one memory: each as good as alone, state and weights at one place in all.

#include "stowage/buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::expect_message;
using testing::node;
using testing::onnx_model;
using testing::tensor_value;
using testing::untyped_value;

/// y = relu(x w) of a sequence, and a mean that is carried from run to run; a reshape keeps a shape among the weights.
onnx::ModelProto carrying(const testing::Dimension& carried = 48) {
  return onnx_model({.nodes = {node("MatMul", {"x", "w"}, {"h"}), node("Relu", {"h"}, {"r"}),
                               node("MatMul", {"r", "v"}, {"g"}), node("Add", {"g", "x"}, {"y"}),
                               node("ReduceMean", {"y"}, {"m"}, {attribute("keepdims", std::int64_t{0})}),
                               node("Add", {"old", "m"}, {"new"}), node("Shape", {"x"}, {"s"}),
                               node("Reshape", {"y", "s"}, {"z"}), node("Tanh", {"z"}, {"out"})},
                     .inputs = {tensor_value("x", {"batch", "seq", 16}), tensor_value("old", {carried})},
                     .outputs = {untyped_value("out"), untyped_value("new")},
                     .initializers = {testing::zeros("w", {16, 40}), testing::zeros("v", {40, 16})}});
}

struct Reader {
  std::string content;
  bool constants = false;

  std::vector<Input> operator()(const BucketSizes& sizes) const {
    ImportOptions options{.states = {{"new", "old"}}, .constants = constants};
    for (const auto& [name, size] : sizes) options.dims.emplace(name, size);
    return {parse_input(content, "net.onnx", options)};
  }
};

PlanOptions by_effort(std::int64_t effort) {
  PlanOptions options;
  options.solve.effort = effort;
  return options;
}

const std::vector<BucketSizes> three_sizes{
    {{"batch", 1}, {"seq", 5}}, {{"batch", 1}, {"seq", 64}}, {{"batch", 2}, {"seq", 64}}};

Place place_of(const Plan& plan, const std::string& id) {
  const auto found = std::ranges::find(plan.buffers, id, &Buffer::id);
  EXPECT_NE(found, plan.buffers.end()) << id;
  return plan.places.at(static_cast<std::size_t>(found - plan.buffers.begin()));
}

TEST(Buckets, AreAsGoodAsPlansAloneAndShareState) {
  const Reader read{carrying().SerializeAsString()};
  const BucketsResult result = make_buckets(read, three_sizes, by_effort(90));
  EXPECT_TRUE(result.faults.empty()) << result.faults[0].what;
  ASSERT_EQ(result.buckets.all.size(), 3U);
  for (const Bucket& bucket : result.buckets.all) {
    const PlanResult alone = make_plan(read(bucket.sizes), by_effort(30));
    EXPECT_EQ(bucket.plan.summary.peak, alone.plan.summary.peak) << in_words(bucket.sizes);
    EXPECT_EQ(bucket.plan.summary.lower_bound, alone.plan.summary.lower_bound);
  }
  ASSERT_EQ(result.buckets.shared.size(), 1U);
  const SharedPlace& state = result.buckets.shared[0];
  EXPECT_EQ(state.size, 192);
  for (const Bucket& bucket : result.buckets.all)
    EXPECT_EQ(place_of(bucket.plan, state.buffer).offset, state.offset);
  EXPECT_EQ(memories_of(result.buckets)[0].peak, result.buckets.all[2].plan.summary.peak);
}

TEST(Buckets, ShareWeightsOfEqualDataAlone) {
  const Reader read{carrying().SerializeAsString(), true};
  PlanOptions options = by_effort(90);
  options.memories.push_back({.name = "flash", .role = MemoryRole::weights});
  const BucketsResult result = make_buckets(read, three_sizes, options);
  EXPECT_TRUE(result.faults.empty()) << result.faults[0].what;
  const auto is_shared = [&](const std::string& id) {
    return std::ranges::find(result.buckets.shared, id, &SharedPlace::buffer) != result.buckets.shared.end();
  };
  EXPECT_TRUE(is_shared("w")) << "v has the same bytes";
  EXPECT_FALSE(is_shared("s")) << "[1,5,16] and [1,64,16] are not the same";
  Buckets forged = result.buckets;
  const Place place = place_of(forged.all[0].plan, "s");
  forged.shared.push_back({"s", "flash", place.offset, 64});
  EXPECT_TRUE(check_buckets(forged).empty() || place_of(forged.all[1].plan, "s") != place);
  EXPECT_FALSE(check_buckets(forged, read).empty());
}

TEST(Buckets, AreWrittenAndReadAndChosen) {
  const Reader read{carrying().SerializeAsString()};
  const Buckets buckets = make_buckets(read, three_sizes, by_effort(90)).buckets;
  std::ostringstream json;
  write_json(buckets, json);
  EXPECT_EQ(parse_buckets(json.str()), buckets);
  EXPECT_EQ(bucket_for(buckets, {{"batch", 1}, {"seq", 1}})->sizes, three_sizes[0]);
  EXPECT_EQ(bucket_for(buckets, {{"batch", 1}, {"seq", 5}})->sizes, three_sizes[0]);
  EXPECT_EQ(bucket_for(buckets, {{"batch", 1}, {"seq", 6}})->sizes, three_sizes[1]);
  EXPECT_EQ(bucket_for(buckets, {{"batch", 2}, {"seq", 1}})->sizes, three_sizes[2]);
  EXPECT_EQ(bucket_for(buckets, {{"batch", 1}, {"seq", 65}}), nullptr);
  EXPECT_THROW((void)bucket_for(buckets, {{"seq", 5}}), UsageError);
  const auto problem_with = [&](const std::string& from, const std::string& to) {
    std::string text = json.str();
    text.replace(text.find(from), from.size(), to);
    try {
      (void)parse_buckets(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  expect_message(problem_with("\"batch\":1", "\"batch\":-1"), {"/buckets/0/sizes/batch"});
  expect_message(problem_with("\"offset\":0,", "\"offset\":-4,"), {"/shared/0/offset"});
  expect_message(problem_with("\"peak\":", "\"peak\":1"), {"/memories/0/peak", "the largest of the plans"});
}

TEST(Buckets, ThatAreWrongAreRejected) {
  const Reader read{carrying().SerializeAsString()};
  const Buckets buckets = make_buckets(read, three_sizes, by_effort(90)).buckets;
  ASSERT_TRUE(check_buckets(buckets).empty());
  ASSERT_TRUE(check_buckets(buckets, read).empty());
  const auto fault_of = [&](const auto& change) {
    Buckets forged = buckets;
    change(forged);
    const Faults faults = check_buckets(forged);
    return faults.empty() ? std::string() : faults[0].what;
  };
  expect_message(fault_of([](Buckets& it) { it.shared[0].offset += 64; }),
                 {"shared buffer", "expected 'arena' at 64"});
  expect_message(fault_of([](Buckets& it) { it.shared[0].size += 64; }), {"192 bytes, expected 256"});
  expect_message(fault_of([](Buckets& it) { it.shared.clear(); }), {"has no place that all buckets share"});
  expect_message(fault_of([](Buckets& it) { it.shared.push_back(it.shared[0]); }), {"comes twice"});
  expect_message(fault_of([](Buckets& it) { it.all[1].sizes = it.all[0].sizes; }),
                 {"buckets 0 and 1 are both"});
  expect_message(fault_of([](Buckets& it) { it.all[1].sizes.erase("seq"); }),
                 {"expected names as in the first"});
  expect_message(fault_of([](Buckets& it) { it.all[1].plan.memories[0].memory.capacity = largest_value; }),
                 {"other memories than the first"});
  expect_message(fault_of([](Buckets& it) { it.all[2].plan.summary.peak += 1; }), {"batch=2 seq=64: "});
  expect_message(fault_of([](Buckets& it) { it = {}; }), {"there is no bucket"});
  Buckets forged = buckets;
  forged.all[0].sizes["seq"] = 7;
  EXPECT_FALSE(check_buckets(forged, read).empty()) << "it is no plan for 7";
}

TEST(Buckets, KeepStateOfOneSizeOnly) {
  const Reader read{carrying("seq").SerializeAsString()};
  try {
    (void)make_buckets(read, three_sizes, by_effort(90));
    ADD_FAILURE() << "takes state that grows";
  } catch (const UsageError& error) {
    expect_message(error.what(), {"state", "it cannot stay when the sizes change"});
  }
}

/// A run in one bucket leaves the state where the next one finds it: the bytes of the shared place.
TEST(Buckets, Run) {
  const std::string content = carrying().SerializeAsString();
  const Buckets buckets = make_buckets(Reader{content}, three_sizes, by_effort(90)).buckets;
  for (const Bucket& bucket : buckets.all) {
    ImportOptions options{.states = {{"new", "old"}}};
    for (const auto& [name, size] : bucket.sizes) options.dims.emplace(name, size);
    const Network network = parse_network(content, "net.onnx", options);
    const RunResult run = run_plan(network, bucket.plan, {.check = RunCheck::tensors, .random_weights = 1});
    EXPECT_FALSE(run.fault) << run.fault->what;
  }
}

/// Chains with branches, several states, rows: moving the state to the bottom never costs and never breaks a plan.
TEST(Buckets, OfRandomNetworksAreAsGoodAsPlansAlone) {
  std::mt19937 random(5);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  for (int round = 0; round < 24; ++round) {
    testing::OnnxParts parts{.inputs = {tensor_value("x", {"seq", 16})}};
    std::vector<std::string> values{"x"};
    ImportOptions states;
    const std::size_t count = 4 + below(5);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = "t" + std::to_string(i);
      const std::string a = values[below(values.size())], b = values[below(values.size())];
      parts.nodes.push_back(below(2) == 0 ? node("Add", {a, b}, {name}) : node("Softmax", {a}, {name}));
      values.push_back(name);
      if (below(3) != 0) continue;
      const std::string old = "old" + std::to_string(i), next = "new" + std::to_string(i);
      parts.inputs.push_back(tensor_value(old, {static_cast<std::int64_t>(1 + below(90))}));
      parts.nodes.push_back(
          node("ReduceMax", {name}, {name + "m"}, {attribute("keepdims", std::int64_t{0})}));
      parts.nodes.push_back(node("Mul", {old, name + "m"}, {next}));
      parts.outputs.push_back(untyped_value(next));
      states.states.push_back({next, old});
    }
    parts.outputs.push_back(untyped_value(values.back()));
    const std::string content = onnx_model(parts).SerializeAsString();
    const ReadBucket read = [&](const BucketSizes& sizes) {
      ImportOptions options = states;
      options.dims.emplace("seq", sizes.at("seq"));
      return std::vector<Input>{parse_input(content, "net.onnx", options)};
    };
    const std::vector<BucketSizes> sizes{{{"seq", 1}}, {{"seq", 9}}, {{"seq", 33}}};
    const BucketsResult result = make_buckets(read, sizes, by_effort(60));
    ASSERT_TRUE(result.faults.empty()) << round << ": " << result.faults[0].what;
    EXPECT_EQ(result.buckets.shared.size(), states.states.size());
    for (const Bucket& bucket : result.buckets.all)
      EXPECT_EQ(bucket.plan.summary.peak, make_plan(read(bucket.sizes), by_effort(20)).plan.summary.peak)
          << round;
  }
}

}  // namespace
}  // namespace stowage
