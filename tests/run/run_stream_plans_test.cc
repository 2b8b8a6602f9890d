// Networks that run row by row give what they give when they run as ever.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "long_tests.h"
#include "stowage/run.h"
#include "stream_run_networks.h"
#include "stream_run_plans.h"

namespace stowage {
namespace {

using testing::Form;
using testing::ImageNetwork;
using testing::random_image_network;
using testing::random_options;
using testing::streamed_plan;

std::string fault_of(const RunResult& result) { return result.fault ? result.fault->what : ""; }

TEST(RunStreamedNetworks, AreWhatTheyAreUnstreamed) {
  const std::uint64_t all = testing::cases_of(400);
  for (std::uint64_t seed = 0; seed < all; ++seed) {
    for (const ImageNetwork kind :
         {ImageNetwork::tflite_int8, ImageNetwork::tflite_float, ImageNetwork::onnx}) {
      const Network network = random_image_network(seed, kind);
      const Runner runner(network, {.kernels = KernelSet::plain});
      const RunResult result =
          runner.run(streamed_plan(network, random_options(seed)), {.check = RunCheck::tensors});
      ASSERT_EQ(fault_of(result), "") << "seed " << seed << " kind " << static_cast<int>(kind);
      ASSERT_EQ(result.multiplies, result.multiplies_of_network);
      ASSERT_GT(result.outputs.at(0).array.data.size(), 0U);
    }
  }
}

TEST(RunStreamedNetworks, RunWithFastKernelsPreparedBefore) {
  const Network network = random_image_network(3, ImageNetwork::onnx);
  const Plan plan = streamed_plan(network, {.form = Form::ring, .seed = 1});
  const RunResult result = Runner(network).run(plan, {.check = RunCheck::tensors});
  EXPECT_EQ(fault_of(result), "");
  EXPECT_EQ(run_plan(network, plan, {}).outputs.at(0).array, result.outputs.at(0).array);
}

TEST(RunStreamedNetworks, RealOnes) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  for (const char* const name : {"person_detect", "vww_96_int8", "vww_96_float", "kws_ref_model"}) {
    const Network network = read_network(folder / (std::string(name) + ".tflite"));
    const Runner runner(network, {.kernels = KernelSet::plain});
    for (const std::uint64_t seed : {1U, 4U}) {
      const RunResult result =
          runner.run(streamed_plan(network, random_options(seed)), {.check = RunCheck::tensors});
      EXPECT_EQ(fault_of(result), "") << name;
    }
  }
}

TEST(RunStreamedNetworks, SayWhatTheyRan) {
  const Network network = random_image_network(3, ImageNetwork::onnx);
  const Plan plan = streamed_plan(network, {.granule = 2});
  const RunResult result = run_plan(network, plan, {});
  ASSERT_GT(result.multiplies, 0);
  const bool has_rows = std::ranges::any_of(
      result.steps, [](const StepReport& step) { return step.what.find(" rows 0..1") != std::string::npos; });
  EXPECT_TRUE(has_rows);
  std::ostringstream text;
  std::ostringstream json;
  write_run(result, plan, text);
  write_run_json(result, plan, json);
  EXPECT_NE(text.str().find("1.0000 times the"), std::string::npos) << text.str();
  EXPECT_NE(json.str().find("\"multiplies\""), std::string::npos);
}

}  // namespace
}  // namespace stowage
