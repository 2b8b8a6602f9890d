// Real models run inside their plans, whatever the strategy, the sharing and the alignment, and give what a
// run with memory of their own gives, tensor by tensor. Plans that are the same are run once.
//
// Large models run in few of their plans; STOWAGE_LONG=1 in the environment runs them in all.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "long_tests.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::has_address_sanitizer;
using testing::has_time;

const std::filesystem::path models = std::filesystem::path(STOWAGE_DATA_DIR) / "models";

enum class Weight : std::uint8_t {
  light,   ///< Runs in all of its plans.
  middle,  ///< In a few of them, unless there is time.
  heavy,   ///< The same, and under the sanitizer only if there is time.
  huge     ///< The same, and there in one plan.
};

struct Model {
  std::string_view file{};
  Weight weight = Weight::light;
};

constexpr std::array all_models{Model{"tflite/person_detect.tflite"},
                                Model{"tflite/vww_96_int8.tflite"},
                                Model{"tflite/vww_96_float.tflite"},
                                Model{"tflite/pretrainedResnet_quant.tflite"},
                                Model{"tflite/kws_ref_model.tflite"},
                                Model{"tflite/kws_ref_model_float32.tflite"},
                                Model{"tflite/ad01_int8.tflite"},
                                Model{"tflite/micro_speech_quantized.tflite"},
                                Model{"tflite/hello_world_int8.tflite"},
                                Model{"tflite/mobilenet_v2_int8_224.tflite", Weight::middle},
                                Model{"tflite/mcunetv2_large.tflite", Weight::middle},
                                Model{"tflite/mcunet_vww.tflite"},
                                Model{"onnx/light_squeezenet.onnx", Weight::middle},
                                Model{"onnx/light_densenet121.onnx", Weight::heavy},
                                Model{"onnx/light_inception_v1.onnx", Weight::heavy},
                                Model{"onnx/light_resnet50.onnx", Weight::heavy},
                                Model{"onnx/light_bvlc_alexnet.onnx", Weight::huge},
                                Model{"onnx/light_vgg19.onnx", Weight::huge}};

struct Choice {
  std::string strategy{};
  Alias alias = Alias::automatic;
  Bytes alignment = 64;
};

/// Every strategy, sharing and alignment; of some models only those that plan differently in kind.
std::vector<Choice> choices_for(Weight weight) {
  const bool takes_minutes = weight == Weight::huge || (weight != Weight::light && !has_time());
  if (has_address_sanitizer && takes_minutes) return {{"auto"}};
  if (weight != Weight::light && !has_time())
    return {{"auto"}, {"auto", Alias::none, 16}, {"free-list", Alias::all, 64}};
  std::vector<Choice> choices;
  for (const StrategyInfo& strategy : strategies()) {
    if (strategy.name == "levels") continue;  // of several memories
    for (const Alias alias : {Alias::none, Alias::automatic, Alias::all}) {
      for (const Bytes alignment : {16, 64})
        choices.push_back({std::string(strategy.name), alias, alignment});
    }
  }
  return choices;
}

bool is_same(const Plan& a, const Plan& b) {
  return a.buffers == b.buffers && a.places == b.places && a.tensors == b.tensors && a.clocks == b.clocks;
}

std::vector<Plan> different_plans(const Network& network, Weight weight) {
  std::vector<Plan> plans;
  for (const Choice& choice : choices_for(weight)) {
    PlanOptions options{.alignment = choice.alignment, .alias = choice.alias};
    options.solve.strategy = choice.strategy;
    Plan plan = make_plan(network.input, options).plan;
    const auto is_known = [&](const Plan& other) { return is_same(plan, other); };
    if (std::none_of(plans.begin(), plans.end(), is_known)) plans.push_back(std::move(plan));
  }
  return plans;
}

class RunData : public ::testing::TestWithParam<Model> {};

TEST_P(RunData, GivesTheSameInsideAnyPlanAsOutside) {
  const std::filesystem::path file = models / GetParam().file;
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
  if (testing::is_in_a_hurry() && GetParam().weight >= Weight::heavy)
    GTEST_SKIP() << "takes minutes under AddressSanitizer; set STOWAGE_LONG=1";
  const Network network = read_network(file);
  // AddressSanitizer sees what plain loops do, not what oneDNN does.
  const RunOptions options{.kernels = has_address_sanitizer ? KernelSet::plain : KernelSet::fast,
                           .check = RunCheck::tensors,
                           .random_weights = 7};
  const Runner runner(network, options);
  const std::vector<Plan> plans = different_plans(network, GetParam().weight);
  for (const Plan& plan : plans) {
    const RunResult result = runner.run(plan, options);
    ASSERT_FALSE(result.fault) << plan.summary.strategy << ": " << result.fault->what;
    EXPECT_EQ(result.steps.size(), plan.clocks[0].steps.size());
    // No branch is left out, so that the whole plan is used.
    Bytes end = 0;
    for (const PlannedTensor& tensor : plan.tensors) {
      for (const View& view : tensor.views)
        end = std::max(end, plan.places[view.buffer].offset + view.offset + tensor.tensor.bytes);
    }
    EXPECT_EQ(result.touched, std::vector<Bytes>{end});
    EXPECT_EQ(result.copies_skipped.count, plan.copies_removed.count);
    EXPECT_EQ(result.copies_skipped.bytes, plan.copies_removed.bytes);
  }
  std::cout << GetParam().file << ": " << plans.size() << " different plans\n";
}

INSTANTIATE_TEST_SUITE_P(Models, RunData, ::testing::ValuesIn(all_models), [](const auto& model) {
  return std::filesystem::path(model.param.file).stem().string();
});

}  // namespace
}  // namespace stowage
