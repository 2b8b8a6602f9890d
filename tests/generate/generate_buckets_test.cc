// A network at several sizes as C: each size gives what the runner gives, the C chooses as the library does, and weights
// are there once.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "c_packages.h"
#include "generate/text.h"
#include "onnx_models.h"
#include "process.h"
#include "stowage/buckets.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::node;
using testing::onnx_model;
using testing::tensor_value;
using testing::untyped_value;

constexpr std::int64_t width = 4;

/// y = relu(x w) v of a batch of sequences.
std::string two_products() {
  onnx::TensorProto w = testing::zeros("w", {width, 6});
  onnx::TensorProto v = testing::zeros("v", {6, width});
  for (onnx::TensorProto* const it : {&w, &v}) {
    std::vector<float> numbers(24);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(i * (it == &w ? 7 : 5) % 11) / 8 - 0.5F;
    it->set_raw_data(numbers.data(), numbers.size() * sizeof(float));
  }
  return onnx_model({.nodes = {node("MatMul", {"x", "w"}, {"h"}), node("Relu", {"h"}, {"r"}),
                               node("MatMul", {"r", "v"}, {"y"})},
                     .inputs = {tensor_value("x", {"batch", "seq", width})},
                     .outputs = {untyped_value("y")},
                     .initializers = {w, v}})
      .SerializeAsString();
}

Network network_at(const std::string& content, const BucketSizes& sizes) {
  ImportOptions options;
  for (const auto& [name, size] : sizes) options.dims.emplace(name, size);
  return parse_network(content, "net.onnx", options);
}

Buckets buckets_of(const std::string& content, const std::vector<BucketSizes>& sizes,
                   const PlanOptions& options) {
  const BucketsResult result =
      make_buckets([&](const BucketSizes& own) { return std::vector<Input>{network_at(content, own).input}; },
                   sizes, options);
  EXPECT_TRUE(result.faults.empty());
  return result.buckets;
}

Package package_of(const std::string& content, const Buckets& buckets) {
  return generate_package(buckets, [&](const BucketSizes& sizes) { return network_at(content, sizes); },
                          {.name = "net", .cases = 2});
}

/// Runs the size that C chooses for each of these sizes, and compares it with the runner's outputs there.
std::string program(const std::string& content, const Buckets& buckets,
                    const std::vector<BucketSizes>& wanted) {
  std::string arrays;
  std::string calls;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const BucketSizes& sizes = wanted[i];
    const Bucket* const bucket = bucket_for(buckets, sizes);
    calls += fmt::format("  sizes[0] = {}; sizes[1] = {};\n", sizes.at("batch"), sizes.at("seq"));
    if (bucket == nullptr) {
      calls += "  if (net_bucket_for(sizes) != -1) return 1;\n";
      continue;
    }
    const std::int64_t count = bucket->sizes.at("batch") * bucket->sizes.at("seq") * width;
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (std::size_t n = 0; n < numbers.size(); ++n)
      numbers[n] = static_cast<float>((n + i) * 37 % 101) / 50 - 1;
    std::vector<std::byte> input(numbers.size() * sizeof(float));
    std::memcpy(input.data(), numbers.data(), input.size());
    const Network network = network_at(content, bucket->sizes);
    RunOptions options{.kernels = KernelSet::plain};
    options.inputs["x"] =
        Array{DType::float32, Shape{bucket->sizes.at("batch"), bucket->sizes.at("seq"), width}, input};
    const auto output = Runner(network, options).run(bucket->plan, options).outputs[0].array.data;
    arrays += fmt::format(
        "static const float x{0}[{1}] = {{\n{2}}};\nstatic const float y{0}[{1}] = {{\n{3}}};\n", i, count,
        generate::initialiser(DType::float32, input), generate::initialiser(DType::float32, output));
    calls += fmt::format(
        "  b = net_bucket_for(sizes);\n"
        "  if (b < 0 || net_sizes[b][0] != {0} || net_sizes[b][1] != {1}) return 2;\n"
        "  net_run(b, at, x{2}, y);\n  if (memcmp(y, y{2}, sizeof y{2}) != 0) return 3;\n",
        bucket->sizes.at("batch"), bucket->sizes.at("seq"), i);
  }
  return "#include \"net.h\"\n#include <stdio.h>\n#include <string.h>\n" + arrays +
         "static float y[4096];\nstatic uint64_t arena[(NET_ARENA_SIZE + 7) / 8 + 8];\n"
         "int main(void) {\n  uint8_t *const at = (uint8_t *)(((uintptr_t)arena + 63) / 64 * 64);\n"
         "  int32_t sizes[NET_SIZES];\n  int b;\n" +
         calls + "  puts(\"as expected\");\n  return 0;\n}\n";
}

const std::vector<BucketSizes> three_sizes{
    {{"batch", 2}, {"seq", 40}}, {{"batch", 1}, {"seq", 5}}, {{"batch", 1}, {"seq", 64}}};

const std::vector<BucketSizes> wanted_sizes{{{"batch", 1}, {"seq", 1}},  {{"batch", 1}, {"seq", 5}},
                                            {{"batch", 1}, {"seq", 6}},  {{"batch", 2}, {"seq", 3}},
                                            {{"batch", 1}, {"seq", 64}}, {{"batch", 2}, {"seq", 64}},
                                            {{"batch", 3}, {"seq", 1}}};

TEST(GenerateBuckets, RunTheSizeThatHoldsTheInput) {
  const std::string content = two_products();
  const Buckets buckets = buckets_of(content, three_sizes, {});
  const Package package = package_of(content, buckets);
  EXPECT_EQ(package.arena, memories_of(buckets)[0].peak);
  const auto outcome = testing::run_with_main(package, program(content, buckets, wanted_sizes));
  EXPECT_EQ(outcome.output, "as expected\n") << outcome.errors;
}

TEST(GenerateBuckets, HaveEqualWeightsOnce) {
  const std::string content = two_products();
  const std::vector<BucketSizes> sizes{{{"batch", 1}, {"seq", 5}}, {{"batch", 1}, {"seq", 64}}};
  const Package package = package_of(content, buckets_of(content, sizes, {}));
  EXPECT_EQ(package.weights, 2 * 24 * 4);
}

TEST(GenerateBuckets, ByRowsEachHasFunctionsOfItsOwn) {
  const std::string content = two_products();
  PlanOptions options;
  options.stream.emplace();
  options.io = Io::rows;
  const Buckets buckets =
      buckets_of(content, {{{"batch", 1}, {"seq", 5}}, {{"batch", 1}, {"seq", 64}}}, options);
  const Package package = package_of(content, buckets);
  EXPECT_EQ(package.files[0].content.find("net_run"), std::string::npos);
  EXPECT_NE(package.files[0].content.find("#include \"net_1_64.h\""), std::string::npos);
  const auto outcome =
      testing::run_with_main(package,
                             "#include \"net.h\"\n#include <stdio.h>\nint main(void) {\n"
                             "  int32_t sizes[] = {1, 6};\n  net_1_64_state state;\n  (void)state;\n"
                             "  return net_bucket_for(sizes) == 1 ? puts(\"as expected\") < 0 : 1;\n}\n");
  EXPECT_EQ(outcome.output, "as expected\n") << outcome.errors;
}

TEST(GenerateBuckets, RefuseWhatCannotBe) {
  const std::string content = two_products();
  const auto message = [&](const Buckets& buckets) -> std::string {
    try {
      (void)package_of(content, buckets);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({}).find("needs one"), std::string::npos);
  Buckets buckets = buckets_of(content, {{{"batch", 1}, {"seq", 5}}}, {});
  buckets.all[0].plan.models.push_back(buckets.all[0].plan.models[0]);
  EXPECT_NE(message(buckets).find("is of 2 models"), std::string::npos);
  buckets = buckets_of(content, {{{"batch", 1}, {"seq", 5}}}, {});
  buckets.all[0].sizes["seq"] = std::int64_t{1} << 31;
  EXPECT_NE(message(buckets).find("2147483648"), std::string::npos) << message(buckets);
}

}  // namespace
}  // namespace stowage
